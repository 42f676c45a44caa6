package registries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/queue"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	// watchLease is longer than a check may take (60 s at most) and its end needs to be written.
	watchLease = 90 * time.Second
	// overdueAfter tells what an outage left from what is a little late.
	overdueAfter = time.Minute
	spreadBatch  = 1000
)

// WatchOutcome says how a check of the watch ended, for those who count.
type WatchOutcome string

// Outcomes of the watch's checks.
const (
	WatchValid       WatchOutcome = "valid"
	WatchNotValid    WatchOutcome = "notValid"
	WatchUnconfirmed WatchOutcome = "unconfirmed" // a failure that may pass, seen once
	WatchDropped     WatchOutcome = "dropped"     // the record was changed or deleted meanwhile
	WatchFailed      WatchOutcome = "failed"      // we could not check
)

// WatchConfig says how kept definitions are watched. All fields but Observe and Log are required.
type WatchConfig struct {
	Interval    time.Duration // between two checks of one definition
	Concurrency int           // checks at once, beside those that users ask for
	Observe     func(WatchOutcome)
	Log         *slog.Logger
}

// watch is the service at its unasked work.
type watch struct {
	*Service
	WatchConfig
}

// Watch checks every kept definition again and again, until ctx ends; then it gives back what is under way. What
// changes is told by alerts. Any number of replicas may watch the same store.
func (s *Service) Watch(ctx context.Context, c WatchConfig) {
	w := &watch{s, c}
	queue.Queue[store.Watched]{
		Name:   "watch",
		Places: c.Concurrency,
		Waiting: func(ctx context.Context) (orgs []string, err error) {
			err = s.db.View(ctx, func(tx *store.Tx) (err error) {
				orgs, err = tx.Watch.DueOrgs(ctx, s.now())
				return err
			})
			return orgs, err
		},
		Claim: w.claim,
		OrgOf: func(row store.Watched) string { return row.OrgUID },
		Work:  w.checkOne,
		After: w.spread,
		Log:   c.Log,
	}.Run(ctx)
}

// claim takes definitions that are due. The lease is durable before the first packet leaves.
func (w *watch) claim(ctx context.Context, shares []queue.Share) (rows []store.Watched, err error) {
	wanted := make([]store.Share, len(shares))
	for i, s := range shares {
		wanted[i] = store.Share(s)
	}
	owner, now := uuid.NewString(), w.now()
	err = w.db.InTx(ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.Watch.Claim(ctx, owner, now, now.Add(watchLease), wanted)
		return err
	})
	return rows, err
}

// spread keeps the time that an outage lost from being made up in a burst.
func (w *watch) spread(ctx context.Context) error {
	for n := int64(spreadBatch); n == spreadBatch; {
		now := w.now()
		err := w.db.InTx(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.Watch.Spread(ctx, now, w.Interval, now.Add(-overdueAfter), spreadBatch)
			return err
		})
		if err != nil {
			return fmt.Errorf("spread overdue checks: %w", err)
		}
	}
	return nil
}

// checkOne checks one definition and stores what follows.
func (w *watch) checkOne(ctx context.Context, row store.Watched) {
	outcome, err := w.tryOne(ctx, row)
	if err != nil && ctx.Err() == nil && w.Log != nil {
		w.Log.Error("a kept registry was not checked", "registry", row.RegistryUID, "error", err)
	}
	if err != nil {
		w.release(ctx, row)
	}
	if w.Observe != nil && ctx.Err() == nil {
		w.Observe(outcome)
	}
}

// release gives a definition back unchecked: at once when the service ends, else to be tried an interval later.
func (w *watch) release(ctx context.Context, row store.Watched) {
	next := w.now()
	if ctx.Err() == nil {
		next = next.Add(w.Interval)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	err := w.db.InTx(ctx, func(tx *store.Tx) error { return tx.Watch.Release(ctx, row.RegistryUID, row.LeaseOwner, next) })
	if err != nil && w.Log != nil {
		w.Log.Error("a lease was not given back and will run out", "registry", row.RegistryUID, "error", err)
	}
}

// tryOne returns an error when the definition could not be checked, or its check not be stored.
func (w *watch) tryOne(ctx context.Context, row store.Watched) (WatchOutcome, error) {
	kept, err := w.stored(ctx, row.OrgUID, row.RegistryUID)
	if fault.KindOf(err) == fault.NotFound {
		return WatchDropped, nil // and with it its row
	}
	found := finding{record: kept, row: row}
	if fault.KindOf(err) == fault.Conflict { // its secrets do not open, which is worth knowing too
		found.seen = seen{Verdict: store.Verdict{Code: CodeSecretUnreadable}}
		return w.end(ctx, found)
	}
	if err != nil {
		return WatchFailed, err
	}
	report, err := w.recheck(ctx, kept.Definition, row.Behaviour)
	if problems, ok := errors.AsType[*regcheck.DefinitionError](err); ok {
		found.seen = seen{Verdict: store.Verdict{Code: fault.CodeInvalidRequest, Field: problems.Problems[0].Field}}
		return w.end(ctx, found)
	}
	if err != nil {
		return WatchFailed, err
	}
	found.report, found.seen = report, seenIn(report)
	return w.end(ctx, found)
}

// recheck is the engine's, but for a panic, which must not end the watch over everything else.
func (w *watch) recheck(ctx context.Context, d regcheck.Definition, behaviour string) (r *regcheck.Report, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r, err = nil, fmt.Errorf("%w (%T)\n%s", errPanicked, cause, fault.StackOf(cause))
		}
	}()
	return w.checker.Recheck(ctx, d, regcheck.ReadKnown(behaviour), nil)
}

// seenIn is a report as far as the watch compares it.
func seenIn(r *regcheck.Report) seen {
	s := seen{retryable: r.Retryable, Verdict: store.Verdict{Valid: r.Valid, Code: string(r.Code), Stage: string(r.Stage), Reason: string(r.Reason), Field: r.Field}}
	for _, warning := range r.Warnings {
		s.ExpiresSoon = s.ExpiresSoon || warning.Code == regcheck.WarnCertificateExpiresSoon
	}
	return s
}

// finding is a check that came to a verdict.
type finding struct {
	record
	row    store.Watched
	seen   seen
	report *regcheck.Report // nil: the definition could not be tried
}

// next says when a definition is checked again. A tenth of the interval, at random, keeps checks apart that once
// fell together; after the first check, which many definitions may have had at the same time, it is all of it.
func (w *watch) next(d decision, first bool, now time.Time) time.Time {
	if d.confirm {
		return now.Add(min(confirmAfter, w.Interval))
	}
	factor := float64(d.backOff) * (0.9 + 0.2*rand.Float64()) // #nosec G404 -- spreads load, hides nothing
	if first {
		factor = 0.1 + rand.Float64() // #nosec G404 -- as above
	}
	return now.Add(time.Duration(factor * float64(w.Interval)))
}

// end stores what a check came to, with the alert and the record of a change, in one transaction.
func (w *watch) end(ctx context.Context, f finding) (WatchOutcome, error) {
	now := w.now()
	d := decide(f.row, f.seen, now)
	n := curb(&d.after, d.alert, d.counted, now)
	d.after.LastAt, d.after.NextAt = now, w.next(d, f.row.LastAt.IsZero(), now)
	run := store.VerdictRun{Counted: d.counted, Verdict: f.seen.Verdict}
	if f.report != nil {
		d.after.Behaviour = f.report.Known.String()
		var err error
		if run.Report, err = json.Marshal(f.report); err != nil {
			return WatchFailed, fmt.Errorf("encode the report: %w", err)
		}
	}
	// Also when the service is to end: the check is done, and whom it concerns should hear of it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	err := w.db.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Watch.End(ctx, d.after, f.Version, run); err != nil {
			return err
		}
		return w.tell(ctx, tx, f, d, n, now)
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return WatchDropped, nil
	case err != nil:
		return WatchFailed, fmt.Errorf("store the outcome of a check: %w", err)
	case !d.counted:
		return WatchUnconfirmed, nil
	case f.seen.Valid:
		return WatchValid, nil
	}
	return WatchNotValid, nil
}

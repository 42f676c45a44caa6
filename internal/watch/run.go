package watch

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
	"github.com/regwarden/regwarden/internal/registries"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	// leaseTime is longer than a check may take (at most 60 s), the writing of its result included.
	leaseTime = 90 * time.Second
	// overdueAfter distinguishes checks that an outage delayed from those that are a little late.
	overdueAfter = time.Minute
	spreadBatch  = 1000
)

// Outcome says how a scheduled check ended, for metrics.
type Outcome string

// Outcomes of scheduled checks.
const (
	Valid       Outcome = "valid"
	NotValid    Outcome = "notValid"
	Unconfirmed Outcome = "unconfirmed" // a failure that may pass, seen once
	Dropped     Outcome = "dropped"     // the registry was replaced or deleted during the check
	Failed      Outcome = "failed"      // we could not check
)

// Config says how stored registries are checked. All fields but Observe and Log are required.
type Config struct {
	Interval    time.Duration // between two checks of one registry
	Concurrency int           // checks at once, in addition to validations
	Observe     func(Outcome)
	Log         *slog.Logger
}

// runner does the scheduled checks of one process.
type runner struct {
	*Service
	Config
}

// Run checks every stored registry again and again until ctx ends, and then releases those under way. Changes raise alerts. Any
// number of replicas may run on the same store.
func (s *Service) Run(ctx context.Context, config Config) {
	r := &runner{s, config}
	queue.Queue[store.Watched]{
		Name:    "watch",
		Workers: config.Concurrency,
		Waiting: func(ctx context.Context) (orgs []string, err error) {
			err = s.db.View(ctx, func(tx *store.Tx) (err error) {
				orgs, err = tx.Watch.DueOrgs(ctx, s.now())
				return err
			})
			return orgs, err
		},
		Claim: r.claim,
		OrgOf: func(row store.Watched) string { return row.OrgUID },
		Work:  r.check,
		After: r.spread,
		Log:   config.Log,
	}.Run(ctx)
}

// claim claims registries that are due. The lease is durable before the first packet leaves.
func (r *runner) claim(ctx context.Context, shares []queue.Share) (rows []store.Watched, err error) {
	wanted := make([]store.Share, len(shares))
	for i, s := range shares {
		wanted[i] = store.Share(s)
	}
	owner, now := uuid.NewString(), r.now()
	err = r.db.InTx(ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.Watch.Claim(ctx, owner, now, now.Add(leaseTime), wanted)
		return err
	})
	return rows, err
}

// spread reschedules the checks that an outage delayed, so that they are not made in a burst.
func (r *runner) spread(ctx context.Context) error {
	for n := int64(spreadBatch); n == spreadBatch; {
		now := r.now()
		err := r.db.InTx(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.Watch.Spread(ctx, now, r.Interval, now.Add(-overdueAfter), spreadBatch)
			return err
		})
		if err != nil {
			return fmt.Errorf("spread overdue checks: %w", err)
		}
	}
	return nil
}

// check checks one registry and stores what follows.
func (r *runner) check(ctx context.Context, row store.Watched) {
	outcome, err := r.tryCheck(ctx, row)
	if err != nil && ctx.Err() == nil && r.Log != nil {
		r.Log.Error("registry not checked", "registry", row.RegistryUID, "error", err)
	}
	if err != nil {
		r.release(ctx, row)
	}
	if r.Observe != nil && ctx.Err() == nil {
		r.Observe(outcome)
	}
}

// release releases a registry unchecked: at once when the service ends, otherwise to be checked an interval later.
func (r *runner) release(ctx context.Context, row store.Watched) {
	next := r.now()
	if ctx.Err() == nil {
		next = next.Add(r.Interval)
	}
	err := r.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Watch.Release(ctx, row.RegistryUID, row.LeaseOwner, next)
	})
	if err != nil && r.Log != nil {
		r.Log.Error("lease not released; it will run out", "registry", row.RegistryUID, "error", err)
	}
}

// tryCheck returns an error when the registry could not be checked, or the result could not be stored.
func (r *runner) tryCheck(ctx context.Context, row store.Watched) (Outcome, error) {
	opened, err := r.registries.Load(ctx, row.OrgUID, row.RegistryUID)
	done := finishedCheck{registry: opened.Registry, row: row}
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return Dropped, nil // and with it its row
	case fault.KindOf(err) == fault.Conflict: // its secrets cannot be decrypted, which is a health status too
		done.result.HealthResult = store.HealthResult{Code: registries.CodeSecretUnreadable}
		return r.end(ctx, done)
	case err != nil:
		return Failed, err
	}
	report, err := r.recheck(ctx, opened.Definition, row.ControlResult)
	if problems, ok := errors.AsType[*regcheck.DefinitionError](err); ok {
		done.result.HealthResult = store.HealthResult{Code: fault.CodeInvalidRequest, Field: problems.Problems[0].Field}
		return r.end(ctx, done)
	}
	if err != nil {
		return Failed, err
	}
	done.report, done.result = report, resultOf(report)
	return r.end(ctx, done)
}

// recheck runs the engine. A panic of it ends this check and nothing else.
func (r *runner) recheck(ctx context.Context, d regcheck.Definition, behavior string) (report *regcheck.Report, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			report, err = nil, fmt.Errorf("the check %w", fault.Panicked(cause))
		}
	}()
	return r.checker.Recheck(ctx, d, regcheck.ReadKnown(behavior), nil)
}

// resultOf returns the part of a report that is compared with other checks.
func resultOf(report *regcheck.Report) result {
	found := result{retryable: report.Retryable, HealthResult: store.HealthResult{
		Valid: report.Valid, Code: string(report.Code), Stage: string(report.Stage), Reason: string(report.Reason), Field: report.Field}}
	for _, warning := range report.Warnings {
		found.ExpiresSoon = found.ExpiresSoon || warning.Code == regcheck.WarnCertificateExpiresSoon
	}
	return found
}

// finishedCheck is a check with a result.
type finishedCheck struct {
	registry registries.Registry
	row      store.Watched
	result   result
	report   *regcheck.Report // nil: the definition could not be checked
}

// next returns when a registry is checked again. A random tenth of the interval keeps checks apart that began together; after the
// first check, which many registries may have had at the same time, it is a whole interval.
func (r *runner) next(d decision, first bool, now time.Time) time.Time {
	if d.confirm {
		return now.Add(min(confirmAfter, r.Interval))
	}
	factor := float64(d.backOff) * (0.9 + 0.2*rand.Float64()) // #nosec G404 -- spreads load, hides nothing
	if first {
		factor = 0.1 + rand.Float64() // #nosec G404 -- as above
	}
	return now.Add(time.Duration(factor * float64(r.Interval)))
}

// end stores the result of a check, with the alert and the audit record of a change, in one transaction. It does so also when the
// service ends.
func (r *runner) end(ctx context.Context, c finishedCheck) (Outcome, error) {
	now := r.now()
	d := decide(c.row, c.result, now)
	alert := limitAlerts(&d.after, d.alert, d.counted, now)
	d.after.LastAt, d.after.NextAt = now, r.next(d, c.row.LastAt.IsZero(), now)
	entry := HistoryEntry{Counted: d.counted, Result: c.result.HealthResult}
	if c.report != nil {
		d.after.ControlResult = c.report.Known.String()
		var err error
		if entry.Report, err = json.Marshal(c.report); err != nil {
			return Failed, fmt.Errorf("encode the report: %w", err)
		}
	}
	err := r.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Watch.End(ctx, d.after, c.registry.Version, entry); err != nil {
			return err
		}
		return recordChange(ctx, tx, c, d, alert, now)
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Dropped, nil
	case err != nil:
		return Failed, fmt.Errorf("store the result of a check: %w", err)
	case !d.counted:
		return Unconfirmed, nil
	case c.result.Valid:
		return Valid, nil
	}
	return NotValid, nil
}

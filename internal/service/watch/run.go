package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/queue"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	// leaseTime is longer than a check (at most 60 s) and storing its result.
	leaseTime = 90 * time.Second
	// overdueAfter distinguishes checks that were missed from checks that are slightly late.
	overdueAfter = time.Minute
	spreadBatch  = 1000
	// slowFactor is how many slow checks may run for each other one. Those wait for a registry: they need memory, up to 0.4 MiB each if
	// it is hostile, but no processor and no database, which Concurrency is for.
	slowFactor = 7
)

// Outcome is the outcome of a scheduled check, for metrics.
type Outcome string

// Outcomes of scheduled checks.
const (
	Valid       Outcome = "valid"
	NotValid    Outcome = "notValid"
	Unknown     Outcome = "unknown"     // the provider of the credentials was down
	Unconfirmed Outcome = "unconfirmed" // a transient failure that is not confirmed
	Dropped     Outcome = "dropped"     // the registry was replaced or deleted during the check
	Failed      Outcome = "failed"      // the check could not run
)

// Outcomes returns all outcomes of scheduled checks.
func Outcomes() []Outcome { return []Outcome{Valid, NotValid, Unknown, Unconfirmed, Dropped, Failed} }

// Config configures scheduled checks. All fields except ObserveLatency, Observe and Log are required.
type Config struct {
	Interval    time.Duration // between checks of a registry
	Concurrency int           // concurrent checks, in addition to validations
	// ObserveLatency is called with how late a check begins.
	ObserveLatency func(time.Duration)
	Observe        func(Outcome)
	Log            *slog.Logger
}

// runner runs the scheduled checks of one process.
type runner struct {
	*Service
	Config
}

// Run checks every stored registry on schedule until ctx ends, and then releases the registries of running checks. Changes raise
// alerts. Any number of replicas may use the same store.
func (s *Service) Run(ctx context.Context, config Config) {
	r := &runner{s, config}
	q := r.queue()
	q.Waiting = func(ctx context.Context) ([]string, error) {
		return store.Read(ctx, s.db, func(tx *store.Tx) ([]string, error) { return tx.Watch.DueOrgs(ctx, s.now()) })
	}
	q.Claim, q.Work = r.claim, r.check
	q.Run(ctx)
}

// queue returns the queue without its work.
func (r *runner) queue() queue.Queue[store.Watched] {
	return queue.Queue[store.Watched]{
		Name:        "watch",
		Workers:     r.Concurrency,
		SlowWorkers: slowFactor * r.Concurrency,
		OrgOf:       func(row store.Watched) string { return row.OrgUID },
		Log:         r.Log,
	}
}

// claim claims due registries. The lease is durable before the first packet is sent.
func (r *runner) claim(ctx context.Context, shares []queue.Share) ([]store.Watched, error) {
	owner, now := uuid.NewString(), r.now()
	return store.Write(ctx, r.db, func(tx *store.Tx) ([]store.Watched, error) {
		return tx.Watch.Claim(ctx, owner, now, now.Add(leaseTime), shares)
	})
}

// Spread reschedules overdue checks over an interval, so that those that were missed while no server ran do not run in a burst. It
// returns how many it rescheduled.
func (s *Service) Spread(ctx context.Context, interval time.Duration) (rescheduled int64, err error) {
	for n := int64(spreadBatch); n == spreadBatch; rescheduled += n {
		now := s.now()
		err := s.db.InTx(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.Watch.Spread(ctx, now, interval, now.Add(-overdueAfter), spreadBatch)
			return err
		})
		if err != nil {
			return rescheduled, fmt.Errorf("spread overdue checks: %w", err)
		}
	}
	return rescheduled, nil
}

// check checks one registry and stores the result.
func (r *runner) check(ctx context.Context, row store.Watched) {
	if r.ObserveLatency != nil {
		r.ObserveLatency(r.now().Sub(row.NextAt))
	}
	outcome, err := r.tryCheck(ctx, row)
	if err != nil && ctx.Err() == nil && r.Log != nil {
		r.Log.Error("registry not checked", "registry", row.RegistryUID, "error", err)
	}
	if err != nil {
		r.release(ctx, row, err)
	}
	if r.Observe != nil && ctx.Err() == nil {
		r.Observe(outcome)
	}
}

// release releases a registry that was not checked. It is due at once if the service ends, as soon as after a crash if the store was
// unavailable, otherwise after an interval.
func (r *runner) release(ctx context.Context, row store.Watched, cause error) {
	next := r.now()
	switch {
	case ctx.Err() != nil:
	case fault.KindOf(cause) == fault.Unavailable:
		next = next.Add(min(r.Interval, leaseTime))
	default:
		next = next.Add(r.Interval)
	}
	err := r.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Watch.Release(ctx, row.RegistryUID, row.LeaseOwner, next)
	})
	if err != nil && r.Log != nil {
		r.Log.Error("lease not released; it will expire", "registry", row.RegistryUID, "error", err)
	}
}

// tryCheck returns an error if the registry could not be checked or the result could not be stored.
func (r *runner) tryCheck(ctx context.Context, row store.Watched) (Outcome, error) {
	opened, err := r.registries.Load(ctx, row.OrgUID, row.RegistryUID)
	done := finishedCheck{registry: opened.Registry, row: row}
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return Dropped, nil // its row is deleted, too
	case fault.KindOf(err) == fault.Conflict: // secrets that cannot be decrypted are a health status, too
		done.result.HealthResult = withTexts(store.HealthResult{Code: registries.CodeSecretUnreadable})
		return r.end(ctx, done)
	case err != nil:
		return Failed, err
	}
	plan, problems := regcheck.Parse(opened.Definition)
	if len(problems) > 0 {
		done.result.HealthResult = withTexts(store.HealthResult{Code: fault.CodeInvalidRequest, Field: problems[0].Field})
		return r.end(ctx, done)
	}
	report, err := r.recheck(ctx, plan, row)
	if err != nil {
		return Failed, err
	}
	done.report, done.result = report, resultOf(report)
	return r.end(ctx, done)
}

// recheck runs the engine. A panic of the engine ends only this check.
func (r *runner) recheck(ctx context.Context, plan *regcheck.Plan, row store.Watched) (report *regcheck.Report, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			report, err = nil, fmt.Errorf("the check %w", fault.Panicked(cause))
		}
	}()
	began := time.Now()
	report, err = r.Ambient.For(r.checker, row.OrgUID).Recheck(ctx, plan, regcheck.ReadKnown(row.ControlResult), nil)
	if r.Traced != nil {
		r.Traced(ctx, began, report, err)
	}
	return report, err
}

// withTexts adds message and hint to the result of a definition that could not be checked.
func withTexts(v store.HealthResult) store.HealthResult {
	v.Message, v.Hint = "The stored definition is not valid.", "Correct the field and send the registry again."
	if v.Code == registries.CodeSecretUnreadable {
		v.Message, v.Hint = "The stored secrets of this registry cannot be decrypted.", "Send the registry again with its secrets."
	}
	return v
}

// resultOf returns the part of a report that is compared with earlier results.
func resultOf(report *regcheck.Report) result {
	found := result{retryable: report.Retryable, HealthResult: store.HealthResult{
		Valid: report.Valid, Code: string(report.Code), Stage: string(report.Stage), Reason: string(report.Reason), Field: report.Field,
		Message: report.Message, Hint: report.Hint,
		CertificateNotAfter: report.CertificateExpires(), CredentialsNotAfter: report.CredentialsExpire}}
	for _, c := range report.Certificates {
		found.certificates = append(found.certificates, registries.Certificate{Role: string(c.Role), Subject: c.Subject,
			Fingerprint: c.Fingerprint, NotAfter: c.NotAfter.UTC()})
	}
	if report.Valid {
		found.Message = credentialsOf(report)
	}
	for _, warning := range report.Warnings {
		switch warning.Code {
		case regcheck.WarnCertificateExpiresSoon, regcheck.WarnClientCertificateExpiresSoon:
			found.CertificateExpiresSoon = true
		case regcheck.WarnCredentialsExpireSoon:
			found.CredentialsExpireSoon = true
		default: // the others say nothing about dates
		}
	}
	return found
}

// credentialsOf returns where obtained credentials came from, and when they end; "" for those in the definition.
func credentialsOf(report *regcheck.Report) string {
	for _, stage := range report.Stages {
		if stage.Name == regcheck.StageCredentials && stage.Detail != "" {
			return stage.Detail + "."
		}
	}
	return ""
}

// stageTimes returns how long the stages took that were not skipped.
func stageTimes(report *regcheck.Report) (times []store.StageTime) {
	for _, stage := range report.Stages {
		if stage.Status != regcheck.Skipped {
			times = append(times, store.StageTime{Stage: string(stage.Name), Took: stage.Duration})
		}
	}
	return times
}

// finishedCheck is a check with a result.
type finishedCheck struct {
	registry registries.Registry
	row      store.Watched
	result   result
	report   *regcheck.Report // nil: the definition could not be checked
}

// next returns the time of the next check. It varies by a random tenth of the interval, to spread checks that began together, and by
// a whole interval after the first check, which many registries may have at the same time.
func (r *runner) next(d decision, first bool, now time.Time) time.Time {
	if d.confirm {
		return now.Add(min(confirmAfter, r.Interval))
	}
	factor := float64(d.backoff) * (0.9 + 0.2*rand.Float64()) // #nosec G404 -- spreads load, hides nothing
	if first {
		factor = 0.1 + rand.Float64() // #nosec G404 -- as above
	}
	return now.Add(time.Duration(factor * float64(r.Interval)))
}

// end stores the result of a check, with the alert and the audit record of a change, in one transaction, also if the service ends.
func (r *runner) end(ctx context.Context, c finishedCheck) (Outcome, error) {
	now := r.now()
	d := decide(c.row, c.result, now)
	after := d.after
	after.LastAt, after.NextAt = now, r.next(d, c.row.LastAt.IsZero(), now)
	entry, err := HistoryEntry{Counted: d.counted, Result: c.result.HealthResult}, error(nil)
	if c.report != nil {
		after.ControlResult, entry.Stages = c.report.Known.String(), stageTimes(c.report)
		if entry.Report, err = reports.Encode(c.report); err != nil {
			return Failed, err
		}
	}
	err = r.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		d, c := d, c // changed below, and a transaction may be repeated
		d.after = after
		quiet, err := muted(ctx, tx, c, d, now)
		if err != nil {
			return err
		}
		limited := quiet.limit(&d, c.row, now)
		if err := tx.Watch.End(ctx, d.after, c.registry.Version, entry); err != nil {
			return err
		}
		if err := quiet.store(ctx, tx, c.row); err != nil {
			return err
		}
		c.row.Since, c.row.State = quiet.before.Since, quiet.before.State
		return recordChanges(ctx, tx, c, d.after, limited, now)
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Dropped, nil
	case err != nil:
		return Failed, fmt.Errorf("store the result of a check: %w", err)
	}
	return outcomeOf(d, c.result), nil
}

func outcomeOf(d decision, r result) Outcome {
	switch {
	case !d.counted:
		return Unconfirmed
	case r.Valid:
		return Valid
	case r.Undecided():
		return Unknown
	}
	return NotValid
}

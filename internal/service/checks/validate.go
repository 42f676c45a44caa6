package checks

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

var errPanicked = errors.New("the check panicked")

// Request is a request to validate a definition.
type Request struct {
	Action     audit.Action // audit.RegistryValidate or audit.RegistryDiagnose
	Definition registries.SentDefinition
	Plan       *regcheck.Plan    // of a definition that is parsed already, in place of Definition
	Undecoded  []fault.Field     // problems of decoding the definition, reported with the others
	OrgUID     string            // for an operator; other principals validate for their own organization
	Observe    regcheck.Observer // called at the end of each stage; may be nil
}

// Validate checks a definition by really using the registry, and returns the report. A definition that is not valid is not an error:
// errors are a *fault.Error, or that of ctx if the caller has disconnected.
//
// auditUID identifies the audit record: origin.AuditUID, if set, for a validation that began, and a different uid for one that was
// refused. The record of a validation is durable before the first packet is sent and complete before Validate returns, also if the
// engine panics.
func (s *Service) Validate(ctx context.Context, p auth.Principal, origin audit.Origin, r Request) (
	report *regcheck.Report, auditUID string, err error,
) {
	plan, release, err := s.admit(ctx, p, r)
	if err != nil {
		auditUID, err = s.refuse(ctx, p, origin, r, err)
		return nil, auditUID, err
	}
	defer release()
	started := s.auditRecord(p, origin, r, audit.Started, "")
	started.UID, started.Object = cmp.Or(origin.AuditUID, uuid.NewString()), plan.Endpoint()
	if err := s.record(ctx, started); err != nil {
		auditUID, err = s.refuse(ctx, p, origin, r, err)
		return nil, auditUID, err
	}
	report, err = s.check(ctx, started.UID, cmp.Or(p.OrgUID, r.OrgUID), plan, r.Observe)
	return report, started.UID, err
}

// admit returns the parsed definition with its secrets once the validation may begin, and the function that ends it.
func (s *Service) admit(ctx context.Context, p auth.Principal, r Request) (plan *regcheck.Plan, release func(), err error) {
	if plan, err = s.parse(ctx, p, r); err != nil {
		return nil, nil, err
	}
	if err := p.MayAnywhere(access.ValidateRegistries); err != nil {
		return nil, nil, err
	}
	if err := s.perMinute.await(ctx, p.UserUID); err != nil {
		return nil, nil, err
	}
	release, err = s.limiter.acquire(ctx, p.OrgUID, p.UserUID)
	return plan, release, err
}

func (s *Service) parse(ctx context.Context, p auth.Principal, r Request) (*regcheck.Plan, error) {
	if r.Plan != nil {
		return r.Plan, nil
	}
	plan, problems, err := s.registries.Parse(ctx, p, r.Definition)
	if err != nil {
		return nil, err
	}
	if problems = fault.Join(r.Undecoded, problems); len(problems) > 0 {
		return nil, fault.InvalidFields(problems...)
	}
	return plan, nil
}

// check runs the engine and completes the audit record.
func (s *Service) check(ctx context.Context, auditUID, orgUID string, plan *regcheck.Plan, observe regcheck.Observer) (
	*regcheck.Report, error,
) {
	ended, began := false, time.Now()
	defer func() {
		if !ended { // the engine panicked; the panic continues
			_ = s.complete(ctx, auditUID, nil, errPanicked)
		}
	}()
	report, err := s.Ambient.For(s.checker, orgUID).Check(ctx, plan, observe)
	ended = true
	if s.Traced != nil {
		s.Traced(ctx, began, report, err)
	}
	if completeErr := s.complete(ctx, auditUID, report, err); completeErr != nil {
		return nil, completeErr
	}
	return report, err
}

// Refusal is the outcome of a request that its receiver refuses, such as one that cannot be decoded.
type Refusal struct {
	Action audit.Action
	Code   string // of the response
}

// RefusalOf returns the refusal because of an error.
func RefusalOf(action audit.Action, err error) Refusal { return Refusal{action, fault.CodeOf(err)} }

// Refuse records a refusal, and returns the uid of the record.
func (s *Service) Refuse(ctx context.Context, p auth.Principal, origin audit.Origin, r Refusal) (auditUID string, err error) {
	record := s.auditRecord(p, origin, Request{Action: r.Action}, audit.Refused, r.Code)
	return audit.SharedUID(record), s.record(ctx, record)
}

// refuse records a request that is refused because of cause. It returns the uid of the record, and cause unless recording it fails.
func (s *Service) refuse(ctx context.Context, p auth.Principal, origin audit.Origin, r Request, cause error) (auditUID string, err error) {
	record := s.auditRecord(p, origin, r, audit.Refused, fault.CodeOf(cause))
	return audit.SharedUID(record), cmp.Or(s.record(ctx, record), cause)
}

// record writes an audit record, also if the caller has disconnected.
func (s *Service) record(ctx context.Context, record audit.Record) error {
	err := s.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.Audits.Append(ctx, record) })
	return fault.Wrap("record the validation", err)
}

// complete completes the audit record of a validation, also if the caller has disconnected.
func (s *Service) complete(ctx context.Context, auditUID string, report *regcheck.Report, checkErr error) error {
	outcome, reason, body := audit.Failed, fault.CodeOf(checkErr), []byte(nil)
	if checkErr == nil {
		outcome, reason = reports.Outcome(report), string(report.Code)
		var err error
		if body, err = reports.Encode(report); err != nil {
			return err
		}
	}
	err := s.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Audits.Complete(ctx, auditUID, outcome, reason, body)
	})
	return fault.Wrap("record the outcome of the validation", err)
}

func (s *Service) auditRecord(p auth.Principal, origin audit.Origin, r Request, outcome audit.Outcome, reason string) audit.Record {
	record := p.AuditRecord(origin, r.Action)
	record.At, record.OrgUID, record.Outcome, record.Reason = s.now(), cmp.Or(r.OrgUID, record.OrgUID), outcome, reason
	return record
}

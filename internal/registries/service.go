// Package registries keeps registry definitions and checks them, kept or not, for a caller: who may, how many
// at once, what is recorded. How a registry is checked is package regcheck's business.
package registries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// recordTimeout bounds the writing of a validation's end, which must happen though the client has gone.
const recordTimeout = 5 * time.Second

var errPanicked = errors.New("the check panicked")

// Purpose says why a definition is checked; it names the audit action.
type Purpose = audit.Action

// Purposes.
var (
	Validate = audit.RegistryValidate
	Diagnose = audit.RegistryDiagnose
)

// Service checks definitions. It is safe for concurrent use.
type Service struct {
	db      *store.DB
	checker *regcheck.Checker
	gate    *gate
	limits  Limits
	now     func() time.Time
}

// New makes a service that checks with checker and records in db.
func New(db *store.DB, checker *regcheck.Checker, limits Limits) *Service {
	return &Service{db: db, checker: checker, gate: newGate(limits, time.Now), limits: limits, now: time.Now}
}

// Load tells how many validations are under way and how many wait for a place.
func (s *Service) Load() (running, waiting int) { return s.gate.load() }

// Request is one definition to check, as Complete returned it and without problems.
type Request struct {
	AuditUID   string // random UUID; the record's uid
	Purpose    Purpose
	Definition regcheck.Definition
	OrgUID     string            // of an operator's validation; others' is their own
	Observe    regcheck.Observer // hears of each stage; nil for nobody
	Begun      func()            // called once the record is durable; may be nil
}

// Check really uses the registry and reports. A registry that is not valid is a report and no error;
// the error is a *fault.Error, or ctx's own when the caller went away. The record of the validation
// is durable before the first packet leaves, and is completed before Check returns. What is refused before that has no
// record: Refuse makes one.
func (s *Service) Check(ctx context.Context, p auth.Principal, origin audit.Origin, r Request) (*regcheck.Report, error) {
	if err := p.May(auth.ValidateRegistries); err != nil {
		return nil, err
	}
	if err := s.awaitAllowance(ctx, p.UserUID); err != nil {
		return nil, err
	}
	leave, err := s.gate.enter(ctx, p.OrgUID)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := s.append(ctx, s.event(p, origin, r, audit.Started, "")); err != nil {
		return nil, err
	}
	if r.Begun != nil {
		r.Begun()
	}
	ended := false
	defer func() {
		if !ended { // the engine panicked; its record is closed all the same, and the panic goes on
			_ = s.complete(ctx, r.AuditUID, nil, errPanicked)
		}
	}()
	report, err := s.checker.Check(ctx, r.Definition, r.Observe)
	ended = true
	if completeErr := s.complete(ctx, r.AuditUID, report, err); completeErr != nil {
		return nil, completeErr
	}
	if problems, ok := errors.AsType[*regcheck.DefinitionError](err); ok {
		return nil, definitionFault(problems)
	}
	return report, err
}

// Refuse records a validation that ended before it began, for cause, and returns the uid of the record.
func (s *Service) Refuse(ctx context.Context, p auth.Principal, origin audit.Origin, purpose Purpose, cause error) (string, error) {
	e := s.event(p, origin, Request{Purpose: purpose}, audit.Refused, codeOf(cause))
	return audit.RefusalUID(e), s.append(ctx, e)
}

// append writes a record, also for a client that has gone meanwhile: what was tried stays on record.
func (s *Service) append(ctx context.Context, e audit.Event) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	err := s.db.InTx(ctx, func(tx *store.Tx) error { return tx.Audits.Append(ctx, e) })
	if err != nil {
		return fmt.Errorf("record the validation: %w", err)
	}
	return nil
}

// complete closes the record that Check opened.
func (s *Service) complete(ctx context.Context, uid string, report *regcheck.Report, checkErr error) error {
	outcome, reason, body := audit.Failed, codeOf(checkErr), []byte(nil)
	if checkErr == nil {
		outcome, reason = audit.Valid, ""
		if !report.Valid {
			outcome, reason = audit.NotValid, string(report.Code)
		}
		var err error
		if body, err = json.Marshal(report); err != nil {
			return fmt.Errorf("encode the report: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := s.db.InTx(ctx, func(tx *store.Tx) error { return tx.Audits.Complete(ctx, uid, outcome, reason, body) }); err != nil {
		return fmt.Errorf("record the outcome of the validation: %w", err)
	}
	return nil
}

func (s *Service) event(p auth.Principal, origin audit.Origin, r Request, outcome audit.Outcome, reason string) audit.Event {
	e := p.Event(origin, r.Purpose)
	e.UID, e.At, e.Object, e.Outcome, e.Reason = r.AuditUID, s.now(), r.Definition.Endpoint, outcome, reason
	if r.OrgUID != "" {
		e.OrgUID = r.OrgUID
	}
	return e
}

func definitionFault(e *regcheck.DefinitionError) error {
	return fault.InvalidFields(fields(e.Problems)...)
}

func codeOf(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "ClientGone"
	default:
		return fault.CodeInternalError
	}
}

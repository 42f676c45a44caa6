// Package secondfactor manages the second factors of users who log in with a password: codes of an app that change every 30 seconds
// (RFC 6238), and recovery codes. It completes the logins that package auth leaves waiting for one.
//
// Sessions of identity providers, API keys and tokens of workloads need no second factor here.
package secondfactor

import (
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/passwordrules"
	"github.com/regwarden/regwarden/internal/storage/secondfactors"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Service is safe for concurrent use.
type Service struct {
	db     *store.DB
	logins *auth.Logins
	now    func() time.Time
}

// New returns the service of an open store.
func New(db *store.DB, logins *auth.Logins, now func() time.Time) *Service {
	return &Service{db, logins, now}
}

// Codes of faults.
const (
	CodeActive    = "SecondFactorActive"    // there is one already
	CodeNotActive = "SecondFactorNotActive" // there is none
	CodeNoLocal   = "NoLocalPassword"       // the user logs in by single sign-on, or is of a trust rule
)

func conflict(code, message string) error {
	return &fault.Error{Kind: fault.Conflict, Code: code, Message: message}
}

// Status is what a user may know of its second factor.
type Status struct {
	Active      bool
	ConfirmedAt time.Time
	Codes       int64 // recovery codes that are left
	Required    bool  // by the organization
}

// Status returns the state of the caller's second factor.
func (s *Service) Status(ctx context.Context, p auth.Principal) (status Status, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) error {
		org, err := tx.Orgs.Get(ctx, p.OrgUID)
		if err != nil {
			return err
		}
		status = Status{Required: org.SecondFactor}
		factor, err := tx.Factors.Get(ctx, p.UserUID)
		if errors.Is(err, store.ErrNotFound) || err == nil && factor.ConfirmedAt.IsZero() {
			return nil
		}
		if err != nil {
			return err
		}
		status.Active, status.ConfirmedAt = true, factor.ConfirmedAt
		status.Codes, err = tx.Factors.CountCodes(ctx, p.UserUID)
		return err
	})
	return status, fault.Wrap("look up a second factor", err)
}

// Enrollment is a second factor that no app has yet.
type Enrollment struct{ Secret, URI secret.String }

// Enroll begins a second factor of the caller, in place of one that was not confirmed. It counts once it is confirmed.
//
// Faults: Invalid with field currentPassword; Conflict with CodeActive or CodeNoLocal; Limited; Unavailable when too many passwords are
// hashed at once.
func (s *Service) Enroll(ctx context.Context, p auth.Principal, origin audit.Origin, password secret.String) (Enrollment, error) {
	if err := s.checkPassword(ctx, p, origin, audit.FactorEnroll, password); err != nil {
		return Enrollment{}, err
	}
	return s.enroll(ctx, p, origin)
}

// checkPassword checks the password of the caller, if it can have a second factor.
func (s *Service) checkPassword(ctx context.Context, p auth.Principal, origin audit.Origin, action audit.Action,
	password secret.String) error {
	user, err := store.Read(ctx, s.db, func(tx *store.Tx) (store.User, error) { return tx.Users.Get(ctx, p.OrgUID, p.UserUID) })
	if err != nil {
		return fault.Wrap("look up the caller", auth.UserNotFound(err))
	}
	if user.PasswordHash == "" {
		return conflict(CodeNoLocal, "You log in without a password here. Use the second factor of your identity provider.")
	}
	return s.logins.CheckPassword(ctx, p, origin, action, password)
}

func (s *Service) enroll(ctx context.Context, p auth.Principal, origin audit.Origin) (Enrollment, error) {
	key, uri, err := newKey(p.OrgName, p.Email)
	if err != nil {
		return Enrollment{}, fault.Wrap("generate a second factor", err)
	}
	err = s.change(ctx, p, origin, audit.FactorEnroll, func(tx *store.Tx, _ store.User) error {
		begun, err := tx.Factors.Put(ctx, secondfactors.Factor{UserUID: p.UserUID, OrgUID: p.OrgUID, Secret: key, CreatedAt: s.now()})
		if err == nil && !begun {
			err = conflict(CodeActive, "You have a second factor already. Remove it first.")
		}
		return err
	})
	return Enrollment{key, uri}, err
}

// change changes the second factor of the caller, whose row is locked, and records it.
func (s *Service) change(ctx context.Context, p auth.Principal, origin audit.Origin, action audit.Action,
	change func(*store.Tx, store.User) error) error {
	record := s.record(p, origin, action)
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		user, err := lock(ctx, tx, p.OrgUID, p.UserUID)
		if err == nil {
			err = change(tx, user)
		}
		if err != nil {
			return err
		}
		return tx.Audits.Append(ctx, record)
	})
	if errors.Is(err, errUsed) {
		return wrongField()
	}
	return fault.Wrap("change a second factor", auth.UserNotFound(err))
}

func (s *Service) record(p auth.Principal, origin audit.Origin, action audit.Action) audit.Record {
	record := p.AuditRecord(origin, action)
	record.UID, record.At, record.Object, record.Outcome = origin.RecordUID(), s.now(), p.UserUID, audit.Succeeded
	return record
}

// lock reads a user, whose attempts and changes by others wait until the transaction ends.
func lock(ctx context.Context, tx *store.Tx, orgUID, userUID string) (store.User, error) {
	if err := tx.Users.Lock(ctx, orgUID, userUID); err != nil {
		return store.User{}, err
	}
	return tx.Users.Get(ctx, orgUID, userUID)
}

// Confirm makes logins of the caller ask for a code from then on, and returns the recovery codes, this one time.
//
// Faults: Invalid with field code; Conflict with CodeActive or CodeNotActive; Limited.
func (s *Service) Confirm(ctx context.Context, p auth.Principal, origin audit.Origin, code secret.String) (
	codes []secret.String, err error) {
	proof, err := s.prove(ctx, p, origin, audit.FactorConfirm, code, false)
	if err != nil {
		return nil, err
	}
	err = s.change(ctx, p, origin, audit.FactorConfirm, func(tx *store.Tx, _ store.User) error {
		codes, err = s.confirm(ctx, tx, p.UserUID, proof)
		return err
	})
	return codes, err
}

func (s *Service) confirm(ctx context.Context, tx *store.Tx, userUID string, p proof) ([]secret.String, error) {
	confirmed, err := tx.Factors.Confirm(ctx, userUID, p.step, s.now())
	if err == nil && !confirmed {
		err = conflict(CodeActive, "You have a second factor already.")
	}
	if err != nil {
		return nil, err
	}
	codes, hashes := newRecoveryCodes()
	return codes, tx.Factors.PutCodes(ctx, userUID, hashes)
}

// Remove removes the second factor of the caller with its recovery codes. Sessions stay.
//
// Faults: Invalid with fields currentPassword or code; Conflict with CodeNotActive or CodeNoLocal; Limited.
func (s *Service) Remove(ctx context.Context, p auth.Principal, origin audit.Origin, password, code secret.String) error {
	return s.changeProved(ctx, p, origin, audit.FactorRemove, password, code, func(tx *store.Tx, user store.User) error {
		return tx.Factors.Delete(ctx, user.UID)
	})
}

// RenewCodes replaces the recovery codes of the caller, and returns the new ones, this one time.
//
// Faults: as of Remove.
func (s *Service) RenewCodes(ctx context.Context, p auth.Principal, origin audit.Origin, password, code secret.String) (
	[]secret.String, error) {
	codes, hashes := newRecoveryCodes()
	err := s.changeProved(ctx, p, origin, audit.RecoveryCodes, password, code, func(tx *store.Tx, user store.User) error {
		return tx.Factors.PutCodes(ctx, user.UID, hashes)
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// changeProved is change for a caller who proves the password and the second factor.
func (s *Service) changeProved(ctx context.Context, p auth.Principal, origin audit.Origin, action audit.Action,
	password, code secret.String, change func(*store.Tx, store.User) error) error {
	problems := append(fault.FieldProblem("currentPassword", passwordrules.FormProblem(password)), codeProblems(code)...)
	if len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	if err := s.checkPassword(ctx, p, origin, action, password); err != nil {
		return err
	}
	proof, err := s.prove(ctx, p, origin, action, code, true)
	if err != nil {
		return err
	}
	return s.change(ctx, p, origin, action, func(tx *store.Tx, user store.User) error {
		if err := proof.use(ctx, tx, user.UID); err != nil {
			return err
		}
		return change(tx, user)
	})
}

// Required reports whether the caller's organization requires a second factor.
func (s *Service) Required(ctx context.Context, p auth.Principal) (bool, error) {
	org, err := store.Read(ctx, s.db, func(tx *store.Tx) (store.Org, error) { return tx.Orgs.Get(ctx, p.OrgUID) })
	return org.SecondFactor, fault.Wrap("read a setting", err)
}

// Require sets whether users of the caller's organization need a second factor to log in with a password. Sessions stay.
//
// Faults: Forbidden.
func (s *Service) Require(ctx context.Context, p auth.Principal, origin audit.Origin, required bool) error {
	record := s.record(p, origin, audit.TenantUpdate)
	record.Object = "secondFactor"
	refusal := p.May(access.ChangeTenant)
	if refusal != nil {
		record.Outcome, record.Reason = audit.Refused, fault.CodeOperationForbidden
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		if refusal == nil {
			if err := tx.Factors.Require(ctx, p.OrgUID, required); err != nil {
				return err
			}
		}
		return tx.Audits.Append(ctx, record)
	})
	if err == nil {
		err = refusal
	}
	return fault.Wrap("change a setting", err)
}

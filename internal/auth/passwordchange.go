package auth

import (
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// ChangePassword sets another password for the caller and ends its other sessions. Wrong current passwords are
// throttled together with failed logins.
//
// Faults: Invalid with fields currentPassword (also if it is wrong) and newPassword; Limited; Unavailable when too many
// passwords are hashed at once. A wrong current password is not a 401: clients would assume that their token has ended,
// and log in with the same password again.
func (s *Service) ChangePassword(ctx context.Context, p Principal, origin audit.Origin, current, next secret.String) error {
	return s.replacePassword(ctx, p, origin, newPassword{current: current, next: next})
}

// ChangePasswordConsole is ChangePassword for a browser. Its session gets a new reference, and the former one is of no use: another
// browser may have it. end is as that of LoginConsole.
func (s *Service) ChangePasswordConsole(ctx context.Context, p Principal, origin audit.Origin,
	current, next secret.String) (reference secret.String, end time.Time, err error) {
	session, err := store.Read(ctx, s.db, func(tx *store.Tx) (store.Session, error) { return tx.Sessions.Get(ctx, p.SessionUID) })
	if err != nil {
		return "", time.Time{}, fault.Wrap("look up the session of a password change", err)
	}
	reference, hash := newRandomKey(referencePrefix)
	if err := s.replacePassword(ctx, p, origin, newPassword{current, next, hash}); err != nil {
		return "", time.Time{}, err
	}
	return reference, session.MaxUntil, nil
}

// newPassword is the input of a password change.
type newPassword struct {
	current, next secret.String
	reference     []byte // SHA-256 of the reference that the caller's session gets; nil to keep what it has
}

func (s *Service) replacePassword(ctx context.Context, p Principal, origin audit.Origin, input newPassword) error {
	if problems := s.PasswordProblems(p, input.current, input.next); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	outcome, err := changeOvertaken, error(nil)
	for n := 0; n < 2 && err == nil && outcome == changeOvertaken; n++ { // the same change may have been sent twice
		outcome, err = s.tryPasswordChange(ctx, p, origin, input)
	}
	if err == nil && outcome == changeOvertaken {
		return passwordChanging()
	}
	if err == nil && outcome == changeRefused {
		return fault.InvalidFields(fault.Field{Field: "currentPassword", Problem: "does not match your password"})
	}
	return fault.Wrap("change a password", err)
}

// passwordChange is the outcome of an attempt to change a password.
type passwordChange int

const (
	changeRefused   passwordChange = iota // and counted
	changeOvertaken                       // the stored hash changed after it was verified, or the user was disabled
	changeMade                            // by this request or by the one that it repeats
)

func (s *Service) tryPasswordChange(ctx context.Context, p Principal, origin audit.Origin, input newPassword) (passwordChange, error) {
	user, attempt, err := s.lookUpCaller(ctx, p, origin)
	if err != nil {
		return changeRefused, err
	}
	attempt.reference = input.reference
	if err := attempt.check(); err != nil {
		return changeRefused, s.passwords.bulk.Refuse(ctx, err)
	}
	matches, _, err := s.passwords.verify(ctx, attempt.hashCaller(), input.current, user.PasswordHash, attempt.reserve)
	if err != nil {
		return changeRefused, err
	}
	if !matches || !user.DisabledAt.IsZero() {
		return s.wrongCurrent(ctx, p, origin, attempt, user, input.next)
	}
	hash, err := s.passwords.hashFor(ctx, attempt.hashCaller(), input.next)
	if err != nil {
		return changeRefused, err
	}
	return store.Write(ctx, s.db, func(tx *store.Tx) (passwordChange, error) {
		return s.changePassword(ctx, tx, p, origin, attempt, user, hash)
	})
}

// repeatedWithin is how long after a password change the same request counts as its retry.
const repeatedWithin = time.Minute

// wrongCurrent handles a change whose current password does not match. If the new one matches and was set a moment ago,
// the response to that change was lost and the request is a retry: it succeeds without a change. Each password is one
// attempt, reserved and counted like a login, so that guessing is not easier here.
func (s *Service) wrongCurrent(ctx context.Context, p Principal, origin audit.Origin, attempt *loginAttempt, user store.User, next secret.String) (passwordChange, error) {
	wrong, repeats, unchecked := 1, false, error(nil)
	if s.now().Sub(user.PasswordChangedAt).Abs() < repeatedWithin && user.DisabledAt.IsZero() {
		again := func(ctx context.Context, _ bool) error { return attempt.reserve(ctx, true) } // time has passed since the state was read
		matches, _, err := s.passwords.verify(ctx, attempt.hashCaller(), next, user.PasswordHash, again)
		switch {
		case err == nil:
			wrong, repeats = 2, matches
		case fault.KindOf(err) != fault.Limited:
			unchecked = err // returned after the first attempt is counted: guesses count even if the service is overloaded
		}
	}
	outcome := changeRefused
	if repeats {
		outcome, wrong = changeMade, 0
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.now()
		record := s.succeeded(p, origin, audit.PasswordChange, user.UID, now)
		record.Reason = acceptedRepeat
		if !repeats {
			record.Outcome, record.Reason = audit.Refused, refusedPassword
		}
		for range wrong {
			if _, err := s.recordAttempt(ctx, tx, origin, attempt, user, false, now); err != nil {
				return err
			}
		}
		if repeats {
			if err := attempt.replaceReference(ctx, tx, p.SessionUID); err != nil {
				return err
			}
		}
		return tx.Audits.Append(ctx, record)
	})
	return outcome, errors.Join(err, unchecked)
}

// acceptedRepeat marks the record of a retry that changed nothing.
const acceptedRepeat = "repeated"

// PasswordProblems lists the problems of a password change that can be found without hashing the current password.
func (s *Service) PasswordProblems(p Principal, current, next secret.String) []fault.Field {
	problems := append(fault.FieldProblem("currentPassword", passwordProblem(current)), s.passwords.Problems("newPassword", next, p.Email, p.OrgName)...)
	if len(problems) == 0 && current == next {
		problems = fault.FieldProblem("newPassword", "must differ from the current password")
	}
	return problems
}

// lookUpCaller reads the principal's user and the throttle state of its attempt.
func (s *Service) lookUpCaller(ctx context.Context, p Principal, origin audit.Origin) (user store.User, attempt *loginAttempt, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		if user, err = tx.Users.Get(ctx, p.OrgUID, p.UserUID); err != nil {
			return fault.Wrap("look up the caller", asNotFound(err, "User not found."))
		}
		attempt = s.newAttempt(origin, Credentials{}, user)
		return attempt.read(ctx, tx)
	})
	return user, attempt, err
}

// changePassword stores the hash of the new password, unless the stored hash has changed.
func (s *Service) changePassword(ctx context.Context, tx *store.Tx, p Principal, origin audit.Origin, attempt *loginAttempt, user store.User, hash string) (passwordChange, error) {
	now := s.now()
	err := tx.Users.ChangePassword(ctx, user.OrgUID, user.UID, user.PasswordHash, hash, now)
	if errors.Is(err, store.ErrNotFound) {
		return changeOvertaken, nil
	}
	if err != nil {
		return changeRefused, err
	}
	if err := tx.Sessions.EndOfUser(ctx, user.OrgUID, user.UID, p.SessionUID, EndedByPassword, now); err != nil {
		return changeRefused, err
	}
	if err := attempt.replaceReference(ctx, tx, p.SessionUID); err != nil {
		return changeRefused, err
	}
	if _, err := s.recordAttempt(ctx, tx, origin, attempt, user, true, now); err != nil {
		return changeRefused, err
	}
	return changeMade, tx.Audits.Append(ctx, s.succeeded(p, origin, audit.PasswordChange, user.UID, now))
}

package auth

import (
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/passwordrules"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/service/passwordpolicy"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// ChangePassword sets another password for the caller and ends its other sessions. Wrong current passwords are
// throttled together with failed logins.
//
// Faults: Invalid with fields currentPassword (also if it is wrong) and newPassword; Limited; Unavailable when too many
// passwords are hashed at once. A wrong current password is not a 401: clients would assume that their token has ended,
// and log in with the same password again.
func (l *Logins) ChangePassword(ctx context.Context, p Principal, origin audit.Origin, current, next secret.String) error {
	return l.changePassword(ctx, p, origin, current, next, nil)
}

// ChangePasswordConsole is ChangePassword for a browser. Its session gets a new reference, and the former one is of no use: another
// browser may have it. end is as that of LoginConsole.
func (l *Logins) ChangePasswordConsole(ctx context.Context, p Principal, origin audit.Origin,
	current, next secret.String) (reference secret.String, end time.Time, err error) {
	session, err := store.Read(ctx, l.db, func(tx *store.Tx) (store.Session, error) { return tx.Sessions.Get(ctx, p.SessionUID) })
	if err != nil {
		return "", time.Time{}, fault.Wrap("look up the session of a password change", err)
	}
	reference, hash := randomkey.New(referencePrefix)
	if err := l.changePassword(ctx, p, origin, current, next, hash); err != nil {
		return "", time.Time{}, err
	}
	return reference, session.MaxUntil, nil
}

// changePassword makes an attempt at the current password, like a login. The same change may have been sent twice.
func (l *Logins) changePassword(ctx context.Context, p Principal, origin audit.Origin,
	current, next secret.String, reference []byte) error {
	if problems := l.PasswordProblems(p, current, next); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	c := passwordChange{l.newAttempt(origin, reference), p, next}
	for range attemptRuns {
		if err := c.lookUpCaller(ctx); err != nil {
			return fault.Wrap("change a password", err)
		}
		if err := passwordpolicy.Check(c.org.PasswordPolicy, "newPassword", next); err != nil {
			return err
		}
		if err := c.admit(ctx); err != nil {
			return fault.Wrap("change a password", err)
		}
		matches, _, err := c.verify(ctx, current)
		switch {
		case err != nil:
		case matches && c.user.DisabledAt.IsZero():
			err = c.store(ctx)
		default:
			err = c.recordWrong(ctx)
		}
		if !errors.Is(err, errOvertaken) {
			return fault.Wrap("change a password", err)
		}
	}
	return passwordChanging()
}

// passwordChange is an attempt of a caller at its current password, to change it.
type passwordChange struct {
	attempt
	p    Principal
	next secret.String
}

// lookUpCaller reads the caller and the throttle state of its attempt.
func (c *passwordChange) lookUpCaller(ctx context.Context) error {
	return c.l.db.View(ctx, func(tx *store.Tx) (err error) {
		if c.user, err = tx.Users.Get(ctx, c.p.OrgUID, c.p.UserUID); err != nil {
			return fault.Wrap("look up the caller", NotFoundAs(err, "User not found."))
		}
		if c.org, err = tx.Orgs.Get(ctx, c.p.OrgUID); err != nil {
			return err
		}
		c.counts.Account = []byte(c.user.UID)
		return c.counts.Read(ctx, tx, c.l.waitNow())
	})
}

// store stores the hash of the new password, unless the stored hash has changed since it was verified, or the user was disabled.
func (c *passwordChange) store(ctx context.Context) error {
	hash, err := c.l.passwords.hashFor(ctx, c.hashCaller(), c.next)
	if err != nil {
		return err
	}
	return c.l.db.InTx(ctx, func(tx *store.Tx) error {
		now := c.l.now()
		err := tx.Users.ChangePassword(ctx, c.user.OrgUID, c.user.UID, c.user.PasswordHash, hash, now)
		if errors.Is(err, store.ErrNotFound) {
			return errOvertaken
		}
		if err != nil {
			return err
		}
		if err := tx.Sessions.EndOfUser(ctx, c.user.OrgUID, c.user.UID, c.p.SessionUID, EndedByPassword, now); err != nil {
			return err
		}
		if err := c.replaceReference(ctx, tx); err != nil {
			return err
		}
		if _, err := c.count(ctx, tx, true, now); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, c.p.Succeeded(c.origin, audit.PasswordChange, c.user.UID, now))
	})
}

// replaceReference replaces the reference of the session whose password was changed, if there is another one.
func (c *passwordChange) replaceReference(ctx context.Context, tx *store.Tx) error {
	if c.reference == nil {
		return nil
	}
	return tx.Sessions.ReplaceReference(ctx, c.p.SessionUID, c.reference)
}

// repeatedWithin is how long after a password change the same request counts as its retry.
const repeatedWithin = time.Minute

// acceptedRepeat marks the record of a retry that changed nothing.
const acceptedRepeat = "repeated"

// recordWrong records a change whose current password does not match. If the new one matches and was set a moment ago,
// the response to that change was lost and the request is a retry: it succeeds without a change. Each password is one
// attempt, reserved and counted like a login, so that guessing is not easier here.
func (c *passwordChange) recordWrong(ctx context.Context) error {
	wrong, repeats, unchecked := 1, false, error(nil)
	if c.l.now().Sub(c.user.PasswordChangedAt).Abs() < repeatedWithin && c.user.DisabledAt.IsZero() {
		second := c.attempt
		second.reserved, second.stale = false, true
		matches, _, err := second.verify(ctx, c.next)
		switch {
		case err == nil:
			wrong, repeats = 2, matches
		case fault.KindOf(err) != fault.Limited:
			unchecked = err // returned after the first attempt is counted: guesses count even if the service is overloaded
		}
	}
	err := c.l.db.InTx(ctx, func(tx *store.Tx) error {
		now := c.l.now()
		record := c.p.Succeeded(c.origin, audit.PasswordChange, c.user.UID, now)
		if repeats {
			record.Reason = acceptedRepeat
			if err := c.replaceReference(ctx, tx); err != nil {
				return err
			}
			return tx.Audits.Append(ctx, record)
		}
		for range wrong {
			if _, err := c.count(ctx, tx, false, now); err != nil {
				return err
			}
		}
		record.Outcome, record.Reason = audit.Refused, refusedPassword
		return tx.Audits.Append(ctx, record)
	})
	if err = errors.Join(err, unchecked); err == nil && !repeats {
		err = fault.InvalidField("currentPassword", "does not match your password")
	}
	return err
}

// PasswordProblems lists the problems of a password change that can be found without hashing the current password.
func (l *Logins) PasswordProblems(p Principal, current, next secret.String) []fault.Field {
	problems := append(fault.FieldProblem("currentPassword", passwordrules.FormProblem(current)),
		l.passwords.Problems("newPassword", next, p.Email, p.OrgName)...)
	if len(problems) == 0 && current == next {
		problems = fault.FieldProblem("newPassword", "must differ from the current password")
	}
	return problems
}

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

// Changes of what users log in with, and of whether they may.

// ChangePassword gives the caller another password and ends its other sessions. Wrong current passwords are
// throttled together with failed logins.
//
// Faults: Invalid with fields currentPassword (wrong, too) and newPassword; Limited; Unavailable when too many
// passwords are hashed at once. A wrong current password is no 401: clients take that for the end of their
// token, and would log in with the same password again.
func (s *Service) ChangePassword(ctx context.Context, p Principal, origin audit.Origin, current, next secret.String) error {
	if problems := s.PasswordProblems(p, current, next); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	outcome, err := changeOvertaken, error(nil)
	for n := 0; n < 2 && err == nil && outcome == changeOvertaken; n++ { // the same change sent twice, perhaps
		outcome, err = s.tryPasswordChange(ctx, p, origin, current, next)
	}
	if err == nil && outcome == changeOvertaken {
		return passwordChanging()
	}
	if err == nil && outcome == changeRefused {
		return fault.InvalidFields(fault.Field{Field: "currentPassword", Problem: "is not your password"})
	}
	return fault.Wrap("change a password", err)
}

// passwordChange is how a try to change a password ended.
type passwordChange int

const (
	changeRefused   passwordChange = iota // and counted
	changeOvertaken                       // the hash is another than the one that was verified, or the user was disabled
	changeMade                            // now, or by the request that this one repeats
)

func (s *Service) tryPasswordChange(ctx context.Context, p Principal, origin audit.Origin, current, next secret.String) (passwordChange, error) {
	user, attempt, err := s.lookUpCaller(ctx, p, origin)
	if err != nil {
		return changeRefused, err
	}
	if err := attempt.check(); err != nil {
		return changeRefused, s.passwords.bulk.refuse(ctx, err)
	}
	matches, _, err := s.passwords.verify(ctx, attempt.hashCaller(), current, user.PasswordHash, attempt.reserve)
	if err != nil {
		return changeRefused, err
	}
	if !matches || !user.DisabledAt.IsZero() {
		return s.wrongCurrent(ctx, p, origin, attempt, user, next)
	}
	hash, err := s.passwords.hashFor(ctx, attempt.hashCaller(), next)
	if err != nil {
		return changeRefused, err
	}
	outcome := changeOvertaken
	err = s.db.InTx(ctx, func(tx *store.Tx) (err error) {
		outcome, err = s.changePassword(ctx, tx, p, origin, attempt, user, hash)
		return err
	})
	return outcome, err
}

// repeatedWithin is how long after a change of a password the same request is taken for its repeat.
const repeatedWithin = time.Minute

// wrongCurrent decides about a change whose current password is not the user's. If its new one is, since a moment ago,
// then the response to that change was lost, and this repeats it: nothing is left to do. Each password that was tried is
// one attempt, reserved and counted like a login, so that guessing here is no easier.
func (s *Service) wrongCurrent(ctx context.Context, p Principal, origin audit.Origin, attempt *loginAttempt, user store.User, next secret.String) (passwordChange, error) {
	wrong, repeats, unchecked := 1, false, error(nil)
	if s.now().Sub(user.PasswordChangedAt).Abs() < repeatedWithin && user.DisabledAt.IsZero() {
		again := func(ctx context.Context, _ bool) error { return attempt.reserve(ctx, true) } // time has passed
		matches, _, err := s.passwords.verify(ctx, attempt.hashCaller(), next, user.PasswordHash, again)
		switch {
		case err == nil:
			wrong, repeats = 2, matches
		case fault.KindOf(err) != fault.Limited:
			unchecked = err // returned once the first one is counted: guesses count while the service is overloaded
		}
	}
	outcome := changeRefused
	if repeats {
		outcome, wrong = changeMade, 0
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.now()
		event := s.succeeded(p, origin, audit.PasswordChange, user.UID, now)
		event.Reason = acceptedRepeat
		if !repeats {
			event.Outcome, event.Reason = audit.Refused, refusedPassword
		}
		for range wrong {
			if _, err := s.recordAttempt(ctx, tx, origin, attempt, user, false, now); err != nil {
				return err
			}
		}
		return tx.Audits.Append(ctx, event)
	})
	return outcome, errors.Join(err, unchecked)
}

// acceptedRepeat marks the record of a request that changed nothing because it had done so before.
const acceptedRepeat = "repeated"

// PasswordProblems lists what is wrong with a change of the caller's password, as far as it shows without the
// current one's hash.
func (s *Service) PasswordProblems(p Principal, current, next secret.String) []fault.Field {
	problems := append(fault.FieldProblem("currentPassword", passwordProblem(current)), s.passwords.Problems("newPassword", next, p.Email, p.OrgName)...)
	if len(problems) == 0 && current == next {
		problems = fault.FieldProblem("newPassword", "is the current password")
	}
	return problems
}

// lookUpCaller reads the user that the principal is, and the throttle state of its attempt.
func (s *Service) lookUpCaller(ctx context.Context, p Principal, origin audit.Origin) (user store.User, attempt *loginAttempt, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		if user, err = tx.Users.Get(ctx, p.OrgUID, p.UserUID); err != nil {
			return fault.Wrap("look up the caller", asNotFound(err, "There is no such user."))
		}
		attempt = s.newAttempt(origin, Credentials{}, user)
		return attempt.read(ctx, tx)
	})
	return user, attempt, err
}

// changePassword stores the hash of the new password, unless the current one's is another by now.
func (s *Service) changePassword(ctx context.Context, tx *store.Tx, p Principal, origin audit.Origin, attempt *loginAttempt, user store.User, hash string) (passwordChange, error) {
	now := s.now()
	err := tx.Users.ChangePassword(ctx, user.OrgUID, user.UID, user.PasswordHash, hash, now)
	if errors.Is(err, store.ErrNotFound) {
		return changeOvertaken, nil
	}
	if err != nil {
		return changeRefused, err
	}
	if err := tx.Sessions.EndOfUser(ctx, user.OrgUID, user.UID, p.SessionUID, endedByPassword, now); err != nil {
		return changeRefused, err
	}
	if _, err := s.recordAttempt(ctx, tx, origin, attempt, user, true, now); err != nil {
		return changeRefused, err
	}
	return changeMade, tx.Audits.Append(ctx, s.succeeded(p, origin, audit.PasswordChange, user.UID, now))
}

// SetPassword gives a user of the organization another password and ends its sessions. user is its uid or
// e-mail; an operator names the organization, others leave it empty. Who has forgotten a password is not who
// changes their own: for that there is ChangePassword.
//
// Faults: Invalid with field password; Forbidden; NotFound; Unavailable when too many passwords are hashed at once.
func (s *Service) SetPassword(ctx context.Context, p Principal, origin audit.Origin, org, user string, next secret.String) error {
	found, err := s.otherUser(ctx, p, origin, SetPasswords, audit.PasswordSet, org, user)
	if err != nil {
		return err
	}
	if problems := s.passwords.Problems("password", next, found.user.Email, found.org.Name); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	hash, err := s.passwords.Hash(ctx, p.OrgUID, next)
	if err != nil {
		return err
	}
	return s.changeUser(ctx, p, origin, audit.PasswordSet, found, func(tx *store.Tx, now time.Time) error {
		if err := tx.Users.SetPassword(ctx, found.org.UID, found.user.UID, hash, now); err != nil {
			return err
		}
		if err := tx.Throttling.ForgiveAccount(ctx, []byte(found.user.UID)); err != nil {
			return err
		}
		return tx.Sessions.EndOfUser(ctx, found.org.UID, found.user.UID, "", endedByPassword, now)
	})
}

// DisableUser keeps a user from signing in, and ends its sessions and the use of its API keys at once. One that
// is disabled stays so. user is its uid or e-mail; an operator names the organization, others leave it empty.
//
// Faults: Forbidden, of oneself too; NotFound; Conflict with CodeLastAdmin.
func (s *Service) DisableUser(ctx context.Context, p Principal, origin audit.Origin, org, user string) error {
	found, err := s.otherUser(ctx, p, origin, DisableUsers, audit.UserDisable, org, user)
	if err != nil {
		return err
	}
	return s.changeUser(ctx, p, origin, audit.UserDisable, found, func(tx *store.Tx, now time.Time) error {
		if err := KeepAdmin(ctx, tx, p, found.user); err != nil {
			return err
		}
		return unlessSo(tx.Users.Disable(ctx, found.org.UID, found.user.UID, now))
	})
}

// CodeLastAdmin is the fault of a change that would leave an organization without an administrator who can log in.
const CodeLastAdmin = "LastAdministrator"

// KeepAdmin refuses a change after which the user is no enabled administrator any more, if there is no other one who can
// log in. It locks the organization, so that of two administrators who remove each other at the same time one stays. An
// operator can always create another administrator.
func KeepAdmin(ctx context.Context, tx *store.Tx, p Principal, user store.User) error {
	if p.Role == RoleOperator {
		return nil
	}
	if err := tx.Orgs.Lock(ctx, user.OrgUID); err != nil {
		return err
	}
	now, err := tx.Users.Get(ctx, user.OrgUID, user.UID)
	if err != nil || now.Role != string(RoleAdmin) || !now.DisabledAt.IsZero() {
		return err
	}
	if kept, err := tx.Users.HasOtherAdmin(ctx, user.OrgUID, user.UID); kept || err != nil {
		return err
	}
	return &fault.Error{Kind: fault.Conflict, Code: CodeLastAdmin,
		Message: "This is the last enabled administrator of the organization with a password. Make another user an administrator first."}
}

// EnableUser lets a disabled user sign in again. Its old sessions stay ended.
//
// Faults: those of DisableUser.
func (s *Service) EnableUser(ctx context.Context, p Principal, origin audit.Origin, org, user string) error {
	found, err := s.otherUser(ctx, p, origin, DisableUsers, audit.UserEnable, org, user)
	if err != nil {
		return err
	}
	return s.changeUser(ctx, p, origin, audit.UserEnable, found, func(tx *store.Tx, _ time.Time) error {
		return unlessSo(tx.Users.Enable(ctx, found.org.UID, found.user.UID))
	})
}

// unlessSo lets a change that was made before pass: the user is as was asked for.
func unlessSo(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// otherUser finds the user of an administrative change, and records the refusal of one that is not allowed.
func (s *Service) otherUser(ctx context.Context, p Principal, origin audit.Origin, permission Permission, action audit.Action, org, user string) (account, error) {
	refusal := p.May(permission)
	if refusal == nil && p.UserUID != "" && (user == p.UserUID || Canonical(user) == Canonical(p.Email)) {
		refusal = notOneself(permission)
	}
	if refusal != nil {
		event := s.succeeded(p, origin, action, user, s.now())
		event.Outcome, event.Reason = audit.Refused, fault.CodeOperationForbidden
		err := s.db.InTx(ctx, func(tx *store.Tx) error { return tx.Audits.Append(ctx, event) })
		return account{}, errors.Join(err, refusal)
	}
	var found account
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		found.org, found.user, err = p.FindUser(ctx, tx, org, user)
		return err
	})
	return found, fault.Wrap("look up a user", err)
}

// changeUser makes an administrative change and its record.
func (s *Service) changeUser(ctx context.Context, p Principal, origin audit.Origin, action audit.Action, found account, change func(*store.Tx, time.Time) error) error {
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		now := s.now()
		if err := change(tx, now); err != nil {
			return err
		}
		event := s.succeeded(p, origin, action, found.user.UID, now)
		event.OrgUID = found.org.UID
		return tx.Audits.Append(ctx, event)
	})
	return fault.Wrap(string(action), NoSuchUser(err))
}

// NoSuchUser turns store.ErrNotFound into the fault of a missing user.
func NoSuchUser(err error) error {
	return asNotFound(err, "There is no such user in the organization.")
}

// FindUser finds a user by uid, or else by email, in the caller's organization or the one that an operator names.
func (p Principal) FindUser(ctx context.Context, tx *store.Tx, org, user string) (store.Org, store.User, error) {
	in, err := p.Org(ctx, tx, org)
	if err != nil {
		return store.Org{}, store.User{}, err
	}
	found, err := userOf(ctx, tx, in, user)
	return in, found, err
}

func userOf(ctx context.Context, tx *store.Tx, org store.Org, named string) (store.User, error) {
	user, err := tx.Users.Get(ctx, org.UID, named)
	if errors.Is(err, store.ErrNotFound) {
		user, err = tx.Users.ByEmail(ctx, org.UID, Canonical(named))
	}
	return user, NoSuchUser(err)
}

// notOneself keeps an administrator from locking out the last one, and whoever took over an administrator's
// session from taking the password too.
func notOneself(permission Permission) error {
	return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Reason: string(permission),
		Message: "That is not possible for your own user. Ask another administrator, or change your own password with the current one."}
}

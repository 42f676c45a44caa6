package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/passwordrules"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/storage/secondfactors"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

const (
	pendingPrefix = "rwp_"
	pendingTime   = 5 * time.Minute // also to add a second factor
)

// CodeRequired is the error of a login whose password was right, and that a second factor completes: package secondfactor does that. Its
// token is no credential of any other operation.
type CodeRequired struct {
	Token secret.String
	Add   bool // the user has no second factor yet, and its organization requires one
	Until time.Time
}

// Error implements error.
func (*CodeRequired) Error() string { return "the login waits for the code of a second factor" }

// AsCodeRequired returns the login that waits for a code, nil for any other error.
func AsCodeRequired(err error) *CodeRequired {
	pending, _ := errors.AsType[*CodeRequired](err)
	return pending
}

// PendingHash returns the stored hash of the token of a CodeRequired, as sent in Authorization, and whether it has the form of one.
func PendingHash(authorization secret.String) ([]byte, bool) {
	return randomkey.Hash(pendingPrefix, withoutScheme(authorization))
}

// needsCode reports whether the password of the account is not enough.
func (a *attempt) needsCode() bool {
	return a.user.UID != "" && (a.user.SecondFactor || a.org.SecondFactor)
}

// storePending stores a login that waits for a code, for the user whose password has that hash.
func (a *attempt) storePending(ctx context.Context, tx *store.Tx, passwordHash string, now time.Time) error {
	token, hash := randomkey.New(pendingPrefix)
	a.pending = &CodeRequired{Token: token, Add: !a.user.SecondFactor, Until: now.Add(pendingTime)}
	return tx.Factors.InsertPending(ctx, secondfactors.Pending{Hash: hash, OrgUID: a.org.UID, UserUID: a.user.UID,
		Password: HashOfHash(passwordHash), NextHash: a.nextHash, ExpiresAt: a.pending.Until})
}

// HashOfHash identifies the password of a user by its hash, which has a salt.
func HashOfHash(passwordHash string) []byte {
	hash := sha256.Sum256([]byte(passwordHash))
	return hash[:]
}

// CodeAttempt is an attempt of a user at a code of its second factor. It counts like an attempt at its password.
type CodeAttempt struct{ attempt attempt }

// CodeAttempt returns an attempt. The caller has locked the user, so that attempts are counted one after another.
func (l *Logins) CodeAttempt(origin audit.Origin, user store.User) *CodeAttempt {
	c := &CodeAttempt{l.newAttempt(origin, nil)}
	c.attempt.user, c.attempt.counts.Account = user, []byte(user.UID)
	return c
}

// Admit returns nil if the attempt may be made, else a fault of kind Limited.
func (c *CodeAttempt) Admit(ctx context.Context, tx *store.Tx) error {
	now := c.attempt.l.waitNow()
	if err := c.attempt.counts.Read(ctx, tx, now); err != nil {
		return err
	}
	return c.attempt.counts.Limit(now)
}

// Wrong counts an attempt at a wrong code, and records it.
func (c *CodeAttempt) Wrong(ctx context.Context, tx *store.Tx, record audit.Record) error {
	alert, err := c.attempt.count(ctx, tx, false, record.At)
	if err != nil {
		return err
	}
	if alert {
		c.attempt.warn()
	}
	return tx.Audits.Append(ctx, record)
}

// Right counts an attempt at the code that completes a login.
func (c *CodeAttempt) Right(ctx context.Context, tx *store.Tx) error {
	return c.attempt.counts.CountSuccess(ctx, tx, c.attempt.l.waitNow())
}

// CheckPassword checks the current password of the caller before an operation that requires it. Wrong ones are recorded as attempts at
// that operation, and throttled together with failed logins.
//
// Faults: Invalid with field currentPassword; Limited; Unavailable when too many passwords are hashed at once.
func (l *Logins) CheckPassword(ctx context.Context, p Principal, origin audit.Origin, action audit.Action, current secret.String) error {
	if problems := fault.FieldProblem("currentPassword", passwordrules.FormProblem(current)); len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	c := passwordChange{l.newAttempt(origin, nil), p, ""}
	if err := c.lookUpCaller(ctx); err != nil {
		return fault.Wrap("check a password", err)
	}
	if err := c.admit(ctx); err != nil {
		return err
	}
	matches, _, err := c.verify(ctx, current)
	if err != nil {
		return fault.Wrap("check a password", err)
	}
	return c.recordCheck(ctx, action, matches && c.user.DisabledAt.IsZero())
}

// recordCheck records the outcome of CheckPassword. A right password deletes no failures: a code may have to follow.
func (c *passwordChange) recordCheck(ctx context.Context, action audit.Action, right bool) error {
	err := c.l.db.InTx(ctx, func(tx *store.Tx) error {
		now := c.l.now()
		if right {
			return c.counts.Return(ctx, tx)
		}
		if _, err := c.count(ctx, tx, false, now); err != nil {
			return err
		}
		record := c.p.Succeeded(c.origin, action, c.user.UID, now)
		record.Outcome, record.Reason = audit.Refused, refusedPassword
		return tx.Audits.Append(ctx, record)
	})
	if err == nil && !right {
		return fault.InvalidField("currentPassword", "does not match your password")
	}
	return fault.Wrap("record a password", err)
}

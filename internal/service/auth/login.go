package auth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/changehistory"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/auth/passwordrules"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/service/fairqueue"
	"github.com/regwarden/regwarden/internal/service/passwordpolicy"
	"github.com/regwarden/regwarden/internal/service/throttle"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Credentials are the input of Login.
type Credentials struct {
	Email, Org string
	Password   secret.String
	// NewPassword replaces the password of a login that succeeds, also if that has expired. It may be empty.
	NewPassword secret.String
	Undecoded   []fault.Field // decoding problems, returned together with the others
}

// problems lists all problems of the credentials, regardless of any account.
func (c Credentials) problems() []fault.Field {
	return fault.Join(c.Undecoded, slices.Concat(
		fault.FieldProblem("emailId", names.LookupProblem(c.Email)),
		fault.FieldProblem("org", names.LookupProblem(c.Org)),
		fault.FieldProblem("password", passwordrules.FormProblem(c.Password)), c.newProblems()))
}

func (c Credentials) newProblems() []fault.Field {
	switch {
	case c.NewPassword == "":
		return nil
	case c.NewPassword == c.Password:
		return fault.FieldProblem("newPassword", "must differ from the current password")
	}
	return passwordrules.Problems("newPassword", c.NewPassword, c.Email, c.Org)
}

// Logins log users in and change their passwords. It is safe for concurrent use.
type Logins struct {
	db           *store.DB
	config       Config
	now, waitNow func() time.Time
	throttle     throttle.Rules
	passwords    *Passwords
	keys         *Keys
	tokens       *tokens
	history      *changehistory.History
}

// Login creates a session and returns its first tokens.
//
// Faults: Invalid with fields emailId, org, password; Unauthenticated (one response for unknown organization, unknown
// user, wrong password and disabled user, at one cost); Limited after too many failures; Unavailable when too many log
// in at once or the store does not respond. *CodeRequired is no fault: a second factor completes the login.
func (l *Logins) Login(ctx context.Context, origin audit.Origin, c Credentials) (Tokens, error) {
	at := l.history.Position()
	session, err := l.logIn(ctx, origin, c, nil)
	if err != nil {
		return Tokens{}, err
	}
	return l.tokens.issue(session, at)
}

// LoginConsole is Login for a browser. The session has no tokens, only a reference, which AuthenticateConsole accepts as
// long as the session is live. The store has its hash. It ends, without use, at the absolute end of the session.
func (l *Logins) LoginConsole(ctx context.Context, origin audit.Origin, c Credentials) (
	reference secret.String, end time.Time, err error) {
	reference, hash := randomkey.New(referencePrefix)
	session, err := l.logIn(ctx, origin, c, hash)
	if err != nil {
		return "", time.Time{}, err
	}
	return reference, session.MaxUntil, nil
}

// logIn creates a session, with the reference of that hash if it is not nil.
func (l *Logins) logIn(ctx context.Context, origin audit.Origin, c Credentials, reference []byte) (session store.Session, err error) {
	c.Org = cmp.Or(c.Org, l.config.DefaultOrg)
	if problems := c.problems(); len(problems) > 0 {
		return session, fault.InvalidFields(problems...)
	}
	a := l.newAttempt(origin, reference)
	for range attemptRuns {
		if err := a.lookUp(ctx, c); err != nil {
			return session, err
		}
		if err := a.admit(ctx); err != nil {
			return session, err
		}
		matches, newHash, err := a.verify(ctx, c.Password)
		if err != nil {
			return session, err
		}
		if err = a.renew(ctx, matches, c.NewPassword); err != nil {
			return session, err
		}
		if session, err = a.record(ctx, matches, newHash); !errors.Is(err, errOvertaken) {
			return session, err
		}
	}
	return session, passwordChanging()
}

// attempt is one attempt at a password, of a login or of a password change. Its steps are lookUp, admit, verify and record.
type attempt struct {
	l      *Logins
	origin audit.Origin
	counts throttle.Attempt
	// reference is the SHA-256 of the reference that the session gets; nil for none, or to keep what it has.
	reference []byte

	org   store.Org  // empty if unknown
	user  store.User // empty if unknown
	stale bool       // the counts were read before a wait

	reserved bool          // admitted: that it is overtaken later makes it no other attempt
	nextHash string        // of the password that the login sets; empty: none
	pending  *CodeRequired // set when the login was stored as one that waits for a code

	nextRefused error // why the login does not set the new password, and is refused
}

func (l *Logins) newAttempt(origin audit.Origin, reference []byte) attempt {
	return attempt{l: l, origin: origin, counts: throttle.Attempt{Rules: l.throttle, Source: []byte(origin.Source())}, reference: reference}
}

// attemptRuns is how often the steps of an attempt are run at most, each time after it was overtaken.
const attemptRuns = 2

// errOvertaken ends a run whose verified hash is no longer the stored one: the password was changed, or a concurrent
// login stored a new hash of it.
var errOvertaken = errors.New("the stored password hash has changed")

// passwordChanging is the fault of an attempt that was overtaken in every run.
func passwordChanging() error {
	return fault.Busy("Your password is being changed by another request. Try again.", time.Second)
}

// lookUp reads the account of a login and its throttle state, with the same queries for unknown names.
func (a *attempt) lookUp(ctx context.Context, c Credentials) error {
	org, email := names.Canonical(c.Org), names.Canonical(c.Email)
	return a.l.db.View(ctx, func(tx *store.Tx) (err error) {
		if a.org, err = tx.Orgs.ByName(ctx, org); err == nil || errors.Is(err, store.ErrNotFound) {
			a.user, err = tx.Users.ByEmail(ctx, a.org.UID, email)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("look up the account: %w", err)
		}
		if a.counts.Account = a.l.unknownAccount(org, email); a.user.UID != "" {
			a.counts.Account = []byte(a.user.UID)
		}
		return a.counts.Read(ctx, tx, a.l.waitNow())
	})
}

const throttlePurpose = "regwarden throttled name v1\x00"

// unknownAccount identifies an unknown name by its MAC, since people type passwords into the email field. The name is canonical, so that
// all its spellings share one count.
func (l *Logins) unknownAccount(org, email string) []byte {
	mac := hmac.New(sha256.New, l.keys.keySet().mac)
	mac.Write([]byte(throttlePurpose + org + "\x00" + email))
	return mac.Sum(nil)
}

// admit returns nil if the attempt may be made, else, after a delay, a fault of kind Limited. It writes nothing, so a refused attempt
// does not prolong the wait.
func (a *attempt) admit(ctx context.Context) error {
	if a.reserved {
		return nil
	}
	return a.l.passwords.bulk.Refuse(ctx, a.counts.Limit(a.l.waitNow()))
}

// verify reports whether the password is that of the account, as Hasher.Verify. It waits for a slot to hash in and reserves the
// attempt there, so that an attempt without a slot is not counted.
func (a *attempt) verify(ctx context.Context, password secret.String) (matches bool, newHash string, err error) {
	release, waited, err := a.l.passwords.bulk.Acquire(ctx, a.hashCaller())
	if err != nil {
		return false, "", err
	}
	defer release()
	if a.stale = a.stale || waited; !a.reserved {
		if err := a.reserve(ctx); err != nil {
			return false, "", err
		}
		a.reserved = true
	}
	return a.l.passwords.hasher.Verify(password, a.user.PasswordHash)
}

// hashCaller returns the position of the attempt in the queue for hashing.
func (a *attempt) hashCaller() fairqueue.Caller {
	c := fairqueue.Caller{Share: unknownLogins, Source: string(a.counts.Source), Account: string(a.counts.Account)}
	if a.counts.OwnAllowance() {
		c.Share = knownLogins
	}
	return c
}

// reserve makes sure that only one of several concurrent attempts continues after a wait.
func (a *attempt) reserve(ctx context.Context) error {
	if a.stale {
		if err := a.l.db.View(ctx, func(tx *store.Tx) error { return a.counts.Read(ctx, tx, a.l.waitNow()) }); err != nil {
			return err
		}
		if err := a.counts.Limit(a.l.waitNow()); err != nil {
			return err
		}
	}
	return a.counts.Reserve(ctx, a.l.db, a.l.waitNow())
}

// record records the outcome of a login, and its session when it succeeds. The record has the stored names of the account, not the
// typed ones: users may type a password into the wrong field.
func (a *attempt) record(ctx context.Context, matches bool, newHash string) (store.Session, error) {
	now := a.l.now()
	session := a.l.newSession(a.org, a.origin, now)
	session.UserUID, session.Email, session.Role = a.user.UID, a.user.Email, a.user.Role
	record := audit.Record{UID: audit.NewUID(), At: now, OrgUID: a.org.UID, ActorUID: a.user.UID, ActorName: a.user.Email,
		Method: audit.MethodPassword, Action: audit.Login, Origin: a.origin}
	refusal, alert := "", false
	err := a.l.db.InTx(ctx, func(tx *store.Tx) (err error) {
		if refusal, err = a.storeLogin(ctx, tx, session, matches, newHash); err != nil {
			return err
		}
		record.Outcome, record.Reason, record.Object = audit.Succeeded, refusal, session.UID
		if refusal != "" {
			record.Outcome, record.Object = audit.Refused, ""
		}
		accepted := slices.Contains([]string{"", refusedExpired, refusedNext, refusedWithoutCode}, refusal)
		if alert, err = a.count(ctx, tx, accepted, now); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, record)
	})
	if err == nil && alert {
		a.warn()
	}
	switch {
	case err != nil:
	case refusal == refusedWithoutCode:
		err = a.pending
	case refusal == refusedExpired:
		err = passwordExpired()
	case refusal == refusedNext:
		err = a.nextRefused
	case refusal != "":
		err = loginRefused()
	}
	return session, err
}

// warn logs an alert.
func (a *attempt) warn() {
	if a.l.config.Log != nil {
		a.l.config.Log.Warn("login throttled", "user", a.user.UID, "org", a.user.OrgUID, "failures", throttle.AlertAfter)
	}
}

// Reasons for a refused login. Only the audit record of the organization has them.
const (
	refusedUnknownOrg  = "unknownOrganization"
	refusedUnknownUser = "unknownUser"
	refusedPassword    = "wrongPassword" // #nosec G101 -- a word, not a credential
	refusedDisabled    = "disabled"
	refusedExpired     = "passwordExpired" // #nosec G101 -- a word, not a credential
	refusedNext        = "newPassword"     // #nosec G101 -- a word: the password is right, the new one is against the policy
	refusedWithoutCode = "codeRequired"    // the password is right
)

// storeLogin returns the reason for refusing the login, "" if its session was stored. It runs the same statements in
// every case, so that the response time does not depend on the reason.
func (a *attempt) storeLogin(ctx context.Context, tx *store.Tx, session store.Session, matches bool, newHash string) (string, error) {
	policy, err := passwordpolicy.Of(a.org.PasswordPolicy)
	if err != nil {
		return "", err
	}
	expired := a.nextHash == "" && policy.Expired(a.user.PasswordChangedAt, session.CreatedAt)
	verified := "-" // matches no stored hash; "" is the hash of users without a password
	if matches && !expired && a.nextRefused == nil {
		verified = a.user.PasswordHash
	}
	stored, at := cmp.Or(a.nextHash, newHash), session.CreatedAt
	if a.needsCode() { // what completes the login notes it, and sets the next password
		stored, at = newHash, a.user.LastLoginAt
	}
	err = tx.Users.NoteLogin(ctx, a.user.UID, verified, stored, at)
	notStored := errors.Is(err, store.ErrNotFound)
	if err != nil && !notStored {
		return "", fmt.Errorf("store a login: %w", err)
	}
	switch {
	case a.org.UID == "":
		return refusedUnknownOrg, nil
	case a.user.UID == "":
		return refusedUnknownUser, nil
	case !matches:
		return refusedPassword, nil
	case notStored && !a.user.DisabledAt.IsZero(): // costs one hash like every login
		return refusedDisabled, nil
	case a.nextRefused != nil:
		return refusedNext, nil
	case expired:
		return refusedExpired, nil
	case notStored: // changed or disabled during hashing
		return "", errOvertaken
	case a.needsCode():
		return refusedWithoutCode, a.storePending(ctx, tx, stored, session.CreatedAt)
	}
	if err := a.noteRenewal(ctx, tx, session.CreatedAt); err != nil {
		return "", err
	}
	return "", insertSession(ctx, tx, session, a.reference)
}

// newSession returns a session in an organization that begins now, still without its user.
func (l *Logins) newSession(org store.Org, origin audit.Origin, now time.Time) store.Session {
	return store.Session{UID: uuid.NewString(), OrgUID: org.UID, OrgName: org.Name, Generation: 1, Address: origin.Address, CreatedAt: now,
		IdleUntil: now.Add(l.config.idleOf(org)), MaxUntil: now.Add(l.config.SessionMax)}
}

// insertSession stores a session, with the reference of that hash if it is not nil.
func insertSession(ctx context.Context, tx *store.Tx, session store.Session, reference []byte) error {
	if err := tx.Sessions.Insert(ctx, session); err != nil || reference == nil {
		return err
	}
	return tx.Sessions.InsertReference(ctx, session.UID, reference)
}

// count counts the outcome of an attempt in the transaction of its audit record, and records an alert after too many failures. A password
// that a second factor has to follow is no success: it would allow as many codes as passwords.
func (a *attempt) count(ctx context.Context, tx *store.Tx, accepted bool, now time.Time) (alert bool, err error) {
	if accepted && a.needsCode() {
		return false, a.counts.Return(ctx, tx)
	}
	if accepted {
		return false, a.counts.CountSuccess(ctx, tx, a.l.waitNow())
	}
	alert, err = a.counts.CountFailure(ctx, tx, a.l.waitNow())
	if err != nil || !alert || a.user.UID == "" {
		return false, err
	}
	return true, tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: now, OrgUID: a.user.OrgUID, ActorUID: a.user.UID,
		ActorName: a.user.Email, Method: audit.MethodPassword, Action: audit.LoginAlert, Object: a.user.UID, Outcome: audit.Refused,
		Reason: reasonGuessing, Origin: a.origin})
}

const reasonGuessing = "tooManyFailures"

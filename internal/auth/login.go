package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth/changehistory"
	"github.com/regwarden/regwarden/internal/fairqueue"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// Credentials are the input of Login.
type Credentials struct {
	Email, Org string
	Password   secret.String
	Undecoded  []fault.Field // decoding problems, returned together with the others
	reference  []byte        // SHA-256 of the reference that the session gets; nil for none
}

// Tokens are the result of a login or refresh. ExpiresAt is the end of Authorization. Refresh is empty when an
// authorization token was exchanged.
type Tokens struct {
	Authorization, Refresh secret.String
	ExpiresAt              time.Time
}

// problems lists all problems of the credentials, regardless of any account.
func (c Credentials) problems() []fault.Field {
	return fault.Join(c.Undecoded, slices.Concat(
		fault.FieldProblem("emailId", lookupProblem(c.Email)),
		fault.FieldProblem("org", lookupProblem(c.Org)),
		fault.FieldProblem("password", passwordProblem(c.Password))))
}

// account is what a login found for the given names; unknown parts are empty.
type account struct {
	org  store.Org
	user store.User
}

// Login creates a session and returns its first tokens.
//
// Faults: Invalid with fields emailId, org, password; Unauthenticated (one response for unknown organization, unknown
// user, wrong password and disabled user, at one cost); Limited after too many failures; Unavailable when too many log
// in at once or the store does not respond.
func (s *Service) Login(ctx context.Context, origin audit.Origin, c Credentials) (Tokens, error) {
	at := s.cache.Position()
	session, err := s.logIn(ctx, origin, c)
	if err != nil {
		return Tokens{}, err
	}
	return s.issue(session, at)
}

// LoginConsole is Login for a browser. The session has no tokens, only a reference, which AuthenticateConsole accepts as
// long as the session is live. The store has its hash. It ends, without use, at the absolute end of the session.
func (s *Service) LoginConsole(ctx context.Context, origin audit.Origin, c Credentials) (reference secret.String, end time.Time, err error) {
	reference, c.reference = newRandomKey(referencePrefix)
	session, err := s.logIn(ctx, origin, c)
	if err != nil {
		return "", time.Time{}, err
	}
	return reference, session.MaxUntil, nil
}

// logIn creates a session.
func (s *Service) logIn(ctx context.Context, origin audit.Origin, c Credentials) (store.Session, error) {
	if c.Org == "" {
		c.Org = s.config.DefaultOrg
	}
	if problems := c.problems(); len(problems) > 0 {
		return store.Session{}, fault.InvalidFields(problems...)
	}
	session, err := s.tryLogin(ctx, origin, c, false)
	if errors.Is(err, errOvertaken) {
		session, err = s.tryLogin(ctx, origin, c, true)
	}
	if errors.Is(err, errOvertaken) {
		return store.Session{}, passwordChanging()
	}
	return session, err
}

// errOvertaken ends a login whose verified hash is no longer the stored one: the password was changed, or a concurrent
// login stored a new hash of it.
var errOvertaken = errors.New("the stored password hash has changed")

// passwordChanging is the fault of a caller that was overtaken twice.
func passwordChanging() error {
	return fault.Busy("Your password is being changed by another request. Try again.", time.Second)
}

// tryLogin makes one attempt. reserved reports whether the throttle has already admitted it.
func (s *Service) tryLogin(ctx context.Context, origin audit.Origin, c Credentials, reserved bool) (store.Session, error) {
	found, attempt, err := s.lookUpAccount(ctx, origin, c)
	if err != nil {
		return store.Session{}, err
	}
	admit := attempt.reserve
	if reserved {
		admit = fairqueue.AdmitAlways
	} else if err := attempt.check(); err != nil {
		return store.Session{}, s.passwords.bulk.Refuse(ctx, err)
	}
	matches, newHash, err := s.passwords.verify(ctx, attempt.hashCaller(), c.Password, found.user.PasswordHash, admit)
	if err != nil {
		return store.Session{}, err
	}
	session, err := s.beginSession(ctx, origin, attempt, found, matches, newHash)
	if err != nil {
		return store.Session{}, err
	}
	if session == nil {
		return store.Session{}, loginRefused()
	}
	return *session, nil
}

// lookUpAccount reads the account and its throttle state, with the same queries for unknown names.
func (s *Service) lookUpAccount(ctx context.Context, origin audit.Origin, c Credentials) (found account, attempt *loginAttempt, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		if found.org, err = tx.Orgs.ByName(ctx, Canonical(c.Org)); err == nil || errors.Is(err, store.ErrNotFound) {
			found.user, err = tx.Users.ByEmail(ctx, found.org.UID, Canonical(c.Email))
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("look up the account: %w", err)
		}
		attempt = s.newAttempt(origin, c, found.user)
		return attempt.read(ctx, tx)
	})
	return found, attempt, err
}

// beginSession records the outcome of a login, and its session when it succeeds. No session and no error means that the
// login was refused, counted and recorded. The record has the stored names of the account, not the typed ones: users
// may type a password into the wrong field.
func (s *Service) beginSession(ctx context.Context, origin audit.Origin, attempt *loginAttempt, found account, matches bool, newHash string) (*store.Session, error) {
	now := s.now()
	session := store.Session{UID: uuid.NewString(), OrgUID: found.org.UID, UserUID: found.user.UID, Generation: 1, Address: origin.Address,
		CreatedAt: now, IdleUntil: now.Add(s.config.SessionIdle), MaxUntil: now.Add(s.config.SessionMax),
		Email: found.user.Email, Role: found.user.Role, OrgName: found.org.Name}
	record := audit.Record{UID: audit.NewUID(), At: now, OrgUID: found.org.UID, ActorUID: found.user.UID, ActorName: found.user.Email,
		Method: audit.MethodPassword, Action: audit.Login, Origin: origin}
	accepted, alert := false, false
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		refusal, err := s.storeLogin(ctx, tx, session, found, matches, newHash)
		if err != nil {
			return err
		}
		accepted = refusal == ""
		record.Outcome, record.Reason, record.Object = audit.Refused, refusal, ""
		if accepted {
			record.Outcome, record.Object = audit.Succeeded, session.UID
			if err := attempt.storeReference(ctx, tx, session.UID); err != nil {
				return err
			}
		}
		if alert, err = s.recordAttempt(ctx, tx, origin, attempt, found.user, accepted, now); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, record)
	})
	if err == nil && alert {
		s.logAlert(found.user)
	}
	if err != nil || !accepted {
		return nil, err
	}
	return &session, nil
}

// recordAttempt counts the outcome of an attempt, and records an alert after too many failures.
func (s *Service) recordAttempt(ctx context.Context, tx *store.Tx, origin audit.Origin, attempt *loginAttempt, user store.User, accepted bool, now time.Time) (alert bool, err error) {
	if accepted {
		return false, attempt.recordSuccess(ctx, tx)
	}
	alert, err = attempt.recordFailure(ctx, tx)
	if err != nil || !alert || user.UID == "" {
		return false, err
	}
	return true, s.recordAlert(ctx, tx, origin, user, now)
}

// Reasons for a refused login. Only the audit record of the organization has them.
const (
	refusedUnknownOrg  = "unknownOrganization"
	refusedUnknownUser = "unknownUser"
	refusedPassword    = "wrongPassword" // #nosec G101 -- a word, not a credential
	refusedDisabled    = "disabled"
)

// storeLogin returns the reason for refusing the login, "" if its session was stored. It runs the same statements in
// every case, so that the response time does not depend on the reason.
func (s *Service) storeLogin(ctx context.Context, tx *store.Tx, session store.Session, found account, matches bool, newHash string) (string, error) {
	verified := "-" // matches no stored hash; "" is the hash of users without a password
	if matches {
		verified = found.user.PasswordHash
	}
	err := tx.Users.NoteLogin(ctx, found.user.UID, verified, newHash, session.CreatedAt)
	notStored := errors.Is(err, store.ErrNotFound)
	if err != nil && !notStored {
		return "", fmt.Errorf("store a login: %w", err)
	}
	switch {
	case found.org.UID == "":
		return refusedUnknownOrg, nil
	case found.user.UID == "":
		return refusedUnknownUser, nil
	case !matches:
		return refusedPassword, nil
	case notStored && !found.user.DisabledAt.IsZero(): // costs one hash like every login
		return refusedDisabled, nil
	case notStored: // changed or disabled during hashing
		return "", errOvertaken
	}
	return "", tx.Sessions.Insert(ctx, session)
}

// issue returns the tokens of a session, which was read at that position or later. It is called after the commit, so that the store
// knows every issued token. A token is remembered at its first use: otherwise clients that only refresh would displace the used ones.
func (s *Service) issue(session store.Session, at changehistory.Position) (Tokens, error) {
	uid, err := uuid.Parse(session.UID)
	if err != nil {
		return Tokens{}, fmt.Errorf("parse the uid of a session: %w", err)
	}
	keys := s.keySet()
	token, expires, err := s.sign(keys.signing, session, uuid.NewString(), s.now(), at)
	if err != nil {
		return Tokens{}, err
	}
	return Tokens{Authorization: token, Refresh: keys.refreshToken(uid, session.Generation), ExpiresAt: expires}, nil
}

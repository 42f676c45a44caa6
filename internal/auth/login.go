package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// Credentials are what a user signs in with.
type Credentials struct {
	Email, Org string
	Password   secret.String
}

// Tokens are the answer to a sign-in or refresh. ExpiresAt is the end of Authorization. Refresh is empty
// when an authorization token was exchanged.
type Tokens struct {
	Authorization, Refresh secret.String
	ExpiresAt              time.Time
}

// problems lists all that makes credentials unusable, whoever they belong to.
func (c Credentials) problems() []fault.Field {
	return append(append(
		fault.FieldProblem("emailId", lookupProblem(c.Email)),
		fault.FieldProblem("org", lookupProblem(c.Org))...),
		fault.FieldProblem("password", passwordProblem(c.Password))...)
}

// account is what a sign-in found under the names it was given; parts that are unknown are empty.
type account struct {
	org  store.Org
	user store.User
	last bool // try
}

// Login signs a user in: it begins a session and returns its first tokens.
//
// Faults: Invalid with fields emailId, org, password; Unauthenticated (one answer for unknown
// organization, unknown user, wrong password and disabled user, at one cost); Limited after too many
// failures; Unavailable when too many sign in at once or the store is away.
func (s *Service) Login(ctx context.Context, origin audit.Origin, c Credentials) (Tokens, error) {
	if problems := s.Problems(c); len(problems) > 0 {
		return Tokens{}, fault.InvalidFields(problems...)
	}
	c = s.inOrg(c)
	tokens, err := s.signIn(ctx, origin, c, false)
	if errors.Is(err, errOvertaken) {
		tokens, err = s.signIn(ctx, origin, c, true)
	}
	return tokens, err
}

// errOvertaken ends a sign-in whose verified hash is another by now: the password was changed, or only hashed anew by
// another sign-in with it.
var errOvertaken = errors.New("the hash of the password is another by now")

// signIn tries once. The last try takes whatever overtakes it for a refusal.
func (s *Service) signIn(ctx context.Context, origin audit.Origin, c Credentials, last bool) (Tokens, error) {
	found, try, err := s.lookUp(ctx, origin, c)
	if err != nil {
		return Tokens{}, err
	}
	found.last = last
	take := try.take
	if last { // the try was taken before
		take = always
	} else if err := try.check(); err != nil {
		return Tokens{}, s.passwords.bulk.refuse(ctx, err)
	}
	matches, newHash, err := s.passwords.verify(ctx, try.caller(), c.Password, found.user.PasswordHash, take)
	if err != nil {
		return Tokens{}, err
	}
	session, err := s.beginSession(ctx, origin, try, found, matches, newHash)
	if err != nil {
		return Tokens{}, err
	}
	if session == nil {
		return Tokens{}, loginRefused()
	}
	return s.answer(*session)
}

// Problems lists all that keeps credentials from being tried, before and regardless of any look-up.
func (s *Service) Problems(c Credentials) []fault.Field { return s.inOrg(c).problems() }

// inOrg fills in the default organization where none is named.
func (s *Service) inOrg(c Credentials) Credentials {
	if c.Org == "" {
		c.Org = s.config.DefaultOrg
	}
	return c
}

// lookUp reads the account and its throttle state, with the same queries whatever is unknown.
func (s *Service) lookUp(ctx context.Context, origin audit.Origin, c Credentials) (found account, try passwordTry, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		if found.org, err = tx.Orgs.ByName(ctx, Canonical(c.Org)); err == nil || errors.Is(err, store.ErrNotFound) {
			found.user, err = tx.Users.ByEmail(ctx, found.org.UID, Canonical(c.Email))
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("look up the account: %w", err)
		}
		try = s.newTry(origin, c, found.user)
		try.state, err = tx.Throttling.Both(ctx, try.account, try.source, s.now())
		return fault.Wrap("look up failed logins", err)
	})
	return found, try, err
}

// beginSession records the outcome of a sign-in, and its session when it succeeds. No session and no
// error means that it was refused, which is counted and on record then. The record names the account as we
// know it, never as it was typed: what was typed may be a password in the wrong field.
func (s *Service) beginSession(ctx context.Context, origin audit.Origin, try passwordTry, found account, matches bool, newHash string) (*store.Session, error) {
	now := s.now()
	session := store.Session{UID: uuid.NewString(), OrgUID: found.org.UID, UserUID: found.user.UID, Generation: 1, Address: origin.Address,
		CreatedAt: now, IdleUntil: now.Add(s.config.SessionIdle), MaxUntil: now.Add(s.config.SessionMax),
		Email: found.user.Email, Role: found.user.Role, OrgName: found.org.Name}
	event := audit.Event{UID: audit.NewUID(), At: now, OrgUID: found.org.UID, ActorUID: found.user.UID, ActorName: found.user.Email,
		Method: audit.MethodPassword, Action: audit.Login, Origin: origin}
	accepted, alert := false, false
	err := s.db.InTx(ctx, func(tx *store.Tx) error {
		refusal, err := s.noteLogin(ctx, tx, session, found, matches, newHash)
		if err != nil {
			return err
		}
		accepted = refusal == ""
		event.Outcome, event.Reason, event.Object = audit.Refused, refusal, ""
		if accepted {
			event.Outcome, event.Object = audit.Succeeded, session.UID
		}
		if alert, err = s.countTry(ctx, tx, origin, try, found.user, accepted, now); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, event)
	})
	if err == nil && alert {
		s.logAlert(found.user)
	}
	if err != nil || !accepted {
		return nil, err
	}
	return &session, nil
}

// countTry counts the outcome of a try, and records when an account is being guessed at.
func (s *Service) countTry(ctx context.Context, tx *store.Tx, origin audit.Origin, try passwordTry, user store.User, accepted bool, now time.Time) (bool, error) {
	if accepted {
		return false, try.succeeded(ctx, tx, now)
	}
	alert, err := try.failed(ctx, tx, now)
	if err != nil || !alert || user.UID == "" {
		return false, err
	}
	return true, s.alert(ctx, tx, origin, user, now)
}

// Why a sign-in was refused. Only the organization's own audit record tells.
const (
	refusedUnknownOrg  = "unknownOrganization"
	refusedUnknownUser = "unknownUser"
	refusedPassword    = "wrongPassword" // #nosec G101 -- a word, not a credential
	refusedDisabled    = "disabled"
)

// noteLogin returns why the sign-in is refused, "" when its session was stored. It asks the store the same in
// each case, so that none is quicker.
func (s *Service) noteLogin(ctx context.Context, tx *store.Tx, session store.Session, found account, matches bool, newHash string) (string, error) {
	verified := "-" // the stored hash of no user: "" is that of users without a password
	if matches {
		verified = found.user.PasswordHash
	}
	err := tx.Users.NoteLogin(ctx, found.user.UID, verified, newHash, session.CreatedAt)
	unnoted := errors.Is(err, store.ErrNotFound)
	if err != nil && !unnoted {
		return "", fmt.Errorf("note a sign-in: %w", err)
	}
	switch {
	case found.org.UID == "":
		return refusedUnknownOrg, nil
	case found.user.UID == "":
		return refusedUnknownUser, nil
	case !matches:
		return refusedPassword, nil
	case unnoted && !found.last && found.user.DisabledAt.IsZero(): // who was disabled before costs one hash, as all do
		return "", errOvertaken
	case unnoted: // also when either happened while we hashed
		return refusedDisabled, nil
	}
	return "", tx.Sessions.Insert(ctx, session)
}

// answer makes the tokens of a session. It is called after the commit, so that no token is ever out that was
// not stored. The view learns of a token when it is used: a client that refreshes for ever would fill it with tokens
// that nobody uses.
func (s *Service) answer(session store.Session) (Tokens, error) {
	uid, err := uuid.Parse(session.UID)
	if err != nil {
		return Tokens{}, fmt.Errorf("read a session's uid: %w", err)
	}
	keys := s.keySet()
	token, expires, err := s.sign(keys.signing, session, uuid.NewString(), s.now())
	if err != nil {
		return Tokens{}, err
	}
	return Tokens{Authorization: token, Refresh: keys.refreshToken(uid, session.Generation), ExpiresAt: expires}, nil
}

package auth

import (
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/randomkey"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Vouched is a login without a password: another service, or another session of the user, vouches for the caller.
type Vouched struct {
	OrgUID    string
	Method    audit.AuthMethod // for the record
	Target    string           // for the record, such as the subject of a token
	Until     time.Time        // absolute end of the session; zero: that of the settings
	RecheckAt time.Time        // store.Session.RecheckAt

	// User returns the user, in the transaction of the login. An error refuses the login.
	User func(*store.Tx) (store.User, error)
	// Stored is called with the uid of the stored session, in the same transaction. It may be nil.
	Stored func(tx *store.Tx, session string) error
}

// ErrNoLogin is the error of a login of a user that does not exist or is disabled.
var ErrNoLogin = errors.New("the user may not log in")

// LoginWorkload creates a session and returns its only token. The session is at its end for every refresh.
func (l *Logins) LoginWorkload(ctx context.Context, origin audit.Origin, v Vouched) (Tokens, error) {
	v.Until = l.now()
	tokens, err := l.LoginVouched(ctx, origin, v)
	tokens.Refresh = ""
	return tokens, err
}

// LoginVouched creates a session and returns its first tokens. Errors of User and Stored are returned; ErrNoLogin.
func (l *Logins) LoginVouched(ctx context.Context, origin audit.Origin, v Vouched) (Tokens, error) {
	at := l.history.Position()
	session, err := l.logInVouched(ctx, origin, v, nil)
	if err != nil {
		return Tokens{}, err
	}
	return l.tokens.issue(session, at)
}

// LoginVouchedConsole is LoginVouched for a browser, with the results of LoginConsole.
func (l *Logins) LoginVouchedConsole(ctx context.Context, origin audit.Origin, v Vouched) (
	reference secret.String, end time.Time, err error) {
	reference, hash := randomkey.New(referencePrefix)
	session, err := l.logInVouched(ctx, origin, v, hash)
	if err != nil {
		return "", time.Time{}, err
	}
	return reference, session.MaxUntil, nil
}

func (l *Logins) logInVouched(ctx context.Context, origin audit.Origin, v Vouched, reference []byte) (store.Session, error) {
	now := l.now()
	var session store.Session
	err := l.db.InTx(ctx, func(tx *store.Tx) error {
		var user store.User
		org, err := tx.Orgs.Get(ctx, v.OrgUID)
		if err == nil {
			session = l.vouchedSession(v, org, origin, now)
			user, err = v.User(tx)
		}
		if err == nil { // locks the row, as a login with a password does
			err = tx.Users.NoteLogin(ctx, user.UID, user.PasswordHash, user.PasswordHash, now)
		}
		if errors.Is(err, store.ErrNotFound) {
			return ErrNoLogin
		}
		if err != nil {
			return err
		}
		session.UserUID, session.Email, session.Role = user.UID, user.Email, user.Role
		err = insertSession(ctx, tx, session, reference)
		if err == nil && v.Stored != nil {
			err = v.Stored(tx, session.UID)
		}
		if err != nil {
			return err
		}
		return tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: now, OrgUID: org.UID, ActorUID: user.UID,
			ActorName: user.Email, Method: v.Method, Action: audit.Login, Object: session.UID, Target: v.Target,
			Outcome: audit.Succeeded, Origin: origin})
	})
	return session, fault.Wrap("log in", err)
}

// vouchedSession is newSession within the bounds of a login.
func (l *Logins) vouchedSession(v Vouched, org store.Org, origin audit.Origin, now time.Time) store.Session {
	session := l.newSession(org, origin, now)
	session.RecheckAt = v.RecheckAt
	if !v.Until.IsZero() {
		session.MaxUntil = earlier(v.Until, session.MaxUntil)
		session.IdleUntil = earlier(session.MaxUntil, session.IdleUntil)
	}
	return session
}

package auth

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Workload is a program that a trusted issuer vouches for. It acts as the user of a trust rule.
type Workload struct {
	UserUID string
	Org     store.Org
	Subject string                // of the issuer's token, for the record
	Admit   func(*store.Tx) error // called in the transaction of the login; an error refuses it
}

// ErrNoLogin is the error of a login of a user that does not exist or is disabled.
var ErrNoLogin = errors.New("the user may not log in")

// LoginWorkload creates a session and returns its only token. The session is at its end for every refresh.
func (l *Logins) LoginWorkload(ctx context.Context, origin audit.Origin, w Workload) (Tokens, error) {
	now, at := l.now(), l.history.Position()
	session := store.Session{UID: uuid.NewString(), OrgUID: w.Org.UID, UserUID: w.UserUID, Generation: 1, Address: origin.Address,
		CreatedAt: now, IdleUntil: now, MaxUntil: now, OrgName: w.Org.Name}
	err := l.db.InTx(ctx, func(tx *store.Tx) error {
		user, err := tx.Users.Get(ctx, w.Org.UID, w.UserUID)
		if err == nil {
			err = tx.Users.NoteLogin(ctx, user.UID, user.PasswordHash, user.PasswordHash, now)
		}
		if errors.Is(err, store.ErrNotFound) {
			return ErrNoLogin
		}
		if err == nil {
			err = w.Admit(tx)
		}
		if err != nil {
			return err
		}
		session.Email, session.Role = user.Email, user.Role
		if err := tx.Sessions.Insert(ctx, session); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, audit.Record{UID: audit.NewUID(), At: now, OrgUID: w.Org.UID, ActorUID: user.UID,
			ActorName: user.Email, Method: audit.MethodOIDC, Action: audit.Login, Object: session.UID, Target: w.Subject,
			Outcome: audit.Succeeded, Origin: origin})
	})
	if err != nil {
		return Tokens{}, fault.Wrap("log a workload in", err)
	}
	tokens, err := l.tokens.issue(session, at)
	tokens.Refresh = ""
	return tokens, err
}

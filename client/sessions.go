package client

import (
	"context"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/secret"
)

// Sessions has the operations on the sessions of the caller.
type Sessions struct{ c *Client }

// List returns the active sessions.
func (s Sessions) List(ctx context.Context) ([]api.Session, error) {
	found, err := read[api.Sessions](ctx, s.c, request{path: api.PathMySessions})
	return found.Items, err
}

// End ends a session.
func (s Sessions) End(ctx context.Context, uid string) error {
	return s.c.delete(ctx, api.PathMySession, uid)
}

// RevokeTokens ends the sessions of authorization and refresh tokens: all of them, or none if one is not valid.
func (s Sessions) RevokeTokens(ctx context.Context, tokens ...secret.String) error {
	return s.c.do(ctx, request{method: http.MethodPost, path: api.PathRevokeTokens, in: api.RevokeTokens{Tokens: tokens}}, nil)
}

// RevokeAll ends all sessions, that of the client last.
func (s Sessions) RevokeAll(ctx context.Context) error {
	own := ""
	for others := true; others; { // a list has the newest 1,000 only
		sessions, err := s.List(ctx)
		if err != nil {
			return err
		}
		others = false
		for _, session := range sessions {
			if session.Status.IsCurrent {
				own = session.Metadata.UID
				continue
			}
			others = true
			if err := s.End(ctx, session.Metadata.UID); err != nil && !refusedWith(err, http.StatusNotFound) { // 404: it has ended
				return err
			}
		}
	}
	if own == "" {
		return nil
	}
	token, err := s.c.auth.current(ctx)
	if err != nil {
		return err
	}
	// 401: the first attempt of a repeated request ended it. To renew the token then could begin another session.
	err = s.c.send(ctx, request{method: http.MethodDelete, path: api.PathMySession, args: []string{own}}, token, nil)
	if refusedWith(err, http.StatusUnauthorized) {
		return nil
	}
	return err
}

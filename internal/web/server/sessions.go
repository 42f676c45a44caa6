package server

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
)

// sessionHandlers handles the routes of sessions.
type sessionHandlers struct{ auth *auth.Service }

// listSessions is GET /v1/users/me/sessions.
func (h sessionHandlers) listSessions(c *call) (response, error) {
	sessions, err := h.auth.Sessions.List(c.Context(), c.principal)
	items := make([]api.Session, len(sessions))
	for i, one := range sessions {
		items[i] = api.Session{
			Metadata: api.Metadata{UID: one.UID, Name: one.Address, CreationTimestamp: one.CreatedAt},
			Status:   api.SessionStatus{IsCurrent: one.Current, LastUsed: one.LastUsedAt, Expiry: one.ExpiresAt},
		}
	}
	return response{http.StatusOK, api.Sessions{Items: items}}, err
}

// endSession is DELETE /v1/users/me/sessions/{uid}.
func (h sessionHandlers) endSession(c *call) (response, error) {
	return response{status: http.StatusNoContent}, h.auth.Sessions.End(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

// revokeTokens is POST /v1/users/auth/tokens/revoke.
func (h sessionHandlers) revokeTokens(c *call) (response, error) {
	var body api.RevokeTokens
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.auth.Sessions.RevokeTokens(c.Context(), c.principal, c.origin, body.Tokens)
}

package server

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
)

// listSessions is GET /v1/users/me/sessions.
func (s *Server) listSessions(c *call) (response, error) {
	sessions, err := s.Auth.Sessions.List(c.Context(), c.principal)
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
func (s *Server) endSession(c *call) (response, error) {
	return response{status: http.StatusNoContent}, s.Auth.Sessions.End(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

// revokeTokens is POST /v1/users/auth/tokens/revoke.
func (s *Server) revokeTokens(c *call) (response, error) {
	var body api.RevokeTokens
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, s.Auth.Sessions.RevokeTokens(c.Context(), c.principal, c.origin, body.Tokens)
}

package server

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
)

var apiKeyFields = fieldNames{"name": "metadata.name", "expiresAt": "spec.expiry", "user": "spec.userUid"}

// createAPIKey is POST /v1/apiKeys.
func (s *Server) createAPIKey(c *call) (response, error) {
	input, err := s.readAPIKey(c)
	if err != nil {
		return response{}, err
	}
	created, key, err := s.Auth.APIKeys.Create(c.Context(), c.principal, c.origin, input)
	return response{http.StatusCreated, api.CreatedAPIKey{APIKey: key.Reveal(), UID: created.UID}}, apiKeyFields.err(err)
}

// readAPIKey reads the request. The uid of the tenant in place of a user's means the caller: a public client sends it.
func (s *Server) readAPIKey(c *call) (input auth.NewAPIKey, err error) {
	var body api.APIKeyRequest
	err = c.read(&body, func() []fault.Field {
		expires, problems := moment("spec.expiry", body.Spec.Expiry)
		input = auth.NewAPIKey{User: body.Spec.UserUID, Name: body.Metadata.Name, ExpiresAt: expires}
		if input.User == c.principal.OrgUID {
			input.User = ""
		}
		return fault.Join(problems, apiKeyFields.in(s.Auth.APIKeys.Problems(c.principal, input)))
	})
	return input, err
}

// listAPIKeys is GET /v1/apiKeys.
func (s *Server) listAPIKeys(c *call) (response, error) {
	return listOf(http.StatusOK, func(after auth.APIKey) ([]auth.APIKey, bool, error) {
		return s.Auth.APIKeys.List(c.Context(), c.principal, "", after)
	}, func(key auth.APIKey) any { return apiKey(key) })
}

// getAPIKey is GET /v1/apiKeys/{uid}.
func (s *Server) getAPIKey(c *call) (response, error) {
	key, err := s.Auth.APIKeys.Get(c.Context(), c.principal, c.PathValue("uid"))
	return response{http.StatusOK, apiKey(key)}, err
}

func apiKey(k auth.APIKey) api.APIKey {
	return api.APIKey{
		Metadata: api.Metadata{UID: k.UID, Name: k.Name, CreationTimestamp: k.CreatedAt},
		Spec:     api.APIKeySpec{Prefix: k.Prefix, Expiry: k.ExpiresAt, User: api.APIKeyUser{UID: k.UserUID, EmailID: k.Email}},
		Status:   api.APIKeyStatus{IsActive: k.Active, LastUsed: k.LastUsedAt},
	}
}

// updateAPIKey is PUT /v1/apiKeys/{uid}: name, expiry or both. Public clients send fields that they do not change as
// empty, or not at all.
func (s *Server) updateAPIKey(c *call) (response, error) {
	var body api.APIKeyRequest
	var change auth.APIKeyChange
	err := c.read(&body, func() []fault.Field {
		expires, problems := moment("spec.expiry", body.Spec.Expiry)
		if !expires.IsZero() {
			change.ExpiresAt = &expires
		}
		if body.Metadata.Name != "" {
			change.Name = &body.Metadata.Name
		}
		if change == (auth.APIKeyChange{}) {
			problems = fault.Join(problems, fault.FieldProblem("metadata.name", "or spec.expiry is required"))
		}
		return fault.Join(problems, apiKeyFields.in(s.Auth.APIKeys.ChangeProblems(change)))
	})
	if err != nil {
		return response{}, err
	}
	return s.changeAPIKey(c, change)
}

// setAPIKeyState is PATCH /v1/apiKeys/{uid} and PUT /v1/apiKeys/{uid}/state.
func (s *Server) setAPIKeyState(c *call) (response, error) {
	var body api.APIKeyState
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return response{}, err
	}
	return s.changeAPIKey(c, auth.APIKeyChange{Active: &body.IsActive})
}

func (s *Server) changeAPIKey(c *call, change auth.APIKeyChange) (response, error) {
	_, err := s.Auth.APIKeys.Update(c.Context(), c.principal, c.origin, c.PathValue("uid"), change)
	return response{status: http.StatusNoContent}, apiKeyFields.err(err)
}

// deleteAPIKey is DELETE /v1/apiKeys/{uid}.
func (s *Server) deleteAPIKey(c *call) (response, error) {
	return response{status: http.StatusNoContent}, s.Auth.APIKeys.Delete(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

// revokeAPIKey is POST /v1/apiKeys/revoke, which needs no credentials.
func (s *Server) revokeAPIKey(c *call) (response, error) {
	var body api.APIKeyRevocation
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, s.Auth.APIKeys.RevokePresented(c.Context(), c.origin, body.APIKey)
}

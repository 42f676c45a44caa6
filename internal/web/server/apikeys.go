package server

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/web/fieldnames"
)

var apiKeyFields = fieldNames{"name": "metadata.name", "expiresAt": "spec.expiry", "user": "spec.userUid",
	"scope": "spec.scope", "project": "spec.projectUid"}

// apiKeyHandlers handles the routes of API keys.
type apiKeyHandlers struct{ auth *auth.Service }

// createAPIKey is POST /v1/apiKeys.
func (h apiKeyHandlers) createAPIKey(c *call) (response, error) {
	input, err := h.readAPIKey(c)
	if err != nil {
		return response{}, err
	}
	created, key, err := h.auth.APIKeys.Create(c.Context(), c.principal, c.origin, input)
	return response{http.StatusCreated, api.CreatedAPIKey{APIKey: key.Reveal(), UID: created.UID}}, apiKeyFields.Err(err)
}

// readAPIKey reads the request. The uid of the tenant in place of a user's means the caller: a public client sends it.
func (h apiKeyHandlers) readAPIKey(c *call) (input auth.NewAPIKey, err error) {
	var body api.APIKeyRequest
	err = c.read(&body, func() []fault.Field {
		expires, problems := fieldnames.Moment("spec.expiry", body.Spec.Expiry)
		input = auth.NewAPIKey{User: body.Spec.UserUID, Name: body.Metadata.Name, ExpiresAt: expires,
			Limit: access.Limit{Scope: access.Scope(body.Spec.Scope), Project: body.Spec.ProjectUID}}
		if input.User == c.principal.OrgUID {
			input.User = ""
		}
		return fault.Join(problems, apiKeyFields.In(h.auth.APIKeys.Problems(c.principal, input)))
	})
	return input, err
}

// listAPIKeys is GET /v1/apiKeys.
func (h apiKeyHandlers) listAPIKeys(c *call) (response, error) {
	return listOf(func(after auth.APIKey) ([]auth.APIKey, bool, error) {
		return h.auth.APIKeys.List(c.Context(), c.principal, after)
	}, func(key auth.APIKey) any { return apiKey(key) })
}

// getAPIKey is GET /v1/apiKeys/{uid}.
func (h apiKeyHandlers) getAPIKey(c *call) (response, error) {
	key, err := h.auth.APIKeys.Get(c.Context(), c.principal, c.PathValue("uid"))
	return response{http.StatusOK, apiKey(key)}, err
}

func apiKey(k auth.APIKey) api.APIKey {
	return api.APIKey{
		Metadata: api.Metadata{UID: k.UID, Name: k.Name, CreationTimestamp: k.CreatedAt},
		Spec: api.APIKeySpec{Prefix: k.Prefix, Expiry: k.ExpiresAt, User: api.APIKeyUser{UID: k.UserUID, EmailID: k.Email},
			Scope: string(k.Limit.Scope), ProjectUID: k.Limit.Project},
		Status: api.APIKeyStatus{IsActive: k.Active, LastUsed: k.LastUsedAt},
	}
}

// updateAPIKey is PUT /v1/apiKeys/{uid}: name, expiry or both. Public clients send fields that they do not change as
// empty, or not at all.
func (h apiKeyHandlers) updateAPIKey(c *call) (response, error) {
	var body api.APIKeyRequest
	var change auth.APIKeyChange
	err := c.read(&body, func() []fault.Field {
		expires, problems := fieldnames.Moment("spec.expiry", body.Spec.Expiry)
		if !expires.IsZero() {
			change.ExpiresAt = &expires
		}
		if body.Metadata.Name != "" {
			change.Name = &body.Metadata.Name
		}
		if change == (auth.APIKeyChange{}) {
			problems = fault.Join(problems, fault.FieldProblem("metadata.name", "or spec.expiry is required"))
		}
		return fault.Join(problems, apiKeyFields.In(h.auth.APIKeys.ChangeProblems(change)))
	})
	if err != nil {
		return response{}, err
	}
	return h.changeAPIKey(c, change)
}

// setAPIKeyState is PATCH /v1/apiKeys/{uid} and PUT /v1/apiKeys/{uid}/state.
func (h apiKeyHandlers) setAPIKeyState(c *call) (response, error) {
	var body api.APIKeyState
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return response{}, err
	}
	return h.changeAPIKey(c, auth.APIKeyChange{Active: &body.IsActive})
}

func (h apiKeyHandlers) changeAPIKey(c *call, change auth.APIKeyChange) (response, error) {
	_, err := h.auth.APIKeys.Update(c.Context(), c.principal, c.origin, c.PathValue("uid"), change)
	return response{status: http.StatusNoContent}, apiKeyFields.Err(err)
}

// deleteAPIKey is DELETE /v1/apiKeys/{uid}.
func (h apiKeyHandlers) deleteAPIKey(c *call) (response, error) {
	return response{status: http.StatusNoContent}, h.auth.APIKeys.Delete(c.Context(), c.principal, c.origin, c.PathValue("uid"))
}

// revokeAPIKey is POST /v1/apiKeys/revoke, which needs no credentials.
func (h apiKeyHandlers) revokeAPIKey(c *call) (response, error) {
	var body api.APIKeyRevocation
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.auth.APIKeys.RevokePresented(c.Context(), c.origin, body.APIKey)
}

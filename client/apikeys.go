package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/secret"
)

// APIKeys has the operations on API keys.
type APIKeys struct{ c *Client }

// List returns the keys of the caller, and for an administrator those of the organization.
func (k APIKeys) List(ctx context.Context) iter.Seq2[api.APIKey, error] {
	return list(ctx, k.c, request{path: api.PathAPIKeys}, func(page *api.APIKeys) []api.APIKey { return page.Items })
}

// Get returns a key without its secret.
func (k APIKeys) Get(ctx context.Context, uid string) (*api.APIKey, error) {
	return fetch[api.APIKey](ctx, k.c, request{path: api.PathAPIKey, args: []string{uid}})
}

// Create creates a key. No other response contains its secret.
func (k APIKeys) Create(ctx context.Context, key api.APIKeyRequest) (*api.CreatedAPIKey, error) {
	return fetch[api.CreatedAPIKey](ctx, k.c, request{method: http.MethodPost, path: api.PathAPIKeys, in: key, creates: true})
}

// Update changes the name and the expiry of a key, unless they are empty.
func (k APIKeys) Update(ctx context.Context, uid string, change api.APIKeyRequest) error {
	return k.c.put(ctx, api.PathAPIKey, change, uid)
}

// SetActive activates or deactivates a key.
func (k APIKeys) SetActive(ctx context.Context, uid string, active bool) error {
	return k.c.put(ctx, api.PathAPIKeyState, api.APIKeyState{IsActive: active}, uid)
}

// Delete deletes a key.
func (k APIKeys) Delete(ctx context.Context, uid string) error {
	return k.c.delete(ctx, api.PathAPIKey, uid)
}

// Revoke deactivates the key with this secret. It needs no credentials, and succeeds if there is no such key.
func (k APIKeys) Revoke(ctx context.Context, key secret.String) error {
	return k.c.do(ctx, request{method: http.MethodPost, path: api.PathAPIKeyRevocation,
		in: api.APIKeyRevocation{APIKey: key}, anonymous: true}, nil)
}

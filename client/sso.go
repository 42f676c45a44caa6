package client

import (
	"context"

	"github.com/regwarden/regwarden/api"
)

// SSO has the operations on the identity provider of the organization, and on who its users are there.
type SSO struct{ c *Client }

// Get returns the identity provider. Without one, its issuer is empty.
func (s SSO) Get(ctx context.Context) (*api.SSO, error) {
	return fetch[api.SSO](ctx, s.c, request{path: api.PathSSO})
}

// Set replaces the identity provider. An empty or masked secret stays, if the issuer does.
func (s SSO) Set(ctx context.Context, spec api.SSOSpec) error {
	return s.c.put(ctx, api.PathSSO, api.SSORequest{Spec: spec})
}

// Delete deletes the identity provider. Sessions that began there end at their next check.
func (s SSO) Delete(ctx context.Context) error { return s.c.delete(ctx, api.PathSSO) }

// Identity returns who a user is at the provider, with an empty subject if that is not known.
func (s SSO) Identity(ctx context.Context, user string) (*api.UserIdentity, error) {
	return fetch[api.UserIdentity](ctx, s.c, request{path: api.PathUserIdentity, args: []string{user}})
}

// Link stores who a user is at the provider, and removes it with an empty subject.
func (s SSO) Link(ctx context.Context, user, subject string) error {
	return s.c.put(ctx, api.PathUserIdentity, api.UserIdentity{Subject: subject}, user)
}

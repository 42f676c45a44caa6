package client

import (
	"context"
	"net/http"

	"github.com/regwarden/regwarden/api"
)

// Tenants has the operations on settings of an organization, by its uid, which Whoami returns: those of public clients. SSO has more about
// the identity provider.
type Tenants struct{ c *Client }

// OIDC returns the identity provider. Without one, its issuer is empty.
func (t Tenants) OIDC(ctx context.Context, org string) (*api.TenantOIDC, error) {
	return setting[api.TenantOIDC](ctx, t, api.PathTenantOIDC, org)
}

// SetOIDC replaces the identity provider.
func (t Tenants) SetOIDC(ctx context.Context, org string, to api.TenantOIDC) error {
	return t.set(ctx, http.MethodPost, api.PathTenantOIDC, org, to)
}

// SAML returns the SAML configuration, which has no effect.
func (t Tenants) SAML(ctx context.Context, org string) (*api.TenantSAML, error) {
	return setting[api.TenantSAML](ctx, t, api.PathTenantSAML, org)
}

// SetSAML replaces the SAML configuration.
func (t Tenants) SetSAML(ctx context.Context, org string, to api.TenantSAML) error {
	return t.set(ctx, http.MethodPost, api.PathTenantSAML, org, to)
}

// Domains returns the domains of addresses that the identity provider may bring.
func (t Tenants) Domains(ctx context.Context, org string) (*api.TenantDomains, error) {
	return setting[api.TenantDomains](ctx, t, api.PathTenantDomains, org)
}

// SetDomains replaces the domains.
func (t Tenants) SetDomains(ctx context.Context, org string, to api.TenantDomains) error {
	return t.set(ctx, http.MethodPost, api.PathTenantDomains, org, to)
}

// Logins returns the logins by other services, which have no effect.
func (t Tenants) Logins(ctx context.Context, org string) (*api.TenantLogins, error) {
	return setting[api.TenantLogins](ctx, t, api.PathTenantLogins, org)
}

// SetLogins replaces the logins by other services.
func (t Tenants) SetLogins(ctx context.Context, org string, to api.TenantLogins) error {
	return t.set(ctx, http.MethodPost, api.PathTenantLogins, org, to)
}

// PasswordPolicy returns what the organization requires of passwords.
func (t Tenants) PasswordPolicy(ctx context.Context, org string) (*api.TenantPasswordPolicy, error) {
	return setting[api.TenantPasswordPolicy](ctx, t, api.PathTenantPasswords, org)
}

// SetPasswordPolicy replaces what the organization requires of passwords.
func (t Tenants) SetPasswordPolicy(ctx context.Context, org string, to api.TenantPasswordPolicy) error {
	return t.set(ctx, http.MethodPost, api.PathTenantPasswords, org, to)
}

// Tokens returns after how long without a refresh sessions of the organization end.
func (t Tenants) Tokens(ctx context.Context, org string) (*api.TenantTokens, error) {
	return setting[api.TenantTokens](ctx, t, api.PathTenantTokens, org)
}

// SetTokens replaces that time.
func (t Tenants) SetTokens(ctx context.Context, org string, to api.TenantTokens) error {
	return t.set(ctx, http.MethodPut, api.PathTenantTokens, org, to)
}

// setting returns a setting of an organization.
func setting[T any](ctx context.Context, t Tenants, path, org string) (*T, error) {
	return fetch[T](ctx, t.c, request{path: path, args: []string{org}})
}

func (t Tenants) set(ctx context.Context, method, path, org string, to any) error {
	return t.c.do(ctx, request{method: method, path: path, args: []string{org}, in: to}, nil)
}

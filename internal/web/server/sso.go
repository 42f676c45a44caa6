package server

import (
	"net/http"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/storage/identities"
)

var ssoFields = fieldNames{"issuer": "spec.issuer", "clientId": "spec.clientId", "clientSecret": "spec.clientSecret", "name": "spec.name",
	"scopes": "spec.scopes", "emailDomains": "spec.emailDomains", "claims": "spec.claims", "ca": "spec.ca",
	"syncSsoTeams": "spec.syncSsoTeams", "defaultTeams": "spec.defaultTeams"}

// ssoHandlers handles the routes of identity providers.
type ssoHandlers struct {
	directory directory.Providers
	sso       *federation.SSO
}

// getSSO is GET /v1/sso. Without a provider its issuer is empty, so that the addresses to register there can be read before.
func (h ssoHandlers) getSSO(c *call) (response, error) {
	p, err := h.directory.Provider(c.Context(), c.principal)
	s := p.Settings
	return response{http.StatusOK, api.SSO{Spec: api.SSOSpec{Issuer: p.Issuer, ClientID: s.ClientID, ClientSecret: p.Secret, Name: s.Name,
		Scopes: s.Scopes, EmailDomains: s.EmailDomains, EmailsVerified: s.EmailsVerified, Claims: s.Claims, CA: s.CA, Disabled: s.Disabled,
		SyncSSOTeams: s.SyncTeams, DefaultTeams: s.DefaultTeams},
		Status: api.SSOStatus{CallbackURL: h.sso.CallbackURL(p.OrgUID), LogoutURL: h.sso.LogoutURL(),
			APICallbackURL: h.sso.APICallbackURL(p.OrgUID), BackChannelLogoutURL: h.sso.BackChannelURL(p.OrgUID),
			LastModified: p.ChangedAt}}}, err
}

// setSSO is PUT /v1/sso.
func (h ssoHandlers) setSSO(c *call) (response, error) {
	var body api.SSORequest
	var input directory.Provider
	err := c.read(&body, func() []fault.Field {
		s := body.Spec
		input = directory.Provider{Issuer: s.Issuer, Secret: s.ClientSecret, Settings: identities.Settings{ClientID: s.ClientID,
			Name: s.Name, Scopes: s.Scopes, EmailDomains: s.EmailDomains, EmailsVerified: s.EmailsVerified, Claims: s.Claims, CA: s.CA,
			Disabled: s.Disabled, SyncTeams: s.SyncSSOTeams, DefaultTeams: s.DefaultTeams}}
		return ssoFields.In(h.directory.Problems(input))
	})
	if err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, ssoFields.Err(h.directory.Set(c.Context(), c.principal, c.origin, input))
}

// deleteSSO is DELETE /v1/sso.
func (h ssoHandlers) deleteSSO(c *call) (response, error) {
	return response{status: http.StatusNoContent}, h.directory.Delete(c.Context(), c.principal, c.origin)
}

// getIdentity is GET /v1/users/{uid}/identity.
func (h ssoHandlers) getIdentity(c *call) (response, error) {
	issuer, subject, err := h.directory.Identity(c.Context(), c.principal, c.PathValue("uid"))
	return response{http.StatusOK, api.UserIdentity{Issuer: issuer, Subject: subject}}, err
}

// setIdentity is PUT /v1/users/{uid}/identity.
func (h ssoHandlers) setIdentity(c *call) (response, error) {
	var body api.UserIdentity
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return response{}, err
	}
	return response{status: http.StatusNoContent}, h.directory.Link(c.Context(), c.principal, c.origin,
		c.PathValue("uid"), body.Subject)
}

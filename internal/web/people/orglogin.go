package people

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/secret"
)

const (
	orgLoginCookie = "regwarden-org-login" // of a login that a program has begun at an identity provider
	orgLoginPath   = "/v1/auth/org/"
	appEnv         = "self-hosted"
)

// orgLoginHandlers handles the routes of logins at identity providers for programs, by the names of Palette's API.
type orgLoginHandlers struct {
	sso      *federation.SSO
	reminder *alerts.OrgReminder
	count    func(error) // the outcome of a login
}

func (h orgLoginHandlers) operations() []Operation {
	none := func(Call) (int, any, error) { return http.StatusOK, []struct{}{}, nil }
	return []Operation{
		{Method: "GET", Path: api.PathOrgLogin, Handle: h.begin, Public: true},
		{Method: "GET", Path: api.PathOrgLogins, Handle: h.orgs},
		{Method: "GET", Path: api.PathOrgForgotten, Handle: h.forgotten, Public: true},
		{Method: "GET", Path: api.PathOrgLoginCallback, Handle: h.complete, Public: true},
		{Method: "GET", Path: api.PathOrgLoginLogout, Handle: afterLogout, Public: true},
		{Method: "POST", Path: api.PathBackChannelLogout, Handle: h.backChannelLogout, Public: true},
		{Method: "GET", Path: api.PathSSOLogins, Handle: none, Public: true},
		{Method: "GET", Path: api.PathSSOProviders, Handle: none, Public: true},
		{Method: "GET", Path: api.PathSSOIDPs, Handle: none, Public: true},
	}
}

// forgotten is GET /v1/auth/user/org/forgot. The response is the same for every address.
func (h orgLoginHandlers) forgotten(c Call) (int, any, error) {
	h.reminder.Request(c.Origin, c.URL.Query().Get("emailId"))
	return http.StatusNoContent, nil, nil
}

// begin is GET /v1/auth/org. For an organization with an identity provider it begins a login there.
func (h orgLoginHandlers) begin(c Call) (int, any, error) {
	org := c.URL.Query().Get("orgName")
	shown := api.OrgLogin{AuthType: api.AuthTypePassword, OrgName: org, AppEnv: appEnv, SSOLogins: []string{}, TotalTenants: 1}
	if public, err := url.Parse(h.sso.PublicURL()); err == nil {
		shown.RootDomain = public.Hostname()
	}
	offer, _, err := h.sso.Offer(c.Context(), org)
	if err != nil || offer.Name == "" {
		return http.StatusOK, shown, err
	}
	begun, err := h.sso.BeginAPI(c.Context(), c.Origin, org)
	if err != nil {
		return 0, nil, err
	}
	h.setCookie(c, begun.Cookie.Reveal(), begun.Ends)
	shown.AuthType, shown.RedirectURL, shown.OrgName = api.AuthTypeSSO, begun.URL, offer.Org
	return http.StatusOK, shown, nil
}

// setCookie sets the cookie of a login, and removes it if the value is empty.
func (h orgLoginHandlers) setCookie(c Call, value string, ends time.Time) {
	// #nosec G124 -- Secure is set when browsers use TLS
	cookie := &http.Cookie{Name: orgLoginCookie, Value: value, Path: orgLoginPath, Expires: ends, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(h.sso.PublicURL(), "https:")}
	if value == "" {
		cookie.Expires, cookie.MaxAge = time.Time{}, -1
	}
	c.Header.Add("Set-Cookie", cookie.String())
}

// orgs is GET /v1/auth/orgs.
func (h orgLoginHandlers) orgs(c Call) (int, any, error) {
	org := api.OrgLoginOf{Name: c.Principal.OrgName, AuthType: api.AuthTypePassword, SSOLogins: []string{}}
	offer, _, err := h.sso.Offer(c.Context(), c.Principal.OrgName)
	if offer.Name != "" {
		org.AuthType, org.RedirectURL = api.AuthTypeSSO, h.sso.PublicURL()+"/console/sso?"+url.Values{"org": {offer.Org}}.Encode()
	}
	return http.StatusOK, api.OrgLogins{Organizations: []api.OrgLoginOf{org}}, err
}

// complete is GET /v1/auth/org/{org}/oidc/callback, where the provider sends what follows redirects with the cookie of begin.
func (h orgLoginHandlers) complete(c Call) (int, any, error) {
	encrypted := ""
	if cookie, err := c.Cookie(orgLoginCookie); err == nil {
		encrypted = cookie.Value
	}
	h.setCookie(c, "", time.Time{}) // of use once
	tokens, err := h.sso.CompleteAPI(c.Context(), c.Origin, c.PathValue("org"), c.URL.Query(), secret.String(encrypted))
	h.count(err)
	return http.StatusOK, api.AuthenticateResponse{Authorization: tokens.Authorization.Reveal(), RefreshToken: tokens.Refresh.Reveal()}, err
}

// afterLogout is GET /v1/auth/org/{org}/oidc/logout, where a provider may lead after its logout.
func afterLogout(Call) (int, any, error) { return http.StatusNoContent, nil, nil }

// backChannelLogout is POST /v1/auth/org/{org}/oidc/backchannel-logout, which the provider calls.
func (h orgLoginHandlers) backChannelLogout(c Call) (int, any, error) {
	form, err := c.Form()
	if err == nil {
		err = h.sso.BackChannelLogout(c.Context(), c.Origin, c.PathValue("org"), secret.String(form.Get("logout_token")))
	}
	return http.StatusOK, struct{}{}, err
}

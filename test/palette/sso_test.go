package palette_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/testca"
)

// ssoConfig is the resource of single sign-on as a Terraform file has it. Domains, providers, teams and scopes are sets.
type ssoConfig struct {
	Type                   string // none, saml or oidc
	Domains, AuthProviders []string
	OIDC                   oidcConfig
	SAML                   samlConfig
}

type oidcConfig struct {
	Issuer, CA, ClientID, Secret string
	Teams, Scopes                []string
	Claims                       readClaims
	UserInfo                     *readClaims
}

type samlConfig struct {
	ServiceProvider, Metadata, NameIDFormat string
	SingleLogout                            bool
	Teams                                   []string
}

// The models of the SDK. What the provider dereferences unasked is a pointer.
type (
	readClaims struct {
		Email       string `json:"Email"`
		FirstName   string `json:"FirstName"`
		LastName    string `json:"LastName"`
		SpectroTeam string `json:"SpectroTeam"`
	}
	oidcSpec struct {
		CallbackURL  string   `json:"callbackUrl"`
		ClientID     string   `json:"clientId"`
		ClientSecret string   `json:"clientSecret"`
		DefaultTeams []string `json:"defaultTeams"`
		IsSsoEnabled bool     `json:"isSsoEnabled"`
		IssuerTLS    *struct {
			CA                 string `json:"caCertificateBase64"`
			InsecureSkipVerify *bool  `json:"insecureSkipVerify"`
		} `json:"issuerTls"`
		IssuerURL       string      `json:"issuerUrl"`
		LogoutURL       string      `json:"logoutUrl"`
		RequiredClaims  *readClaims `json:"requiredClaims"`
		Scopes          []string    `json:"scopes"`
		ScopesDelimiter string      `json:"scopesDelimiter"`
		SyncSsoTeams    bool        `json:"syncSsoTeams"`
		UserInfo        *struct {
			Claims      *readClaims `json:"claims"`
			UseUserInfo *bool       `json:"useUserInfo"`
		} `json:"userInfo"`
	}
	samlAttribute struct {
		AttributeValue  string `json:"attributeValue"`
		MappedAttribute string `json:"mappedAttribute"`
		Name            string `json:"name"`
		NameFormat      string `json:"nameFormat"`
	}
	samlSpec struct {
		Attributes            []*samlAttribute `json:"attributes"`
		DefaultTeams          []string         `json:"defaultTeams"`
		FederationMetadata    string           `json:"federationMetadata"`
		IdentityProvider      string           `json:"identityProvider"`
		IsSingleLogoutEnabled bool             `json:"isSingleLogoutEnabled,omitempty"`
		IsSsoEnabled          bool             `json:"isSsoEnabled,omitempty"`
		NameIDFormat          string           `json:"nameIdFormat"`
		SyncSsoTeams          bool             `json:"syncSsoTeams,omitempty"`
	}
	domainsSpec struct {
		Domains []string `json:"domains"`
	}
	loginsSpec struct {
		IsEnabled bool     `json:"isEnabled"`
		SSOLogins []string `json:"ssoLogins"`
	}
)

// tenant returns the path of the organization: each action asks first who calls.
func (p *provider) tenant() string {
	p.wire.t.Helper()
	var info struct{ TenantUID string }
	p.must(get("/v1/users/info"), &info)
	return "/v1/tenants/" + info.TenantUID
}

func (c oidcConfig) spec(was oidcSpec) map[string]any {
	claims := map[string]any{"useUserInfo": c.UserInfo != nil}
	if c.UserInfo != nil {
		claims["claims"] = c.UserInfo
	}
	return map[string]any{"callbackUrl": was.CallbackURL, "clientId": c.ClientID, "clientSecret": c.Secret, "defaultTeams": c.Teams,
		"isSsoEnabled": true, "issuerTls": map[string]any{"caCertificateBase64": c.CA, "insecureSkipVerify": false},
		"issuerUrl": c.Issuer, "logoutUrl": was.LogoutURL, "requiredClaims": c.Claims, "scopes": c.Scopes, "scopesDelimiter": "",
		"syncSsoTeams": true, "userInfo": claims}
}

func (c samlConfig) spec() samlSpec {
	s := samlSpec{DefaultTeams: c.Teams, FederationMetadata: base64.StdEncoding.EncodeToString([]byte(c.Metadata)),
		IdentityProvider: c.ServiceProvider, IsSingleLogoutEnabled: c.SingleLogout, IsSsoEnabled: true, NameIDFormat: c.NameIDFormat,
		SyncSsoTeams: true}
	for _, name := range []string{"FirstName", "LastName", "Email", "SpectroTeam"} {
		s.Attributes = append(s.Attributes, &samlAttribute{"[" + name + "]", name, name,
			"urn:oasis:names:tc:SAML:2.0:attrname-format:unspecified"})
	}
	return s
}

// applySSO is create and update. A destroy is one of the type none, and so is what it sends.
func (p *provider) applySSO(c ssoConfig, was oidcSpec) {
	p.wire.t.Helper()
	tenant := p.tenant()
	switch c.Type {
	case "none":
		p.disableSSO(tenant)
	case "saml":
		p.must(post(tenant+"/saml/config", encoded(p.wire.t, c.SAML.spec()), 204), nil)
	case "oidc":
		p.must(post(tenant+"/oidc/config", encoded(p.wire.t, c.OIDC.spec(was)), 204), nil)
	}
	if len(c.Domains) > 0 {
		p.must(post(tenant+"/domains", encoded(p.wire.t, domainsSpec{c.Domains}), 204), nil)
	}
	if len(c.AuthProviders) > 0 {
		p.must(post(tenant+"/sso/auth/providers", encoded(p.wire.t, loginsSpec{true, c.AuthProviders}), 204), nil)
	}
}

// disableSSO sends back what it reads, with the secret as it is masked.
func (p *provider) disableSSO(tenant string) {
	p.wire.t.Helper()
	var saml samlSpec
	p.must(get(tenant+"/saml/config"), &saml)
	saml.IsSsoEnabled = false
	p.must(post(tenant+"/saml/config", encoded(p.wire.t, saml), 204), nil)
	var oidc oidcSpec
	p.must(get(tenant+"/oidc/config"), &oidc)
	oidc.IsSsoEnabled = false
	p.must(post(tenant+"/oidc/config", encoded(p.wire.t, oidc), 204), nil)
	p.must(post(tenant+"/domains", `{"domains":[]}`, 204), nil)
	p.must(post(tenant+"/sso/auth/providers", `{"isEnabled":false,"ssoLogins":[""]}`, 204), nil)
}

// readSSO is a refresh: what a state has that was c before.
func (p *provider) readSSO(c ssoConfig) (got ssoConfig, oidc oidcSpec) {
	p.wire.t.Helper()
	tenant := p.tenant()
	got.Type = c.Type
	switch c.Type {
	case "saml":
		var saml samlSpec
		p.must(get(tenant+"/saml/config"), &saml)
		metadata, _ := base64.StdEncoding.DecodeString(saml.FederationMetadata)
		got.SAML = samlConfig{saml.IdentityProvider, string(metadata), saml.NameIDFormat, saml.IsSingleLogoutEnabled, saml.DefaultTeams}
		p.mustMap(saml)
	case "oidc":
		p.must(get(tenant+"/oidc/config"), &oidc)
		got.OIDC = p.readOIDC(oidc, c.OIDC)
	}
	if len(c.Domains) > 0 {
		var domains domainsSpec
		p.must(get(tenant+"/domains"), &domains)
		got.Domains = domains.Domains
	}
	if len(c.AuthProviders) > 0 {
		var logins loginsSpec
		p.must(get(tenant+"/sso/auth/providers"), &logins)
		got.AuthProviders = logins.SSOLogins
	}
	return got, oidc
}

// mustMap is how a missing attribute ends the plugin.
func (p *provider) mustMap(saml samlSpec) {
	p.wire.t.Helper()
	for _, name := range []string{"FirstName", "LastName", "Email", "SpectroTeam"} {
		if !slices.ContainsFunc(saml.Attributes, func(a *samlAttribute) bool { return a.Name == name && a.MappedAttribute == name }) {
			p.crash("attribute " + name)
		}
	}
}

func (p *provider) readOIDC(s oidcSpec, was oidcConfig) oidcConfig {
	p.wire.t.Helper()
	if s.IssuerTLS == nil || s.RequiredClaims == nil || s.UserInfo == nil || s.UserInfo.Claims == nil {
		p.crash("issuerTls, requiredClaims or userInfo.claims")
	}
	ca, err := base64.StdEncoding.DecodeString(s.IssuerTLS.CA)
	if err != nil {
		p.wire.t.Errorf("the CA is not base64: %s", s.IssuerTLS.CA)
	}
	got := oidcConfig{Issuer: s.IssuerURL, CA: string(ca), ClientID: s.ClientID, Secret: s.ClientSecret, Teams: s.DefaultTeams,
		Scopes: s.Scopes, Claims: *s.RequiredClaims}
	if got.Secret == "" || strings.Contains(got.Secret, "*") {
		got.Secret = was.Secret
	}
	if s.UserInfo.UseUserInfo != nil && *s.UserInfo.UseUserInfo {
		got.UserInfo = s.UserInfo.Claims
	}
	return got
}

func (p *provider) noSSODrift(want ssoConfig) oidcSpec {
	p.wire.t.Helper()
	got, oidc := p.readSSO(want)
	for name, sets := range map[string][2][]string{"domains": {got.Domains, want.Domains}, "teams": {got.OIDC.Teams, want.OIDC.Teams},
		"scopes": {got.OIDC.Scopes, want.OIDC.Scopes}, "auth_providers": {got.AuthProviders, want.AuthProviders},
		"saml teams": {got.SAML.Teams, want.SAML.Teams}} {
		if !sameSet(sets[0], sets[1]) {
			p.wire.t.Errorf("the plan is not empty: %s %q, want %q", name, sets[0], sets[1])
		}
	}
	a, b := encoded(p.wire.t, without(got)), encoded(p.wire.t, without(want))
	if a != b {
		p.wire.t.Errorf("the plan is not empty: %s want %s", a, b)
	}
	return oidc
}

// without returns a configuration without its sets.
func without(c ssoConfig) ssoConfig {
	c.Domains, c.AuthProviders, c.OIDC.Teams, c.OIDC.Scopes, c.SAML.Teams = nil, nil, nil, nil, nil
	return c
}

// The whole life of single sign-on in Terraform: each type, changes from one to another, import, destroy.
func TestSSOResourceLife(t *testing.T) {
	w := start(t)
	team := w.plugin().setTeam("", teamConfig{Name: "Ops"})
	ca := testca.New(t, "Login CA").PEM()
	claims := readClaims{"email", "given_name", "family_name", "groups"}
	oidc := ssoConfig{Type: "oidc", OIDC: oidcConfig{Issuer: "https://login.example.com", CA: ca, ClientID: "regwarden",
		Secret: "secret of the client", Teams: []string{team}, Scopes: []string{"openid", "profile"}, Claims: claims}}
	more := oidc
	more.Domains, more.AuthProviders = []string{"Acme.example", "b.example"}, []string{"github"}
	more.OIDC.UserInfo, more.OIDC.CA, more.OIDC.Teams = &readClaims{"mail", "given_name", "sn", "memberOf"}, "", nil
	more.OIDC.Claims.SpectroTeam = "roles"
	saml := ssoConfig{Type: "saml", Domains: []string{"acme.example"}, SAML: samlConfig{"Okta", "<EntityDescriptor/>", "email", true,
		[]string{team}}}
	var was oidcSpec
	for _, c := range []ssoConfig{{Type: "none"}, oidc, more, oidc, saml, {Type: "none"}, oidc} {
		if c.Domains == nil && len(was.CallbackURL) > 0 { // a changed set is sent again
			w.plugin().must(post(w.plugin().tenant()+"/domains", `{"domains":[]}`, 204), nil)
		}
		w.plugin().applySSO(c, was)
		was = w.plugin().noSSODrift(c)
	}
	if !strings.HasPrefix(was.CallbackURL, "http") || !strings.HasPrefix(was.LogoutURL, "http") || !was.IsSsoEnabled {
		t.Errorf("%+v", was)
	}
	imported, _ := w.plugin().readSSO(ssoConfig{Type: "oidc"}) // without a state
	if imported.OIDC.Secret != "" || imported.OIDC.Issuer != oidc.OIDC.Issuer {
		t.Errorf("imported: %+v", imported)
	}

	p := w.plugin()
	p.limitDomains(oidc.OIDC, "own.example") // on the command line
	p.disableSSO(p.tenant())                 // destroy
	p.disableSSO(p.tenant())
	p.limitedTo("own.example")
	got, spec := p.readSSO(ssoConfig{Type: "oidc", OIDC: oidc.OIDC})
	if spec.IsSsoEnabled || got.OIDC.Issuer != oidc.OIDC.Issuer {
		t.Errorf("destroyed: %+v", spec)
	}
	w.plugin().applySSO(ssoConfig{Type: "oidc", OIDC: oidc.OIDC}, spec)
	w.plugin().noSSODrift(oidc)
	p.limitedTo("own.example")
	p.must(post(p.tenant()+"/domains", `{"domains":[]}`, 204), nil) // while it is on
	p.limitedTo()

	insecure := oidc.OIDC.spec(spec)
	tls := map[string]any{"caCertificateBase64": base64.StdEncoding.EncodeToString([]byte(ca)), "insecureSkipVerify": true}
	insecure["issuerTls"] = tls
	p.refused(post(p.tenant()+"/oidc/config", encoded(t, insecure), 204), 400, "InvalidRequest")
	tls["insecureSkipVerify"] = false
	p.must(post(p.tenant()+"/oidc/config", encoded(t, insecure), 204), nil)
	w.plugin().noSSODrift(oidc) // the same CA
}

// limitDomains replaces the limit of email domains as the command line does.
func (p *provider) limitDomains(c oidcConfig, domains ...string) {
	p.wire.t.Helper()
	p.must(put("/v1/sso", encoded(p.wire.t, map[string]any{"spec": map[string]any{"issuer": c.Issuer, "clientId": c.ClientID,
		"clientSecret": c.Secret, "ca": c.CA, "scopes": c.Scopes, "defaultTeams": c.Teams, "syncSsoTeams": true, "emailDomains": domains,
		"claims": map[string]string{"email": c.Claims.Email, "firstName": c.Claims.FirstName, "lastName": c.Claims.LastName,
			"groups": c.Claims.SpectroTeam}}})), nil)
	p.limitedTo(domains...)
}

func (p *provider) limitedTo(want ...string) {
	p.wire.t.Helper()
	var sso struct {
		Spec struct{ EmailDomains []string }
	}
	if p.must(get("/v1/sso"), &sso); !slices.Equal(sso.Spec.EmailDomains, want) {
		p.wire.t.Errorf("the email domains are %q, want %q", sso.Spec.EmailDomains, want)
	}
}

// No GET of a setting is refused, by any caller of the organization, set or not: the plugin crashes at an error.
func TestSettingsOfATenantAreAlwaysRead(t *testing.T) {
	w := start(t)
	p := w.plugin()
	tenant := p.tenant()
	p.must(post(tenant+"/oidc/config", `{"issuerUrl":"https://login.example.com","clientId":"regwarden","isSsoEnabled":true}`, 204), nil)
	p.createUser(userConfig{Email: "eve@acme.example", FirstName: "Eve", LastName: "M", TenantRoles: []string{"none"}})
	eve := w.plugin()
	eve.key = w.newKey("eve@acme.example")
	var seen oidcSpec
	if eve.must(get(tenant+"/oidc/config"), &seen); seen.IssuerURL != "" || seen.ClientID != "" || seen.IsSsoEnabled {
		t.Errorf("a caller without permission reads %+v", seen)
	}
	eve.readOIDC(seen, oidcConfig{})
	for _, path := range []string{"/saml/config", "/domains", "/sso/auth/providers", "/authTokenSettings"} {
		eve.must(get(tenant+path), &map[string]any{})
		eve.refused(get("/v1/tenants/00000000-0000-4000-8000-000000000000"+path), 404, "ResourceNotFound")
	}
	eve.refused(post(tenant+"/oidc/config", `{"issuerUrl":""}`, 204), 403, "OperationForbidden")
	eve.refused(post(tenant+"/domains", `{"domains":[]}`, 204), 403, "OperationForbidden")
	p.must(put(tenant+"/authTokenSettings", `{"expiryTimeMinutes":60}`), nil)
	var settings struct{ ExpiryTimeMinutes int }
	if p.must(get(tenant+"/authTokenSettings"), &settings); settings.ExpiryTimeMinutes != 60 {
		t.Errorf("settings of tokens: %+v", settings)
	}
}

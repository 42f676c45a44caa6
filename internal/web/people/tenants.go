package people

import (
	"cmp"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/federation"
	"github.com/regwarden/regwarden/internal/service/passwordpolicy"
	"github.com/regwarden/regwarden/internal/service/tenants"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/web/fieldnames"
)

// Limits of what is stored and returned alone.
const (
	maxMetadata = 512 << 10
	maxEntries  = 50

	minTokenMinutes, maxTokenMinutes, defaultTokenMinutes = 15, 1440, 240
)

var (
	oidcFields = fieldnames.Names{"issuer": "issuerUrl", "ca": "issuerTls.caCertificateBase64", "claims": "requiredClaims",
		"userInfo": "userInfo.claims"}
	// samlAttributes are those without which a public client crashes.
	samlAttributes = []string{"FirstName", "LastName", "Email", "SpectroTeam"}
	ssoLogins      = []string{"", "github", "google"}
)

// tenantHandlers handles the routes of settings of the organization, by the names of Palette's API. Its clients end at an error of a GET,
// so a caller who may not read a setting gets what an organization without it has.
type tenantHandlers struct {
	providers directory.Providers
	settings  *tenants.Tenants
	sso       *federation.SSO
}

func (h tenantHandlers) operations() []Operation {
	return []Operation{
		{Method: "GET", Path: api.PathTenantOIDC, Handle: shows(h.getOIDC)},
		{Method: "POST", Path: api.PathTenantOIDC, Handle: sets(h.oidcProblems, h.setOIDC), Announced: true},
		{Method: "GET", Path: api.PathTenantSAML, Handle: shows(h.getSAML)},
		{Method: "POST", Path: api.PathTenantSAML, Handle: sets(samlProblems, h.setSAML), Announced: true},
		{Method: "GET", Path: api.PathTenantDomains, Handle: shows(h.getDomains)},
		{Method: "POST", Path: api.PathTenantDomains, Handle: sets(h.domainsProblems, h.setDomains), Announced: true},
		{Method: "GET", Path: api.PathTenantLogins, Handle: shows(h.getLogins)},
		{Method: "POST", Path: api.PathTenantLogins, Handle: sets(loginsProblems, h.setLogins), Announced: true},
		{Method: "GET", Path: api.PathTenantPasswords, Handle: shows(h.getPasswords)},
		{Method: "POST", Path: api.PathTenantPasswords, Handle: sets(passwordProblems, h.setPasswords), Announced: true},
		{Method: "GET", Path: api.PathTenantTokens, Handle: shows(h.getTokens)},
		{Method: "PUT", Path: api.PathTenantTokens, Handle: sets(tokensProblems, h.setTokens), Announced: true},
	}
}

// own returns a fault unless the path names the organization of the caller, by its uid.
func own(c Call) error {
	if c.PathValue("uid") != c.Principal.OrgUID {
		return fault.ResourceNotFound("Organization not found.")
	}
	return nil
}

// shows handles an operation that returns a setting.
func shows(show func(Call) (any, error)) func(Call) (int, any, error) {
	return func(c Call) (status int, body any, err error) {
		if err = own(c); err == nil {
			body, err = show(c)
		}
		return http.StatusOK, body, err
	}
}

// sets handles an operation that replaces a setting by the body of the request.
func sets[T any](problems func(*T) []fault.Field, set func(Call, T) error) func(Call) (int, any, error) {
	return func(c Call) (int, any, error) {
		var body T
		err := c.Read(&body, func() []fault.Field { return problems(&body) })
		if err == nil {
			err = own(c)
		}
		if err == nil {
			err = set(c, body)
		}
		return http.StatusNoContent, nil, err
	}
}

// list returns texts of which none is [].
func list(texts []string) []string { return append([]string{}, texts...) }

// provider returns the identity provider, none for a caller who may not read it.
func (h tenantHandlers) provider(c Call) (directory.Provider, error) {
	if !c.Principal.Can(access.ReadTrusts) {
		return directory.Provider{OrgUID: c.Principal.OrgUID}, nil
	}
	return h.providers.Provider(c.Context(), c.Principal)
}

// getOIDC is GET /v1/tenants/{uid}/oidc/config.
func (h tenantHandlers) getOIDC(c Call) (any, error) {
	p, err := h.provider(c)
	s := p.Settings
	if p.Issuer == "" { // what a form suggests
		s.Scopes, s.Claims = []string{"openid", "profile", "email"}, map[string]string{identities.ClaimGroups: "groups"}
	}
	return api.TenantOIDC{IssuerURL: p.Issuer, ClientID: s.ClientID, ClientSecret: p.Secret,
		CallbackURL: h.sso.CallbackURL(p.OrgUID), LogoutURL: h.sso.LogoutURL(), DefaultTeams: list(s.DefaultTeams),
		IsSSOEnabled:   p.Issuer != "" && !s.Disabled,
		IssuerTLS:      api.TenantTLS{CACertificateBase64: base64.StdEncoding.EncodeToString([]byte(s.CA))},
		RequiredClaims: shownClaims(s.Claim), Scopes: list(s.Scopes), SyncSSOTeams: s.SyncTeams,
		UserInfo: api.TenantUserInfo{UseUserInfo: len(s.UserInfo) > 0,
			Claims: shownClaims(func(key string) string { return s.UserInfo[key] })}}, err
}

func shownClaims(name func(key string) string) api.TenantClaims {
	return api.TenantClaims{Email: name(identities.ClaimEmail), FirstName: name(identities.ClaimFirstName),
		LastName: name(identities.ClaimLastName), Teams: name(identities.ClaimGroups)}
}

func readClaims(sent api.TenantClaims) map[string]string {
	claims := map[string]string{}
	for key, name := range map[string]string{identities.ClaimEmail: sent.Email, identities.ClaimFirstName: sent.FirstName,
		identities.ClaimLastName: sent.LastName, identities.ClaimGroups: sent.Teams} {
		if name != "" {
			claims[key] = name
		}
	}
	return claims
}

// providerOf returns the provider of a request.
func providerOf(body *api.TenantOIDC) directory.Provider {
	claims, userInfo := readClaims(body.RequiredClaims), map[string]string{}
	if body.UserInfo.UseUserInfo {
		userInfo = readClaims(body.UserInfo.Claims)
	}
	return directory.Provider{Issuer: body.IssuerURL, Secret: body.ClientSecret, Settings: identities.Settings{
		ClientID: body.ClientID, Scopes: body.Scopes, Claims: claims, UserInfo: userInfo, CA: readCA(body.IssuerTLS.CACertificateBase64),
		Disabled: !body.IsSSOEnabled, DefaultTeams: body.DefaultTeams,
		SyncTeams: body.SyncSSOTeams && claims[identities.ClaimGroups] != ""}}
}

func (h tenantHandlers) oidcProblems(body *api.TenantOIDC) (problems []fault.Field) {
	if body.IssuerTLS.InsecureSkipVerify {
		problems = fault.FieldProblem("issuerTls.insecureSkipVerify", "must be false: set issuerTls.caCertificateBase64 to the CA to trust")
	}
	if body.IssuerURL != "" || body.IsSSOEnabled {
		problems = append(problems, oidcFields.In(h.providers.Problems(providerOf(body)))...)
	}
	return problems
}

// setOIDC is POST /v1/tenants/{uid}/oidc/config. A request without an issuer switches off what is stored: clients send back what they read
// to do that.
func (h tenantHandlers) setOIDC(c Call, body api.TenantOIDC) error {
	before, err := h.provider(c)
	if err != nil {
		return err
	}
	input := providerOf(&body)
	switch {
	case body.IssuerURL == "" && before.Issuer == "":
		return h.settings.LeaveUnchanged(c.Context(), c.Principal, c.Origin, tenants.OIDC)
	case body.IssuerURL == "":
		input = before
		input.Disabled = true
	case before.Issuer == "":
		input.EmailDomains, err = tenants.Get[[]string](c.Context(), h.settings, c.Principal, tenants.Domains)
	default:
		input.Name, input.EmailDomains, input.EmailsVerified = before.Name, before.EmailDomains, before.EmailsVerified
		if claim := before.Claims[identities.ClaimExternalID]; claim != "" {
			input.Claims[identities.ClaimExternalID] = claim
		}
	}
	if err == nil {
		err = h.providers.Set(c.Context(), c.Principal, c.Origin, input)
	}
	return oidcFields.Err(err)
}

// readCA returns PEM of what clients send: it, or base64 of it or of DER.
func readCA(text string) string {
	if strings.Contains(text, "-----BEGIN") {
		return text
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	switch {
	case err != nil || len(decoded) == 0:
		return text
	case strings.Contains(string(decoded), "-----BEGIN"):
		return string(decoded)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: decoded}))
}

// getSAML is GET /v1/tenants/{uid}/saml/config.
func (h tenantHandlers) getSAML(c Call) (any, error) {
	saml, err := tenants.Get[api.TenantSAML](c.Context(), h.settings, c.Principal, tenants.SAML)
	saml.DefaultTeams = list(saml.DefaultTeams)
	for _, name := range samlAttributes {
		if !slices.ContainsFunc(saml.Attributes, func(a api.TenantSAMLAttribute) bool { return a.Name == name }) {
			saml.Attributes = append(saml.Attributes, api.TenantSAMLAttribute{MappedAttribute: name, Name: name})
		}
	}
	return saml, err
}

func samlProblems(body *api.TenantSAML) (problems []fault.Field) {
	if len(body.FederationMetadata) > maxMetadata {
		problems = fault.FieldProblem("federationMetadata", "must be at most 512 KiB")
	}
	for field, n := range map[string]int{"attributes": len(body.Attributes), "defaultTeams": len(body.DefaultTeams)} {
		if n > maxEntries {
			problems = append(problems, fault.Field{Field: field, Problem: fmt.Sprintf("must have at most %d entries", maxEntries)})
		}
	}
	return problems
}

// setSAML is POST /v1/tenants/{uid}/saml/config.
func (h tenantHandlers) setSAML(c Call, body api.TenantSAML) error {
	return h.settings.Set(c.Context(), c.Principal, c.Origin, tenants.SAML, body)
}

// getDomains is GET /v1/tenants/{uid}/domains. They are those of the identity provider, in the spelling in which they were set here.
func (h tenantHandlers) getDomains(c Call) (any, error) {
	domains, err := tenants.Get[[]string](c.Context(), h.settings, c.Principal, tenants.Domains)
	if err != nil {
		return nil, err
	}
	p, err := h.provider(c)
	if p.Issuer != "" && !slices.Equal(tenants.Canonical(domains), tenants.Canonical(p.EmailDomains)) {
		domains = p.EmailDomains
	}
	return api.TenantDomains{Domains: list(domains)}, err
}

func (h tenantHandlers) domainsProblems(body *api.TenantDomains) (problems []fault.Field) {
	given := directory.Provider{Settings: identities.Settings{EmailDomains: tenants.Canonical(body.Domains)}}
	for _, problem := range h.providers.Problems(given) {
		if problem.Field == "emailDomains" {
			problems = fault.FieldProblem("domains", problem.Problem)
		}
	}
	return problems
}

// setDomains is POST /v1/tenants/{uid}/domains.
func (h tenantHandlers) setDomains(c Call, body api.TenantDomains) error {
	return h.settings.SetDomains(c.Context(), c.Principal, c.Origin, body.Domains)
}

// getLogins is GET /v1/tenants/{uid}/sso/auth/providers.
func (h tenantHandlers) getLogins(c Call) (any, error) {
	logins, err := tenants.Get[api.TenantLogins](c.Context(), h.settings, c.Principal, tenants.Logins)
	logins.SSOLogins = list(logins.SSOLogins)
	return logins, err
}

func loginsProblems(body *api.TenantLogins) []fault.Field {
	for i, login := range body.SSOLogins {
		if !slices.Contains(ssoLogins, login) || slices.Contains(body.SSOLogins[:i], login) {
			return fault.FieldProblem("ssoLogins", "must have each of github and google at most once")
		}
	}
	return nil
}

// setLogins is POST /v1/tenants/{uid}/sso/auth/providers.
func (h tenantHandlers) setLogins(c Call, body api.TenantLogins) error {
	return h.settings.Set(c.Context(), c.Principal, c.Origin, tenants.Logins, body)
}

// getTokens is GET /v1/tenants/{uid}/authTokenSettings.
func (h tenantHandlers) getTokens(c Call) (any, error) {
	tokens, err := tenants.Get[api.TenantTokens](c.Context(), h.settings, c.Principal, tenants.Tokens)
	tokens.ExpiryTimeMinutes = cmp.Or(tokens.ExpiryTimeMinutes, defaultTokenMinutes)
	return tokens, err
}

func tokensProblems(body *api.TenantTokens) []fault.Field {
	if body.ExpiryTimeMinutes < minTokenMinutes || body.ExpiryTimeMinutes > maxTokenMinutes {
		return fault.FieldProblem("expiryTimeMinutes", fmt.Sprintf("must be %d–%d", minTokenMinutes, maxTokenMinutes))
	}
	return nil
}

// setTokens is PUT /v1/tenants/{uid}/authTokenSettings.
func (h tenantHandlers) setTokens(c Call, body api.TenantTokens) error {
	idle := time.Duration(body.ExpiryTimeMinutes) * time.Minute
	return h.settings.SetIdle(c.Context(), c.Principal, c.Origin, body, idle)
}

// getPasswords is GET /v1/tenants/{uid}/password/policy.
func (h tenantHandlers) getPasswords(c Call) (any, error) {
	p, err := h.settings.PasswordPolicy(c.Context(), c.Principal)
	return api.TenantPasswordPolicy{IsRegex: p.Regex != "", Regex: p.Regex, MinLength: p.MinLength, MaxLength: p.MaxLength,
		MinDigits: p.Digits, MinSmallLetters: p.SmallLetters, MinBlockLetters: p.BlockLetters, MinSpecialCharacters: p.Special,
		ExpiryDurationInDays: p.ExpiryDays, FirstReminderInDays: p.ReminderDays}, err
}

func policyOf(body *api.TenantPasswordPolicy) passwordpolicy.Policy {
	return passwordpolicy.Policy{Regex: body.Regex, MinLength: body.MinLength, MaxLength: body.MaxLength, Digits: body.MinDigits,
		SmallLetters: body.MinSmallLetters, BlockLetters: body.MinBlockLetters, Special: body.MinSpecialCharacters,
		ExpiryDays: body.ExpiryDurationInDays, ReminderDays: body.FirstReminderInDays}
}

func passwordProblems(body *api.TenantPasswordPolicy) []fault.Field {
	problems := policyOf(body).Problems()
	if body.IsRegex != (body.Regex != "") {
		problems = append(problems, fault.Field{Field: "isRegex", Problem: "must be true with regex, and false without"})
	}
	return problems
}

// setPasswords is POST /v1/tenants/{uid}/password/policy.
func (h tenantHandlers) setPasswords(c Call, body api.TenantPasswordPolicy) error {
	return h.settings.SetPasswordPolicy(c.Context(), c.Principal, c.Origin, policyOf(&body))
}

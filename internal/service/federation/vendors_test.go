package federation

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/directory"
)

const (
	entra    = "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad"
	keycloak = "https://keycloak.example.com/realms/acme"
	okta     = "https://acme.okta.com"
)

var vendorHosts = []string{entra, "https://graph.microsoft.com", keycloak, okta, google, "https://oauth2.googleapis.com",
	"https://www.googleapis.com", "https://openidconnect.googleapis.com"}

// vendor is an identity provider as its documentation shows it: what it publishes, and what its tokens have.
type vendor struct {
	issuer    string
	published map[string]any
	keys      []jose.JSONWebKey
	claims    map[string]any    // in addition to iss, aud, sub, nonce and the times; nil removes what the fixture adds
	info      map[string]any    // at the userinfo endpoint
	query     map[string]string // of the response, in addition to code and state
	sends     map[string]string // parameters of the request; empty: must not be sent
}

// key returns the key that signs the tokens of vendors.
func key(kid, use, algorithm string) jose.JSONWebKey {
	return jose.JSONWebKey{Key: keys()[other].Public(), KeyID: kid, Use: use, Algorithm: algorithm}
}

// Entra ID: the keys have no alg, the userinfo endpoint is at another host, and no token has email_verified.
func entraID() vendor {
	return vendor{issuer: entra + "/v2.0",
		published: map[string]any{"token_endpoint": entra + "/oauth2/v2.0/token", "jwks_uri": entra + "/discovery/v2.0/keys",
			"authorization_endpoint": entra + "/oauth2/v2.0/authorize", "userinfo_endpoint": "https://graph.microsoft.com/oidc/userinfo",
			"end_session_endpoint":                  entra + "/oauth2/v2.0/logout",
			"token_endpoint_auth_methods_supported": []string{"client_secret_post", "private_key_jwt", "client_secret_basic"},
			"scopes_supported":                      []string{"openid", "profile", "email", "offline_access"}},
		keys: []jose.JSONWebKey{key("key-1", "sig", "")},
		claims: map[string]any{"email": nil, "email_verified": nil, "given_name": nil, "family_name": nil, "ver": "2.0",
			"preferred_username": "ada@example.com", "name": "Ada Lovelace", "oid": "00000000-0000-0000-66f3-3332eca7ea81",
			"tid": "9188040d-6c67-4c5b-b112-36a304b66dad", "uti": "fqiBqXLPj0eQa82S-IYFAA", "rh": "0.AXoA", "aio": "Df2UVXL1ix"},
		info:  map[string]any{"sub": "ada-7", "name": "Ada Lovelace", "picture": "https://graph.microsoft.com/v1.0/me/photo/$value"},
		query: map[string]string{"session_state": "b5c8b5a0"},
		sends: map[string]string{"scope": "openid profile email offline_access", "access_type": ""}}
}

// Keycloak: it sends iss, publishes a key for encryption too, and names the client in azp.
func keycloakRealm() vendor {
	at := keycloak + "/protocol/openid-connect"
	return vendor{issuer: keycloak,
		published: map[string]any{"token_endpoint": at + "/token", "jwks_uri": at + "/certs", "authorization_endpoint": at + "/auth",
			"userinfo_endpoint": at + "/userinfo", "end_session_endpoint": at + "/logout",
			"authorization_response_iss_parameter_supported": true,
			"token_endpoint_auth_methods_supported":          []string{"private_key_jwt", "client_secret_basic", "client_secret_post"},
			"scopes_supported":                               []string{"openid", "profile", "email", "offline_access", "roles", "groups"}},
		keys: []jose.JSONWebKey{
			{Key: keys()["new"].Public(), KeyID: "key-2", Use: "enc", Algorithm: "RSA-OAEP"}, key("key-1", "sig", "RS256")},
		claims: map[string]any{"typ": "ID", "azp": clientID, "sid": "4d6a2a3c", "acr": "1", "preferred_username": "ada",
			"auth_time": start.Unix(), "at_hash": "x", "groups": []string{"/platform/registries"}},
		query: map[string]string{"iss": keycloak, "session_state": "4d6a2a3c"},
		sends: map[string]string{"scope": "openid profile email offline_access", "access_type": ""}}
}

// Okta: with the authorization code flow the ID token has few claims; the others are at the userinfo endpoint.
func oktaOrg() vendor {
	at := okta + "/oauth2/v1"
	return vendor{issuer: okta,
		published: map[string]any{"token_endpoint": at + "/token", "jwks_uri": at + "/keys", "authorization_endpoint": at + "/authorize",
			"userinfo_endpoint": at + "/userinfo", "end_session_endpoint": at + "/logout",
			"token_endpoint_auth_methods_supported": []string{"client_secret_basic", "client_secret_post", "client_secret_jwt"},
			"scopes_supported":                      []string{"openid", "email", "profile", "phone", "offline_access", "groups"}},
		keys: []jose.JSONWebKey{key("key-1", "sig", "RS256")},
		claims: map[string]any{"ver": 1, "jti": "ID.D6Hoxdx", "amr": []string{"pwd", "mfa"}, "idp": "00o1", "auth_time": start.Unix(),
			"at_hash": "x", "name": "Ada Lovelace", "preferred_username": "ada@example.com", "email": nil, "email_verified": nil,
			"given_name": nil, "family_name": nil},
		info: map[string]any{"sub": "ada-7", "email": "ada@example.com", "email_verified": true, "given_name": "Ada",
			"family_name": "Lovelace", "zoneinfo": "Europe/London", "updated_at": 1311280970},
		sends: map[string]string{"scope": "openid profile email offline_access", "access_type": ""}}
}

// Google: each endpoint is at a host of its own, refresh tokens are issued for a parameter, and there is no logout.
func googleAccounts() vendor {
	return vendor{issuer: google,
		published: map[string]any{"token_endpoint": "https://oauth2.googleapis.com/token",
			"jwks_uri": "https://www.googleapis.com/oauth2/v3/certs", "authorization_endpoint": google + "/o/oauth2/v2/auth",
			"userinfo_endpoint":                     "https://openidconnect.googleapis.com/v1/userinfo",
			"token_endpoint_auth_methods_supported": []string{"client_secret_post", "client_secret_basic"},
			"scopes_supported":                      []string{"openid", "email", "profile"}},
		keys:   []jose.JSONWebKey{key("key-0", "sig", "RS256"), key("key-1", "sig", "RS256")},
		claims: map[string]any{"azp": clientID, "hd": "example.com", "at_hash": "x", "picture": "https://lh3.googleusercontent.com/a"},
		query:  map[string]string{"scope": "email openid profile", "authuser": "0", "hd": "example.com", "prompt": "consent"},
		sends:  map[string]string{"scope": "openid profile email", "access_type": "offline", "prompt": "consent"}}
}

// with returns a vendor whose tokens have other claims.
func (v vendor) with(claims map[string]any) vendor {
	v.claims = maps.Clone(v.claims)
	maps.Copy(v.claims, claims)
	return v
}

// respond returns what the vendor serves, by URL, and the tokens of the fixture.
func (v vendor) respond(p *identityProvider) func(w http.ResponseWriter, r *http.Request) bool {
	published := maps.Clone(v.published)
	if published["issuer"] == nil {
		published["issuer"] = v.issuer
	}
	return func(w http.ResponseWriter, r *http.Request) bool {
		switch "https://" + r.Host + r.URL.Path {
		case v.issuer + "/.well-known/openid-configuration":
			write(w, published)
		case published["jwks_uri"]:
			write(w, map[string]any{"keys": v.keys})
		case published["userinfo_endpoint"]:
			write(w, v.info)
		case published["token_endpoint"]:
			return p.token(w, r)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		return true
	}
}

// TestVendors logs in at providers as Entra ID, Keycloak, Okta and Google document them. reason is that of the audit record; kind is that
// of a login that cannot begin.
func TestVendors(t *testing.T) {
	byUsername := func(p *directory.Provider) { p.Settings.Claims = map[string]string{"email": "preferred_username"} }
	domain := func(p *directory.Provider) { p.Settings.EmailDomains = []string{"example.com"} }
	vouched := func(p *directory.Provider) { byUsername(p); domain(p); p.Settings.EmailsVerified = true }
	common := entraID()
	common.issuer = "https://login.microsoftonline.com/common/v2.0"
	common.published = maps.Clone(common.published)
	common.published["issuer"] = "https://login.microsoftonline.com/{tenantid}/v2.0"
	noIssuer := keycloakRealm()
	noIssuer.query = nil
	for name, row := range map[string]struct {
		vendor
		settings func(*directory.Provider)
		kind     fault.Kind
		reason   string
	}{
		"Entra ID":                 {vendor: entraID(), settings: byUsername},
		"Entra ID, no email":       {vendor: entraID(), reason: reasonNoEmail},
		"Entra ID, optional claim": {vendor: entraID().with(map[string]any{"email": "ada@example.com"})},
		"Entra ID, domain": {vendor: entraID(),
			settings: func(p *directory.Provider) { byUsername(p); domain(p) }, reason: reasonUnverified},
		"Entra ID, domain, vouched": {vendor: entraID(), settings: vouched},
		"Entra ID, guest": {vendor: entraID().with(map[string]any{"preferred_username": "ada_gmail.com#EXT#@acme.example"}),
			settings: vouched, reason: reasonEmailDomain},
		"Entra ID, another directory": {vendor: entraID().with(map[string]any{"iss": strings.ReplaceAll(entra, "9188", "9199") + "/v2.0"}),
			settings: byUsername, reason: reasonIssuer},
		"Entra ID, version 1": {vendor: entraID().with(map[string]any{"iss": "https://sts.windows.net/9188040d/"}),
			settings: byUsername, reason: reasonIssuer},
		"Entra ID, common":            {vendor: common, settings: byUsername, kind: fault.Unavailable},
		"Keycloak":                    {vendor: keycloakRealm()},
		"Keycloak, domain":            {vendor: keycloakRealm(), settings: domain},
		"Keycloak, two audiences":     {vendor: keycloakRealm().with(map[string]any{"aud": []string{clientID, "account"}})},
		"Keycloak, token of a client": {vendor: keycloakRealm().with(map[string]any{"azp": "other-client"}), reason: reasonAudience},
		"Keycloak, not verified":      {vendor: keycloakRealm().with(map[string]any{"email_verified": false}), reason: reasonUnverified},
		"Keycloak, iss missing":       {vendor: noIssuer, reason: reasonIssuer},
		"Okta":                        {vendor: oktaOrg()},
		"Okta, domain":                {vendor: oktaOrg(), settings: domain},
		"Okta, authorization server":  {vendor: oktaOrg().with(map[string]any{"iss": okta + "/oauth2/default"}), reason: reasonIssuer},
		"Google":                      {vendor: googleAccounts()},
		"Google, domain":              {vendor: googleAccounts(), settings: domain},
		"Google, private account": {vendor: googleAccounts().with(map[string]any{"hd": nil, "email": "ada@gmail.com"}),
			settings: domain, reason: reasonEmailDomain},
		"Google, short issuer": {vendor: googleAccounts().with(map[string]any{"iss": "accounts.google.com"}), reason: reasonIssuer},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustProvider(t, func(p *directory.Provider) {
				if p.Issuer = row.issuer; row.settings != nil {
					row.settings(p)
				}
			})
			claims := maps.Clone(row.claims)
			if claims["iss"] == nil {
				claims["iss"] = row.issuer
			}
			p.set(func() {
				p.change, p.serve = claims, row.respond(p)
				p.sign = func(claims map[string]any) string { return signWith(t, keys()[other], jose.RS256, "key-1", claims) }
			})
			if row.kind != 0 {
				if _, err := p.sso.Begin(t.Context(), origin, org, ""); fault.KindOf(err) != row.kind {
					t.Errorf("%v, want %v", err, row.kind)
				}
				return
			}
			begun, query := p.begin(t)
			at, _ := url.Parse(begun.URL)
			for parameter, want := range row.sends {
				if sent := at.Query().Get(parameter); sent != want {
					t.Errorf("%s is %q, want %q", parameter, sent, want)
				}
			}
			query.Del("iss")
			for parameter, value := range row.query {
				query.Set(parameter, value)
			}
			p.newRecords(t)
			done, err := p.sso.Complete(t.Context(), origin, p.org.UID, query, begun.Cookie)
			if row.reason != "" {
				records := p.newRecords(t)
				if fault.KindOf(err) != fault.Unauthenticated || len(records) != 1 || records[0].Reason != row.reason {
					t.Errorf("%v, recorded as %+v; want %s", err, records, row.reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if who, err := p.principal(t, done); err != nil || who.Email != "ada@example.com" {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
}

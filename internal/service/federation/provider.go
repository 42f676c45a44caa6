package federation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/trusts"
	"github.com/regwarden/regwarden/secret"
)

// requestTimeout is that of one request for tokens.
const requestTimeout = 10 * time.Second

// google issues refresh tokens for a parameter of its own instead of a scope.
const google = "https://accounts.google.com"

// provider is an identity provider with what it publishes of itself.
type provider struct {
	identities.Provider
	configuration
	oauth2.Config
	client *http.Client
	guard  *egress.Guard
}

func (s *SSO) issuerOf(p identities.Provider) issuer { return issuer{p.Issuer, p.Settings.CA} }

// provider reads the configuration of an identity provider.
func (s *SSO) provider(ctx context.Context, p identities.Provider) (*provider, error) {
	from := s.issuerOf(p)
	config, err := s.service.issuers.configurationOf(ctx, from)
	if err != nil {
		return nil, err
	}
	client, dialer, err := s.service.issuers.client(from)
	if err != nil {
		return nil, err
	}
	if at, err := url.Parse(config.Authorization); err != nil || at.Scheme != "https" || at.Host == "" {
		return nil, fmt.Errorf("%w: its authorization_endpoint is not a URL with https", errIssuer)
	}
	if err := mayRefer(ctx, dialer.Guard(), p.Issuer, config.Token); err != nil {
		return nil, fmt.Errorf("%w: its token_endpoint: %w", errIssuer, err)
	}
	registered := oauth2.Config{ClientID: p.Settings.ClientID, ClientSecret: p.Secret.Reveal(), RedirectURL: s.CallbackURL(p.OrgUID),
		Scopes:   scopes(p, config),
		Endpoint: oauth2.Endpoint{AuthURL: config.Authorization, TokenURL: config.Token, AuthStyle: authStyle(p, config)}}
	return &provider{Provider: p, configuration: config, client: client, guard: dialer.Guard(), Config: registered}, nil
}

// authStyle is how the client authenticates. Both ways are never tried in turn: a code may be used once.
func authStyle(p identities.Provider, config configuration) oauth2.AuthStyle {
	basic := len(config.AuthMethods) == 0 || slices.Contains(config.AuthMethods, "client_secret_basic") // the default of the standard
	if p.Secret != "" && basic {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// scopes are the configured ones, or those that a login needs. offline_access asks for a refresh token.
func scopes(p identities.Provider, config configuration) []string {
	list := p.Settings.Scopes
	if len(list) == 0 {
		list = []string{oidc.ScopeOpenID, "profile", "email"}
		if slices.Contains(config.Scopes, oidc.ScopeOfflineAccess) {
			list = append(list, oidc.ScopeOfflineAccess)
		}
	}
	if !slices.Contains(list, oidc.ScopeOpenID) {
		list = append([]string{oidc.ScopeOpenID}, list...)
	}
	return list
}

// useCallback sets where a login comes back to.
func (p *provider) useCallback(s *SSO, begun pending) {
	if begun.API {
		p.RedirectURL = s.APICallbackURL(p.OrgUID)
	}
}

// authorizationURL is where the browser goes to log in.
func (p *provider) authorizationURL(l pending) string {
	options := []oauth2.AuthCodeOption{oidc.Nonce(l.Nonce), oauth2.S256ChallengeOption(l.Verifier)}
	if p.Issuer == google {
		options = append(options, oauth2.AccessTypeOffline, oauth2.ApprovalForce)
	}
	return p.AuthCodeURL(l.State, options...)
}

// errGone is the error of a grant that the provider does not accept, or does not accept any more.
var errGone = errors.New("the identity provider does not accept the grant")

// exchange exchanges an authorization code for tokens.
func (p *provider) exchange(ctx context.Context, code, verifier string) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), requestTimeout)
	defer cancel()
	token, err := p.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	return token, tokenError(err)
}

// refresh asks for new tokens.
func (p *provider) refresh(ctx context.Context, token secret.String) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), requestTimeout)
	defer cancel()
	fresh, err := p.TokenSource(ctx, &oauth2.Token{RefreshToken: token.Reveal()}).Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode == http.StatusBadRequest &&
		slices.Contains(endOfRefresh, refused.ErrorCode) {
		return nil, errGone
	}
	return fresh, tokenError(err)
}

// endOfRefresh has what providers return with status 400, other than invalid_grant, for the refresh token of a person who may not log in
// (RFC 6749 section 5.2): Glewlwyd no code, and Entra ID what it would ask the person. The request is as it was before, so that it is not
// the cause.
var endOfRefresh = []string{"invalid_request", "interaction_required", "login_required", "consent_required", ""}

// userInfo returns the claims of the userinfo endpoint (OpenID Connect Core 1.0 section 5.3), nil if the provider has none.
func (p *provider) userInfo(ctx context.Context, token *oauth2.Token) (claims map[string]any, err error) {
	if p.UserInfo == "" {
		return nil, nil
	}
	if err := mayRefer(ctx, p.guard, p.Issuer, p.UserInfo); err != nil {
		return nil, fmt.Errorf("%w: its userinfo_endpoint: %w", errIssuer, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.UserInfo, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token.AccessToken)
	request.Header.Set("Accept", "application/json")
	body, err := read(p.client, request)
	if err == nil {
		err = json.Unmarshal(body, &claims)
	}
	if err != nil {
		return nil, fmt.Errorf("read the userinfo_endpoint: %w", err)
	}
	return claims, nil
}

// oauthError is what an error code of OAuth may be, for logs and records.
var oauthError = lazyregexp.New(`^[a-z_]{1,40}$`)

// tokenError returns an error of a token endpoint without the text of the response, which may repeat what was sent.
func tokenError(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return err
	case refused.ErrorCode == "invalid_grant":
		return errGone
	case oauthError.Get().MatchString(refused.ErrorCode):
		return fmt.Errorf("the token endpoint returns the error %s", refused.ErrorCode)
	}
	return fmt.Errorf("the token endpoint returns HTTP %d", refused.Response.StatusCode)
}

// verify returns an ID token of the provider, or why it is refused. The error means that this cannot be known now.
func (s *SSO) verify(ctx context.Context, p *provider, token *oauth2.Token) (verified presented, reason string, err error) {
	raw, _ := token.Extra("id_token").(string)
	verified, err = parse(secret.String(raw))
	switch {
	case err != nil:
		return verified, ReasonMalformed, nil
	case verified.issuer != p.Issuer:
		return verified, reasonIssuer, nil
	case !verified.valid(s.service.config.Now()):
		return verified, ReasonExpired, nil
	}
	rule := trusts.Rule{Issuer: p.Issuer, Audience: p.Settings.ClientID, CA: p.Settings.CA}
	if reason, err = s.service.check(ctx, rule, verified); reason != "" || err != nil {
		return verified, reason, err
	}
	if !isParty(verified.claims, p.Settings.ClientID) {
		return verified, reasonAudience, nil
	}
	return verified, "", nil
}

// isParty reports whether a token was issued to that client alone (OpenID Connect Core 1.0 section 3.1.3.7).
func isParty(claims map[string]any, client string) bool {
	if party, given := claims["azp"]; given {
		return party == client
	}
	audiences, several := claims["aud"].([]any)
	return !several || len(audiences) == 1
}

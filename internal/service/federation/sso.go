package federation

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/identities"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

const (
	// loginTime is how long a login at the provider may take.
	loginTime = 10 * time.Minute
	// defaultRecheck is how long a session lasts without asking the provider about its user.
	defaultRecheck = time.Hour

	purposeLogin = "login"
)

// Reasons for a login that is refused. Audit records have all but the first; responses have those with a text in messages or ssoMessages,
// and otherwise ReasonNotTrusted.
const (
	ReasonExpiredLogin  = "loginExpired" // or begun by another browser, or changed
	ReasonRefusedThere  = "refusedByProvider"
	reasonIssuer        = "wrongIssuer"
	reasonNonce         = "wrongNonce"
	reasonSubject       = "wrongSubject" // at the userinfo endpoint
	reasonNoEmail       = "noEmail"
	reasonUnverified    = "emailNotVerified"
	reasonEmailDomain   = "emailDomain"
	reasonEmailTaken    = "emailTaken"
	reasonUserDisabled  = "disabled"
	reasonCodeNotUsable = "codeNotAccepted"
)

// SSO logs people in by the identity provider of their organization (OpenID Connect Core 1.0, authorization code flow with PKCE). It is
// safe for concurrent use.
type SSO struct {
	service   *Service
	publicURL string
	recheck   time.Duration
}

// NewSSO returns the logins of a service that browsers reach at publicURL. A session is renewed for recheck without asking the provider
// about its user; 0 means an hour.
func NewSSO(service *Service, publicURL string, recheck time.Duration) *SSO {
	return &SSO{service: service, publicURL: strings.TrimSuffix(publicURL, "/"), recheck: cmp.Or(recheck, defaultRecheck)}
}

// CallbackURL is the redirect URI that an organization registers at its provider. Each organization has its own, so that a response of one
// provider is not taken for that of another (RFC 9700 section 4.4.2), and it does not change with the name of the organization.
func (s *SSO) CallbackURL(orgUID string) string {
	return s.publicURL + "/console/sso/" + orgUID + "/callback"
}

// APICallbackURL is CallbackURL for programs, which get tokens there instead of a session of a browser.
func (s *SSO) APICallbackURL(orgUID string) string {
	return s.publicURL + "/v1/auth/org/" + orgUID + "/oidc/callback"
}

// BackChannelURL is where the provider of an organization sends logout tokens.
func (s *SSO) BackChannelURL(orgUID string) string {
	return s.publicURL + "/v1/auth/org/" + orgUID + "/oidc/backchannel-logout"
}

// PublicURL is how browsers reach the service.
func (s *SSO) PublicURL() string { return s.publicURL }

// LogoutURL is where the provider leads after a logout.
func (s *SSO) LogoutURL() string { return s.publicURL + "/console/login" }

// Offer is what the login page shows of the provider of an organization.
type Offer struct{ Org, Name string }

// Offer returns the provider of an organization, empty if people cannot log in there, and whether any organization has one. An empty name
// is the default organization.
func (s *SSO) Offer(ctx context.Context, org string) (offer Offer, some bool, err error) {
	found, p, err := s.find(ctx, org)
	if err == nil && p.Issuer == "" {
		some, err = store.Read(ctx, s.service.db, func(tx *store.Tx) (bool, error) { return tx.Identities.AnyProvider(ctx) })
		err = fault.Wrap("look for identity providers", err)
	}
	if err != nil || p.Issuer == "" {
		return Offer{}, some, err
	}
	host := p.Issuer
	if u, err := url.Parse(p.Issuer); err == nil {
		host = u.Host
	}
	return Offer{Org: found.Name, Name: cmp.Or(p.Settings.Name, host)}, true, nil
}

// find returns an organization and its provider. Both are empty unless people can log in there.
func (s *SSO) find(ctx context.Context, name string) (org store.Org, p identities.Provider, err error) {
	if name = cmp.Or(name, s.service.config.DefaultOrg); names.LookupProblem(name) != "" {
		return org, p, nil
	}
	err = s.service.db.View(ctx, func(tx *store.Tx) (err error) {
		if org, err = tx.Orgs.ByName(ctx, names.Canonical(name)); err == nil {
			p, err = tx.Identities.Provider(ctx, org.UID)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) || err == nil && p.Settings.Disabled {
		return store.Org{}, identities.Provider{}, nil
	}
	return org, p, fault.Wrap("look up an identity provider", err)
}

// pending is a login that has begun. The browser holds it, encrypted, so that no row is needed.
type pending struct {
	State, Nonce, Verifier string
	Issuer, ClientID       string
	Next                   string // page to show after the login
	API                    bool   // of a program
	Ends                   time.Time
}

// Begun is what a browser needs to log in.
type Begun struct {
	URL    string        // of the provider
	Cookie secret.String // to be sent back to Complete
	Ends   time.Time
}

// Begin begins a login in a browser. next is for Completed.
//
// Faults: NotFound if the organization has no provider; Limited; Unavailable when it does not respond.
func (s *SSO) Begin(ctx context.Context, origin audit.Origin, org, next string) (Begun, error) {
	return s.begin(ctx, origin, org, pending{Next: next})
}

// BeginAPI is Begin for a program, for CompleteAPI.
func (s *SSO) BeginAPI(ctx context.Context, origin audit.Origin, org string) (Begun, error) {
	return s.begin(ctx, origin, org, pending{API: true})
}

func (s *SSO) begin(ctx context.Context, origin audit.Origin, org string, begun pending) (Begun, error) {
	if err := s.service.reserve(origin); err != nil {
		return Begun{}, err
	}
	found, stored, err := s.find(ctx, org)
	if err != nil {
		return Begun{}, err
	}
	if stored.Issuer == "" {
		return Begun{}, fault.ResourceNotFound("This organization has no identity provider. Log in with a password.")
	}
	p, err := s.provider(ctx, stored)
	if err != nil {
		return Begun{}, s.unavailable(ctx, stored, err)
	}
	begun.State, begun.Nonce, begun.Verifier = rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	begun.Issuer, begun.ClientID, begun.Ends = stored.Issuer, stored.Settings.ClientID, s.service.config.Now().Add(loginTime)
	p.useCallback(s, begun)
	ciphertext, err := store.Read(ctx, s.service.db, func(tx *store.Tx) ([]byte, error) {
		return tx.Identities.Encrypt(begun, purposeLogin, found.UID)
	})
	if err != nil {
		return Begun{}, fault.Wrap("begin a login", err)
	}
	cookie := secret.String(base64.RawURLEncoding.EncodeToString(ciphertext))
	return Begun{URL: p.authorizationURL(begun), Cookie: cookie, Ends: begun.Ends}, nil
}

// Completed is the result of a login in a browser, as of auth.LoginConsole.
type Completed struct {
	Reference secret.String
	Ends      time.Time
	Next      string
}

// Complete logs in a browser that comes back from the provider of an organization, with the query of its address and the cookie of Begin.
//
// Faults: Unauthenticated with a reason; Limited; Unavailable when the provider does not respond.
func (s *SSO) Complete(ctx context.Context, origin audit.Origin, orgUID string, query url.Values, cookie secret.String) (
	done Completed, err error) {
	err = s.complete(ctx, origin, orgUID, query, cookie, false, func(begun pending, v auth.Vouched) error {
		done.Next = begun.Next
		done.Reference, done.Ends, err = s.service.logins.LoginVouchedConsole(ctx, origin, v)
		return err
	})
	return done, err
}

// CompleteAPI is Complete for a program: it returns tokens.
func (s *SSO) CompleteAPI(ctx context.Context, origin audit.Origin, orgUID string, query url.Values, cookie secret.String) (
	tokens auth.Tokens, err error) {
	err = s.complete(ctx, origin, orgUID, query, cookie, true, func(_ pending, v auth.Vouched) error {
		tokens, err = s.service.logins.LoginVouched(ctx, origin, v)
		return err
	})
	return tokens, err
}

func (s *SSO) complete(ctx context.Context, origin audit.Origin, orgUID string, query url.Values, cookie secret.String, api bool,
	logIn func(pending, auth.Vouched) error) error {
	if err := s.service.reserve(origin); err != nil {
		return err
	}
	org, stored, begun, ok, err := s.resume(ctx, orgUID, query, cookie)
	if err != nil {
		return err
	}
	if !ok || begun.API != api {
		return refused(ReasonExpiredLogin)
	}
	p, err := s.provider(ctx, stored)
	if err != nil {
		return s.unavailable(ctx, stored, err)
	}
	p.useCallback(s, begun)
	token, claimed, reason, err := s.redeem(ctx, p, begun, query)
	if err != nil {
		return s.unavailable(ctx, stored, err)
	}
	if reason != "" {
		return s.refuse(ctx, origin, org, claimed, "", reason)
	}
	err = logIn(begun, s.vouch(ctx, origin, org, p, begun, claimed, token))
	if refusal, ok := errors.AsType[refusal](err); ok {
		return s.refuse(ctx, origin, org, claimed, claimed.subject, string(refusal))
	}
	if errors.Is(err, store.ErrExists) { // created by a concurrent login
		return fault.Busy("Your user is being created by another request. Try again.", time.Second)
	}
	return err
}

// resume returns the login that the browser began. ok is false if it did not begin it here, or for another provider.
func (s *SSO) resume(ctx context.Context, orgUID string, query url.Values, cookie secret.String) (
	org store.Org, p identities.Provider, begun pending, ok bool, err error) {
	ciphertext, err := base64.RawURLEncoding.DecodeString(cookie.Reveal())
	if err != nil || cookie == "" {
		return org, p, begun, false, nil
	}
	damaged := false
	err = s.service.db.View(ctx, func(tx *store.Tx) (err error) {
		if damaged = tx.Identities.Decrypt(ciphertext, &begun, purposeLogin, orgUID) != nil; damaged {
			return nil
		}
		if org, err = tx.Orgs.Get(ctx, orgUID); err == nil {
			p, err = tx.Identities.Provider(ctx, orgUID)
		}
		return err
	})
	if damaged || errors.Is(err, store.ErrNotFound) {
		return org, p, begun, false, nil
	}
	if err != nil {
		return org, p, begun, false, fault.Wrap("continue a login", err)
	}
	ok = s.service.config.Now().Before(begun.Ends) && !p.Settings.Disabled && p.Issuer == begun.Issuer &&
		p.Settings.ClientID == begun.ClientID && subtle.ConstantTimeCompare([]byte(one(query, "state")), []byte(begun.State)) == 1
	return org, p, begun, ok, nil
}

// one returns a parameter that is sent once.
func one(query url.Values, name string) string {
	if values := query[name]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// redeem exchanges the code of a response of the provider for tokens, and verifies the ID token. Claims that it lacks, or that the
// organization reads there first, are those of the userinfo endpoint.
func (s *SSO) redeem(ctx context.Context, p *provider, begun pending, query url.Values) (
	token *oauth2.Token, claimed presented, reason string, err error) {
	if _, given := query["iss"]; (given || p.SendsIssuer) && one(query, "iss") != p.Issuer { // RFC 9207
		return nil, claimed, reasonIssuer, nil
	}
	if one(query, "code") == "" {
		return nil, claimed, ReasonRefusedThere, nil
	}
	token, err = p.exchange(ctx, one(query, "code"), begun.Verifier)
	if errors.Is(err, errGone) {
		return nil, claimed, reasonCodeNotUsable, nil
	}
	if err != nil {
		return nil, claimed, "", err
	}
	claimed, reason, err = s.verify(ctx, p, token)
	if nonce, _ := claimed.claims["nonce"].(string); err == nil && reason == "" &&
		subtle.ConstantTimeCompare([]byte(nonce), []byte(begun.Nonce)) != 1 {
		reason = reasonNonce
	}
	if complete(p.Settings, claimed.claims) && len(p.Settings.UserInfo) == 0 || reason != "" || err != nil {
		return token, claimed, reason, err
	}
	more, err := p.userInfo(ctx, token)
	if more != nil && more["sub"] != claimed.subject {
		return token, claimed, reasonSubject, err
	}
	preferUserInfo(p.Settings, claimed.claims, more)
	for name, value := range more {
		if _, given := claimed.claims[name]; !given {
			claimed.claims[name] = value
		}
	}
	return token, claimed, "", err
}

// preferUserInfo replaces claims of an ID token by those that the organization reads from the userinfo endpoint. Whether an address is
// verified is only known from where the address is from.
func preferUserInfo(s identities.Settings, claims, more map[string]any) {
	for key, name := range s.UserInfo {
		value, given := more[name]
		if !given {
			continue
		}
		claims[s.Claim(key)] = value
		if key == identities.ClaimEmail {
			delete(claims, "email_verified")
		}
	}
}

// complete reports whether a token has the claims that a login needs.
func complete(s identities.Settings, claims map[string]any) bool {
	_, email := claims[s.Claim(identities.ClaimEmail)]
	_, groups := claims[s.Claim(identities.ClaimGroups)]
	return email && (groups || s.Claim(identities.ClaimGroups) == "")
}

// refuse records why a login was refused, and returns the response, which says less. The object is as of record.
func (s *SSO) refuse(ctx context.Context, origin audit.Origin, org store.Org, claimed presented, object, reason string) error {
	if err := s.service.record(ctx, origin, org, claimed, object, reason); err != nil {
		return err
	}
	if _, known := messages[reason]; !known {
		reason = ReasonNotTrusted
	}
	f := refused(reason)
	f.Message = cmp.Or(ssoMessages[reason], f.Message)
	return f
}

// ssoMessages replace texts of messages, which are for programs, in responses to people.
var ssoMessages = map[string]string{
	ReasonMalformed: "The identity provider did not issue an ID token. Ask your administrator: its client needs the scope openid.",
	ReasonExpired: "The ID token of the identity provider has expired or is not valid yet. The clock of the provider or of this service " +
		"is wrong.",
	ReasonNotTrusted: "The response of the identity provider is not accepted. The audit log of the organization has the reason.",
}

func (s *SSO) unavailable(ctx context.Context, p identities.Provider, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.service.config.Log != nil {
		s.service.config.Log.Warn("identity provider not available", "org", p.OrgUID, "issuer", p.Issuer, "error", err)
	}
	return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, RetryAfter: fetchPause, Cause: err,
		Message: "The identity provider of your organization does not respond. Try again, or log in with a password."}
}

package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/secret"
)

const (
	codeUnauthorized         = "UnAuthorizedAccess"
	codeAuthenticationFailed = "AuthenticationFailed"
	// refreshTimeout is for a refresh, which goes on when its caller gives up: the old refresh token is consumed, and the new one
	// would be lost.
	refreshTimeout = 30 * time.Second
	// cancelGrace is how long a caller that gives up waits for its refresh, so that a program that ends then has stored the new pair. After
	// a longer refresh it has the old one, which the server accepts again for a while.
	cancelGrace    = time.Second
	maxRefreshLead = 30 * time.Second // how long before its expiry a token is refreshed
)

// authorizer has the credentials of a Client. lock, a semaphore of one, protects the fields below it; a wait for it ends with the context.
type authorizer struct {
	client             *Client
	apiKey             secret.String
	email, org         string
	onRefresh          func(token, refreshToken secret.String)
	secondFactor       func(context.Context, Challenge) (secret.String, error)
	onRecoveryCodes    func([]string)
	lockTokens         func(context.Context) (token, refreshToken secret.String, unlock func(), err error)
	hasLogin, hasToken bool

	lock      chan struct{}
	password  secret.String
	next      secret.String // replaces password at the next login
	token     secret.String
	refresh   secret.String
	refreshAt time.Time // zero if the expiry of the token is not known
}

func newAuthorizer(c *Client, config Config) *authorizer {
	a := &authorizer{client: c, apiKey: config.APIKey, email: config.Email, org: config.Org, password: config.Password,
		next: config.NewPassword, onRefresh: config.OnRefresh, secondFactor: config.SecondFactor, onRecoveryCodes: config.OnRecoveryCodes,
		lockTokens: config.LockTokens, hasLogin: config.Password != "",
		hasToken: config.RefreshToken != "",
		lock:     make(chan struct{}, 1)}
	a.setStoredTokens(config.Token, config.RefreshToken)
	return a
}

// setStoredTokens stores tokens that were issued some time ago, so that only the local clock shows their age.
func (a *authorizer) setStoredTokens(token, refresh secret.String) {
	a.setTokens(token, refresh)
	if issued, expires := lifetime(token); !expires.IsZero() {
		a.refreshAt = expires.Add(-refreshLead(expires.Sub(issued)))
	}
}

// setTokens stores tokens that were issued just now. The local clock may be wrong, so that of the server is used only for the
// lifetime.
func (a *authorizer) setTokens(token, refresh secret.String) {
	a.token, a.refresh, a.refreshAt = token, refresh, time.Time{}
	if issued, expires := lifetime(token); !expires.IsZero() {
		valid := expires.Sub(issued)
		a.refreshAt = time.Now().Add(valid - refreshLead(valid))
	}
}

func refreshLead(valid time.Duration) time.Duration { return min(maxRefreshLead, valid/10) }

// lifetime returns the times in a token, zero if it has none. The server verifies the token.
func lifetime(token secret.String) (issued, expires time.Time) {
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 {
		return time.Time{}, time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct{ Iat, Exp int64 }
	if err != nil || json.Unmarshal(payload, &claims) != nil || claims.Iat <= 0 || claims.Exp <= claims.Iat {
		return time.Time{}, time.Time{}
	}
	return time.Unix(claims.Iat, 0), time.Unix(claims.Exp, 0)
}

func (a *authorizer) acquire(ctx context.Context) error {
	select {
	case a.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *authorizer) release() { <-a.lock }

// renewable reports whether another token can be requested.
func (a *authorizer) renewable() bool { return a.hasLogin || a.hasToken }

// current returns a token that is still valid for a while, "" for a client without tokens.
func (a *authorizer) current(ctx context.Context) (secret.String, error) {
	if err := a.acquire(ctx); err != nil {
		return "", err
	}
	expiring := !a.refreshAt.IsZero() && time.Now().After(a.refreshAt)
	if a.token != "" && !expiring || !a.renewable() {
		defer a.release()
		return a.token, nil
	}
	return a.renewAndRelease(ctx)
}

// replace returns another token than the one that the server refused. Concurrent requests with that token share one refresh.
func (a *authorizer) replace(ctx context.Context, refused secret.String) (secret.String, error) {
	if err := a.acquire(ctx); err != nil {
		return "", err
	}
	if a.token != refused {
		defer a.release()
		return a.token, nil
	}
	return a.renewAndRelease(ctx)
}

// renewAndRelease renews the token, and releases the lock when that has ended. A caller whose context ends waits for cancelGrace only.
func (a *authorizer) renewAndRelease(ctx context.Context) (secret.String, error) {
	var token secret.String
	renewed := make(chan error, 1)
	go func() {
		defer a.release()
		var err error
		token, err = a.renew(ctx)
		renewed <- err
	}()
	select {
	case err := <-renewed:
		return token, err
	case <-ctx.Done():
	}
	select {
	case err := <-renewed:
		return token, err
	case <-time.After(cancelGrace):
		return "", ctx.Err()
	}
}

// renew refreshes the token, or logs in if that is not possible. The caller has the lock.
func (a *authorizer) renew(ctx context.Context) (secret.String, error) {
	if a.refresh == "" {
		return a.login(ctx)
	}
	if a.lockTokens != nil {
		token, refresh, unlock, err := a.lockTokens(ctx)
		if err != nil {
			return "", err
		}
		defer unlock()
		if refresh != "" && refresh != a.refresh {
			a.setStoredTokens(token, refresh)
			return token, nil
		}
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
	defer cancel()
	token, err := a.exchange(detached, request{path: api.PathRefresh, args: []string{a.refresh.Reveal()}, anonymous: true})
	if !refusedWith(err, http.StatusUnauthorized) {
		return token, err
	}
	a.refresh = "" // the session has ended, and another attempt would be recorded as token reuse
	if a.hasLogin {
		return a.login(ctx)
	}
	return "", err
}

func (a *authorizer) login(ctx context.Context) (secret.String, error) {
	if !a.hasLogin {
		return a.token, nil
	}
	token, err := a.exchange(ctx, request{method: http.MethodPost, path: api.PathAuthenticate, anonymous: true, creates: a.next != "",
		in: api.AuthenticateRequest{EmailID: a.email, Org: a.org, Password: a.password, NewPassword: a.next}})
	if err == nil && a.next != "" {
		a.password, a.next = a.next, ""
	}
	return token, err
}

// exchange sends credentials and stores the tokens of the response.
func (a *authorizer) exchange(ctx context.Context, r request) (secret.String, error) {
	var tokens api.AuthenticateResponse
	if err := a.client.send(ctx, r, "", &tokens); err != nil {
		return "", err
	}
	if tokens.IsMFA {
		var err error
		if tokens, err = a.completeLogin(ctx, tokens); err != nil {
			return "", err
		}
	}
	if tokens.Authorization == "" {
		return "", fmt.Errorf("%s: the response has no token", a.client.name(r))
	}
	a.setTokens(secret.String(tokens.Authorization), secret.String(tokens.RefreshToken))
	if a.onRefresh != nil {
		a.onRefresh(a.token, a.refresh)
	}
	if len(tokens.RecoveryCodes) > 0 && a.onRecoveryCodes != nil {
		a.onRecoveryCodes(tokens.RecoveryCodes)
	}
	return a.token, nil
}

func (a *authorizer) loginNow(ctx context.Context) error {
	if !a.hasLogin {
		return errLogin
	}
	if err := a.acquire(ctx); err != nil {
		return err
	}
	defer a.release()
	_, err := a.login(ctx)
	return err
}

// logout ends the session. An expired token is refreshed for it: the session lasts longer than the token.
func (a *authorizer) logout(ctx context.Context) error {
	if err := a.acquire(ctx); err != nil {
		return err
	}
	unused := a.token == "" && a.refresh == ""
	a.release()
	if unused {
		return nil
	}
	err := a.client.do(ctx, request{method: http.MethodPost, path: api.PathLogout}, nil)
	if refusedWith(err, http.StatusUnauthorized) {
		err = nil // the session has ended already
	}
	if err != nil {
		return err
	}
	if err := a.acquire(ctx); err != nil {
		return err
	}
	defer a.release()
	a.setTokens("", "")
	return nil
}

// use replaces the tokens.
func (a *authorizer) use(ctx context.Context, token secret.String) error {
	if err := a.acquire(ctx); err != nil {
		return err
	}
	defer a.release()
	a.setTokens(token, "")
	return nil
}

// setPassword replaces the password of later logins.
func (a *authorizer) setPassword(ctx context.Context, password secret.String) error {
	if err := a.acquire(ctx); err != nil {
		return err
	}
	defer a.release()
	if a.hasLogin {
		a.password = password
	}
	return nil
}

package content

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// CatalogScope is the scope of a token for the catalog.
const CatalogScope = "registry:catalog:*"

// PullScope returns the scope of a token for a repository.
func PullScope(repository string) string { return "repository:" + repository + ":pull" }

// Access authorizes requests for content. The zero value is anonymous.
type Access struct {
	Header  string             // Authorization of Basic, or of Bearer with a token of the definition; empty with a service
	Service *challenge.Service // issues a token per scope
	Login   challenge.Login    // at the service

	tokens   sync.Map // by scope, token
	readings sync.Map // by repository, Reading
	renewing sync.Mutex
}

type token struct {
	text string
	at   time.Time // when it was issued
}

// shortestLifetime is the age from which a token that a registry rejects may have expired. Services issue tokens for a minute or more.
const shortestLifetime = 30 * time.Second

// Remember stores the token for a scope, which was issued at a time.
func (a *Access) Remember(scope, text string, at time.Time) { a.tokens.Store(scope, token{text, at}) }

// Forget removes the token for a scope, which has expired.
func (a *Access) Forget(scope string) { a.tokens.Delete(scope) }

// ForgetAll removes all tokens and readings, which frees their memory during a long inventory.
func (a *Access) ForgetAll() {
	a.tokens.Clear()
	a.readings.Clear()
}

// Way is how content is requested: with which access, and for which scope.
type Way struct {
	*Access
	Scope string
}

// Authorize returns the Authorization of a way, empty for anonymous access and if its token service issues no token. An empty
// scope requests the token that the service issues without one.
func (c *Client) Authorize(ctx context.Context, w Way) (header string, g challenge.Grant) {
	if w.Service == nil {
		return w.Header, g
	}
	if stored, known := w.tokens.Load(w.Scope); known {
		return "Bearer " + stored.(token).text, g
	}
	var scopes []string
	if w.Scope != "" {
		scopes = []string{w.Scope}
	}
	g = c.RequestToken(ctx, w.Service, w.Login, scopes)
	if g.Token == "" {
		return "", g
	}
	w.Remember(w.Scope, g.Token, c.Now())
	return "Bearer " + g.Token, g
}

// Renew returns the Authorization with which a request is to be repeated if the registry's response is a 401 because the token that was
// used has expired. It is empty if no other token was issued. Concurrent callers get the same new token.
func (c *Client) Renew(ctx context.Context, w Way, used string, a *wire.Response) (header string, expired bool) {
	if a == nil || a.Status != 401 || a.From != c.Base.Origin || w.Service == nil || used == "" {
		return "", false
	}
	w.renewing.Lock()
	defer w.renewing.Unlock()
	if stored, known := w.tokens.Load(w.Scope); known && "Bearer "+stored.(token).text == used {
		if c.Now().Sub(stored.(token).at) < shortestLifetime {
			return "", false
		}
		w.Forget(w.Scope)
	}
	header, _ = c.Authorize(ctx, w)
	return header, true
}

// Basic returns the way by Basic that a registry requests in place of its own tokens, as Harbor does for the catalog. ok is
// false if it does not, or if another origin requests it.
func (c *Client) Basic(w Way, a *wire.Response) (basic Way, ok bool) {
	if a == nil || a.Status != 401 || a.From != c.Home || w.Service == nil || w.Login.User == "" ||
		!challenge.Offered(a).Basic {
		return Way{}, false
	}
	return Way{Access: &Access{Header: challenge.Basic(w.Login.User, w.Login.Password)}}, true
}

// Other returns the way that a 401 for a repository names. Content may be redirected to a third-party host, whose challenge
// must not decide where credentials are sent.
func (c *Client) Other(w Way, a *wire.Response, repository string) (other Way, ok bool) {
	o := challenge.Offered(a)
	if a.From != c.Base.Origin || o.Bearer == nil {
		return Way{}, false
	}
	t, err := challenge.ReadService(o.Bearer, a, c.Home.Scheme == "https")
	if err != nil {
		return Way{}, false
	}
	scope := strings.Join(t.Scopes, " ")
	if scope == "" {
		scope = PullScope(repository)
	}
	if w.Service != nil {
		return Way{w.Access, scope}, scope != PullScope(repository)
	}
	access := &Access{Service: t}
	if w.Header != "" {
		access.Login = c.Login
	}
	return Way{access, scope}, true
}

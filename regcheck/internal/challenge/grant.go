package challenge

import (
	"context"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Error is a problem of a token service.
type Error struct {
	Reason codes.Reason // of CodeTokenServiceFailed
	Seen   string       // what the registry or the token service sent, in a sentence
}

func (e *Error) Error() string { return e.Seen }

// ResponseError is a response of a token service that is not conclusive about the credentials.
type ResponseError struct{ Response *wire.Response }

func (e *ResponseError) Error() string { return "the token service returned " + e.Response.Summary() }

// ReadService reads the token service that a challenge of a response names. Its error is an *Error. secure means that the
// endpoint uses https: a token service must then use it too.
func ReadService(c *Challenge, a *wire.Response, secure bool) (*Service, error) {
	text := c.Params["realm"]
	invalid := func(why string) (*Service, error) {
		seen := fmt.Sprintf("%s names the token service %q: %s.", a.ShowURL(), a.Text(withoutQuery(text)), why)
		return nil, &Error{codes.ReasonRealmInvalid, seen}
	}
	if strings.TrimSpace(text) == "" {
		return invalid("the address is missing")
	}
	realm, err := a.URL.Parse(text) // a relative realm is relative to the request
	if err != nil {
		return invalid("it is not a URL")
	}
	if realm.Fragment != "" {
		return invalid("it has a fragment")
	}
	o, err := egress.ReadOrigin(realm)
	if err != nil {
		return invalid(a.Text(err.Error()))
	}
	if o.Scheme == "http" && (a.From.Scheme == "https" || secure) {
		return nil, &Error{codes.ReasonRealmInsecure, fmt.Sprintf("%s names %s.", a.ShowURL(), a.Text(wire.ShowURL(realm)))}
	}
	return &Service{Realm: realm, Origin: o, Service: c.Params["service"], Scopes: strings.Fields(c.Params["scope"]), From: a.From}, nil
}

func withoutQuery(realm string) string {
	before, _, _ := strings.Cut(realm, "?")
	return before
}

// Client sends token requests.
type Client struct {
	Wire *wire.Client
	Name string        // the client_id
	Home egress.Origin // the endpoint's: only a token service that it names gets the credentials
}

// Grant is the result of a token request.
type Grant struct {
	Token    string
	Rejected *wire.Response // 401 or 403, or 400 for credentials that may have expired
	Bad      *wire.Response // any other 400: another scope may be accepted
	Err      error          // an *Error, a *ResponseError, or why there is no response
	NoPost   bool           // with Err: the service does not support POST, which an identity token needs
}

// Denial returns the response that rejects the request, nil if there is none.
func (g Grant) Denial() *wire.Response {
	if g.Rejected != nil {
		return g.Rejected
	}
	return g.Bad
}

// RequestToken sends one token request. It follows no redirect: net/http would send the form with the secret again on a 307.
func (c Client) RequestToken(ctx context.Context, t *Service, who Login, scopes []string) Grant {
	p, err := c.Wire.Hop(ctx, t.From, t.Origin)
	if err != nil {
		return Grant{Err: err}
	}
	if t.From != c.Home {
		who = Login{}
	}
	a, err := c.Wire.Exchange(ctx, p, t.Call(c.Name, who, scopes))
	if err != nil {
		return Grant{Err: err}
	}
	g := readGrant(t, a)
	g.NoPost = who.Refresh != "" && (a.Status == 404 || a.Status == 405 || a.Status == 501)
	return g
}

// RequestFirst requests a token without a scope and, if that gets 400, with the scopes of the challenge, and then with others: some
// services require one. It returns the scopes that the token was requested with.
func (c Client) RequestFirst(ctx context.Context, t *Service, who Login, others []string) (g Grant, scopes []string) {
	g = c.RequestToken(ctx, t, who, nil)
	for _, tried := range [][]string{t.RealScopes(), others} {
		if g.Bad != nil && len(tried) > 0 {
			g, scopes = c.RequestToken(ctx, t, who, tried), tried
		}
	}
	if g.Bad != nil {
		return g, nil
	}
	return g, scopes
}

func readGrant(t *Service, a *wire.Response) Grant {
	broken := func(format string, args ...any) Grant {
		return Grant{Err: &Error{codes.ReasonBadTokenAnswer, fmt.Sprintf("The token service %s returned %s.", a.Text(wire.ShowURL(t.Realm)),
			fmt.Sprintf(format, args...))}}
	}
	switch {
	case certs.ExplainResponse(a) != nil, a.Unavailable():
		return Grant{Err: &ResponseError{a}}
	case a.Denied(), a.Status == 400 && wire.MentionsExpiry(a):
		return Grant{Rejected: a}
	case a.Status == 400:
		return Grant{Bad: a}
	case a.Status/100 == 3:
		return broken("%d and redirects to %s; redirects of token requests are not followed", a.Status,
			a.Text(withoutQuery(a.Header.Get("Location"))))
	case a.Status/100 == 2 && a.Status != 200: // its body may contain a token
		return broken("%d; Helm and other clients accept a token with status 200 only", a.Status)
	case a.Status != 200:
		return broken("%s", a.Summary())
	case a.Over:
		return broken("%d with a body longer than the limit", a.Status)
	case a.Packed:
		return broken("%d with a compressed body that was not requested", a.Status)
	case a.Cut != nil:
		return broken("%d, and the response ended early", a.Status)
	}
	token, err := ReadToken(a.Body)
	if err != nil {
		return broken("%d: %s", a.Status, err)
	}
	return Grant{Token: token}
}

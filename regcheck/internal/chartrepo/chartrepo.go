// Package chartrepo checks a chart repository by using it as Helm does: index.yaml, the credentials, and the archive of a chart.
package chartrepo

import (
	"context"
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/chartindex"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Repository is a definition of a chart repository, and how to send its requests.
type Repository struct {
	Wire      *wire.Client
	Base      endpoint.Base
	Authority string // host[:port] as it is written: Helm sends credentials to URLs with the same text
	Login     Login
	Charts    []chartindex.Chart // that must be readable
	Full      int64              // download archives up to this size; 0: only small ones
	List      int                // how many versions of charts Listed returns
	Explainer
}

// Login has the credentials of a definition. Without Headers there are none.
type Login struct {
	Headers        []string // values of Authorization, in the order in which they are tried
	Control        string   // one with random credentials; "" if it must not be sent
	Secret, User   string   // the fields to correct
	PassEverywhere bool     // as helm --pass-credentials
}

// Explainer is what the engine knows of failures of connections, and its notes.
type Explainer struct {
	NoResponse  func(what string, to *url.URL, err error) *codes.Failure
	TLS         func(*wire.Response) *codes.Failure // nil if TLS is not the cause
	Unavailable func(what string, a *wire.Response) *codes.Failure
	Warn        func(code codes.WarningCode, field string, format string, args ...any)

	KnownControl  func() (open, known bool) // of an earlier check
	RecordControl func(open bool)
}

// Check is the check of a repository. Its methods are the stages, in their order.
type Check struct {
	*Repository
	anonymous *wire.Response // to a request for the index without credentials
	own       fetched        // with the credentials, if there are any
	header    string         // the Authorization with which own was fetched
}

// indexURL returns the URL of the index.
func (r *Repository) indexURL() *url.URL { return r.Base.URL("index.yaml") }

// AskAnonymously requests the first byte of the index without credentials.
func (r *Repository) AskAnonymously(ctx context.Context) (*wire.Response, error) {
	return r.Wire.Fetch(ctx, wire.Request{URL: r.indexURL(), FirstByte: true}, true)
}

// Begin fetches the index, with and without credentials. Over plain HTTP the request without credentials comes first: it may lead to
// HTTPS. anonymous is the response to that, if it was sent already.
func (r *Repository) Begin(ctx context.Context, anonymous *wire.Response) (*Check, *codes.Failure) {
	c := &Check{Repository: r, anonymous: anonymous}
	if len(r.Login.Headers) == 0 {
		c.own = r.fetch(ctx, "")
		return c, c.noResponse()
	}
	var err error
	ask := func(ctx context.Context) {
		if c.anonymous == nil {
			c.anonymous, err = r.AskAnonymously(ctx)
		}
	}
	if r.Base.Scheme == "http" {
		ask(ctx)
		if err == nil && c.anonymous.From.Scheme == "https" {
			return c, r.redirected(c.anonymous)
		}
	}
	if err == nil {
		wire.Concurrently(ctx, ask, c.fetchOwn)
	}
	if err != nil {
		return c, r.NoResponse("GET "+wire.ShowURL(r.indexURL()), nil, err)
	}
	return c, c.noResponse()
}

// fetchOwn fetches the index with the credentials, in the forms that they may have.
func (c *Check) fetchOwn(ctx context.Context) {
	for _, header := range c.Login.Headers {
		c.own, c.header = c.fetch(ctx, header), header
		if !c.own.denied() {
			return
		}
	}
}

// Listed returns the versions of charts that the index of a valid repository has, and why a part of it could not be examined.
func (c *Check) Listed() (versions []chartindex.Version, unread string) {
	return c.own.index.All, c.Wire.Text(c.own.index.Unread)
}

func (c *Check) noResponse() *codes.Failure {
	if c.own.err != nil {
		return c.NoResponse("GET "+wire.ShowURL(c.indexURL()), nil, c.own.err)
	}
	return nil
}

// redirected is the failure of credentials that a redirect does not get.
func (r *Repository) redirected(a *wire.Response) *codes.Failure {
	to := *a.URL
	to.RawQuery, to.Path = "", strings.TrimSuffix(to.Path, "/index.yaml")
	return codes.Fail(codes.CodeRedirected, "", "%s redirects to %s; credentials are not sent to another origin.",
		wire.ShowURL(r.indexURL()), a.ShowURL()).Hinting("If that is the repository, set {endpoint} to %s.", wire.ShowURL(&to))
}

// sendsTo reports whether credentials are sent to a URL of the index: as in Helm, if scheme, host and port are written as those of the
// repository, or if the URL is relative.
func (r *Repository) sendsTo(written string) bool {
	repository := &url.URL{Scheme: r.Base.Scheme, Host: r.Authority}
	u, err := repository.Parse(written)
	return r.Login.PassEverywhere || err == nil && u.Scheme == repository.Scheme && strings.EqualFold(u.Host, repository.Host)
}

// resolve returns the URL of an archive, as Helm resolves it: relative to the address of the repository.
func (r *Repository) resolve(written string) (*url.URL, error) {
	u, err := url.Parse(written)
	if err != nil || u.IsAbs() {
		return u, err
	}
	return r.Base.URL("").ResolveReference(u), nil
}

// origin returns the origin of the repository.
func (r *Repository) origin() egress.Origin { return r.Base.Origin }

package regcheck

import (
	"cmp"
	"context"
	"slices"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/product"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// checkAnonymous checks whether anonymous access works. With a content path it is checked there: what /v2/ returns to
// anonymous callers does not show what they may read.
func (s authCheck) checkAnonymous(ctx context.Context) authResult {
	a := s.opened.bare
	if a.Status == 403 {
		f := fail(CodeAccessDenied, "", "GET %s returned %s.", s.Base.String(), a.Summary()).At("auth.type").
			Hinting("Set {auth.username} and {auth.password}, or {auth.token}. If the server restricts source addresses, ask its " +
				"operator to allow {program}.")
		if s.certificateUnmet() {
			f.At("auth.tls.certificate").Hint = codes.Lookup(CodeTLSFailed, ReasonClientCertificateRequired).Hint +
				" The server requests one. Otherwise: " + f.Hint
		}
		return authResult{failure: f}
	}
	if s.plan.contentPath != "" || len(s.plan.references) > 0 {
		return s.checkAnonymousContent(ctx)
	}
	switch {
	case accepted(a):
		return authResult{access: &content.Access{}}.withDetail("anonymous access works")
	case s.opened.offers.Bearer != nil:
		return s.checkAnonymousToken(ctx)
	}
	return authResult{failure: s.authRequired(a)}
}

func (s authCheck) authRequired(a *wire.Response) *failure {
	o := challenge.Offered(a)
	offer := "without a challenge"
	switch {
	case o.Bearer != nil:
		offer = "which requires a Bearer token"
	case o.Basic:
		offer = "which requires Basic credentials"
	case len(o.Unsupported) > 0:
		offer = "which offers " + s.Wire.Text(o.Unsupported[0])
	}
	f := fail(CodeAuthRequired, "", "GET %s without credentials returned %s, %s.", a.ShowURL(), a.Summary(), offer)
	f.Hint = cmp.Or(product.Of(o).Login(), f.Hint)
	return s.hintCertificate(f)
}

// checkAnonymousToken requests a token without credentials. A rejection is not conclusive if the challenge has a
// placeholder scope: GHCR issues tokens per public repository only.
func (s authCheck) checkAnonymousToken(ctx context.Context) authResult {
	t, f := s.bearerService()
	if f != nil {
		return authResult{failure: f}
	}
	if t == nil {
		return authResult{failure: s.authRequired(s.opened.bare)}
	}
	g := s.RequestToken(ctx, t, challenge.Login{}, nil)
	access := &content.Access{Service: t}
	switch {
	case g.Err != nil:
		return authResult{failure: s.diagnoseGrant(t, g.Err)}
	case g.Token == "" && !t.Placeholder():
		f := fail(CodeAuthRequired, "", "The token service %s issues no anonymous token: %s.", s.Wire.ShowURL(t.Realm),
			g.Denial().Summary())
		f.Hint += " For public content, such as a public project of Harbor, set {baseContentPath} to its path; anonymous access is then " +
			"checked there."
		return authResult{failure: s.hintCertificate(f)}
	case g.Token == "":
		s.warn(WarnAnonymousAccessNotProven, "The token service %s issues anonymous tokens only for public repositories.",
			s.Wire.ShowURL(t.Realm))
		return authResult{access: access}.withDetail("anonymous access is not proven")
	}
	access.Remember("", g.Token, s.now())
	a, f := s.usable(ctx, "Bearer "+g.Token)
	if f != nil {
		return authResult{failure: f}
	}
	if !accepted(a) {
		s.warn(WarnAnonymousAccessNotProven, "The anonymous token of %s was rejected with %d.", s.Wire.Text(t.Origin.String()), a.Status)
		return authResult{access: access}.withDetail("anonymous access is not proven")
	}
	return authResult{access: access}.withDetail("anonymous token from " + s.Wire.Text(t.Origin.String()) + " accepted")
}

// checkAnonymousContent tries the content path without credentials.
func (s authCheck) checkAnonymousContent(ctx context.Context) authResult {
	acc, f := s.anonymousAccess()
	if f != nil {
		return authResult{failure: f}
	}
	if s.plan.contentPath == "" {
		return authResult{access: acc}.withDetail("anonymous access is tried with each reference")
	}
	r := s.Tags(ctx, acc, s.plan.contentPath)
	if f := s.diagnoseReading(r); f != nil {
		return authResult{failure: f}
	}
	facts := s.Facts(acc, s.place(), r)
	facts.Listed = content.ListsUnknown // the content stage requests it
	if s.opened.bare.Status == 401 && s.opened.offers.Bearer == nil {
		facts.Malformed = false // every path is denied, valid or not
	}
	for facts.Decide().IsRequest() {
		below := s.Below(ctx, acc, s.place())
		if f := s.diagnoseReading(below); f != nil {
			return authResult{failure: f}
		}
		if facts.Below = below.State(); !r.Denied() {
			r = below
		}
	}
	if facts.Decide() != content.PathDenied {
		return authResult{access: acc}.withDetail("anonymous access to the content tried")
	}
	return authResult{failure: s.contentPrivate(r, s.publicBelow(ctx, acc))}
}

// publicBelow returns a repository below the content path that anonymous callers may read, "" if the catalog shows none.
func (s authCheck) publicBelow(ctx context.Context, acc *content.Access) string {
	listed := s.Catalog(ctx, acc).Below(s.plan.contentPath)
	for _, name := range listed[:min(len(listed), maxBelow)] {
		if s.Tags(ctx, acc, name).State().Readable() {
			return name
		}
	}
	return ""
}

// anonymousAccess returns the access of callers without credentials, with the token service if the registry names one.
func (s exchange) anonymousAccess() (*content.Access, *failure) {
	if s.opened.bare.Status != 401 {
		return &content.Access{}, nil
	}
	t, f := s.bearerService()
	return &content.Access{Service: t}, f
}

// anonymousWorks reports whether the definition would be valid without its credentials, which were rejected. If it names
// content, only that counts: /v2/ may be open while the content is private (zot with a mixed policy).
func (s exchange) anonymousWorks(ctx context.Context) bool {
	repositories := s.plan.repositories()
	if len(repositories) == 0 {
		return s.bareIsOpen()
	}
	acc, f := s.anonymousAccess()
	if f != nil {
		return false
	}
	anonymous, plan := contentCheck{exchange: s, grant: grant{access: acc}}, *s.plan
	plan.login.Type = NoAuth
	anonymous.plan, anonymous.transcript = &plan, &transcript{}
	return !slices.ContainsFunc(repositories, func(repository string) bool {
		plan.contentPath = repository
		return !anonymous.contentIsReadable(ctx)
	})
}

// checkByContent checks credentials that /v2/ did not verify: a registry may authorize every caller there and still protect
// its repositories.
func (s authCheck) checkByContent(ctx context.Context, v *authResult) {
	place := s.place()
	if place.Path = s.plan.repository(); place.Path == "" {
		return
	}
	bare := s.Tags(ctx, &content.Access{}, place.Path)
	if bare.Err != nil || !bare.Denied() {
		return
	}
	r := s.Tags(ctx, v.access, place.Path)
	switch {
	case r.Grant.Rejected != nil:
		v.failure = s.notGranted(ctx, r.Way.Service, r.Grant)
	case r.Err != nil || r.Response == nil:
	case accepted(r.Response):
		v.unverified = false
		*v = v.withDetail("checked: anonymous callers cannot read the content")
	case r.Response.Status == 401 && !s.Below(ctx, v.access, place).State().Readable():
		// Credentials that are treated like none are most likely wrong.
		v.failure = s.credentialsRejected(ctx, r.Response, r.Response.ShowURL(), "accepted by GET /v2/, which accepts any")
	}
}

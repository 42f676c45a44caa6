package regcheck

import (
	"context"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// proveNobody checks whether anonymous use works. With a content path it is judged there: what /v2/
// says to strangers has little to do with what they may read.
func (s *session) proveNobody(ctx context.Context) verdict {
	a := s.opened.bare
	if a.Status == 403 {
		f := fail(CodeAccessDenied, "", "GET %s was answered %s.", s.base.String(), a.Said()).at("auth.type").
			hinting("Write credentials with the type basic or token; if the server allows listed source addresses only, have " + program + "'s address listed.")
		return verdict{failure: f}
	}
	if s.plan.contentPath != "" {
		return s.nobodyReads(ctx)
	}
	switch {
	case good(a):
		return verdict{access: &access{}}.saying("anonymous access works")
	case s.opened.offers.Bearer != nil:
		return s.nobodyByService(ctx)
	}
	return verdict{failure: s.authRequired(a)}
}

func (s *session) authRequired(a *wire.Response) *failure {
	o := challenge.Offered(a.Header.Values("WWW-Authenticate"))
	asked := "without saying how to sign in"
	switch {
	case o.Bearer != nil:
		asked = "asking for a Bearer token"
	case o.Basic:
		asked = "asking for Basic credentials"
	case len(o.Unsupported) > 0:
		asked = "offering " + o.Unsupported[0]
	}
	return fail(CodeAuthRequired, "", "GET %s without credentials was answered %s, %s.", wire.ShowURL(a.URL), a.Said(), asked)
}

// nobodyByService asks the token service without credentials. Its no settles nothing when the
// challenge holds a placeholder scope: GHCR gives tokens per public repository only.
func (s *session) nobodyByService(ctx context.Context) verdict {
	t, f := s.bearerService()
	if f != nil {
		return verdict{failure: f}
	}
	if t == nil {
		return verdict{failure: s.authRequired(s.opened.bare)}
	}
	g := s.ask(ctx, t, challenge.Login{}, nil)
	s.rounds += g.rounds
	access := &access{service: t}
	switch {
	case g.failure != nil:
		return verdict{failure: g.failure}
	case g.token == "" && !t.Placeholder():
		a := g.refused
		if a == nil {
			a = g.bad
		}
		f := fail(CodeAuthRequired, "", "The token service %s gives nothing to anonymous callers: %s.", wire.ShowURL(t.Realm), a.Said())
		f.hint += " For public content only, such as a public project of Harbor, write its path into baseContentPath: anonymous access is then tried on it."
		return verdict{failure: f}
	case g.token == "":
		s.warn(WarnAnonymousAccessNotProven, "The token service %s gives anonymous tokens for public repositories at most.", wire.ShowURL(t.Realm))
		return verdict{access: access}.saying("anonymous access is not proven")
	}
	access.remember("", g.token)
	a, err := s.getWith(ctx, "Bearer "+g.token)
	if err != nil {
		return verdict{failure: s.diagnoseRequest(err)}
	}
	if f := s.unusable(ctx, a); f != nil {
		return verdict{failure: f}
	}
	if !good(a) {
		s.warn(WarnAnonymousAccessNotProven, "The anonymous token of %s was answered %d.", t.Origin.String(), a.Status)
		return verdict{access: access}.saying("anonymous access is not proven")
	}
	return verdict{access: access}.saying("anonymous token from " + t.Origin.String() + " accepted")
}

// nobodyReads tries the content path without credentials.
func (s *session) nobodyReads(ctx context.Context) verdict {
	acc, f := s.nobodysAccess()
	if f != nil {
		return verdict{failure: f}
	}
	r := s.tags(ctx, acc, s.plan.contentPath)
	if f := s.unread(r); f != nil {
		return verdict{failure: f}
	}
	facts := s.contentFacts(acc, r)
	facts.listed = listsUnknown // the content stage asks
	if s.opened.bare.Status == 401 && s.opened.offers.Bearer == nil {
		facts.malformed = false // every path is refused, whatever its spelling
	}
	for facts.decide() <= askBoth {
		below := s.tagsBelow(ctx, acc)
		if f := s.unread(below); f != nil {
			return verdict{failure: f}
		}
		if facts.below = below.kind(); !r.denied() {
			r = below
		}
	}
	if facts.decide() != pathDenied {
		return verdict{access: acc}.saying("anonymous access to the content tried")
	}
	return verdict{failure: fail(CodeAuthRequired, "", "%s cannot be read without credentials: %s.", wire.CleanText(s.plan.contentPath), r.why())}
}

func (s *session) nobodysAccess() (*access, *failure) {
	if s.opened.bare.Status != 401 || s.opened.offers.Bearer == nil {
		return &access{}, nil
	}
	t, f := s.bearerService()
	if f != nil {
		return nil, f
	}
	if t == nil {
		return &access{}, nil
	}
	return &access{service: t}, nil
}

// anonymousWorks reports whether the definition would be valid without its credentials, which were rejected. With
// a content path only that path counts: /v2/ may be open while the path is private (zot with a mixed policy).
func (s *session) anonymousWorks(ctx context.Context) bool {
	if s.plan.contentPath == "" {
		return s.bareIsOpen()
	}
	acc, f := s.nobodysAccess()
	if f != nil {
		return false
	}
	anonymous := *s
	anonymous.access = acc
	defer func() { s.rounds = anonymous.rounds }()
	return anonymous.contentIsReadable(ctx)
}

// settleByContent looks for the proof that /v2/ did not give: a registry may let everybody in there
// and still guard its repositories.
func (s *session) settleByContent(ctx context.Context, v *verdict) {
	if s.plan.contentPath == "" {
		return
	}
	bare := s.tags(ctx, &access{}, s.plan.contentPath)
	if bare.err != nil || !bare.denied() {
		return
	}
	r := s.tags(ctx, v.access, s.plan.contentPath)
	switch {
	case r.granted.refused != nil:
		v.failure = s.notGranted(ctx, r.at.service, r.granted)
	case r.err != nil || r.answer == nil:
	case good(r.answer):
		v.unproven = false
		*v = v.saying("checked: the content is closed to anonymous callers")
	case r.answer.Status == 401 && !s.tagsBelow(ctx, v.access).kind().readable():
		// Who is treated like a stranger has most likely a wrong password.
		v.failure = s.refusal(ctx, r.answer, wire.ShowURL(r.answer.URL), "let in at the API's root, as anybody is")
	}
}

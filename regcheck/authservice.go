package regcheck

import (
	"context"
	"fmt"
	"maps"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// proveByService is the way of a Bearer challenge: a token without scope first, because a scoped
// request with a wrong password may well be answered with an anonymous token (harbor#11632).
func (s *session) proveByService(ctx context.Context, t *challenge.Service, who challenge.Login) verdict {
	// Whether nobody gets a token too is asked at the same time: it decides what ours proves.
	askNobody := func() granting { return s.ask(ctx, t, challenge.Login{}, nil) }
	nobody := make(chan granting, 1)
	if s.hasHTTPS(t) {
		nobody = wire.Later(&s.wire.Work, askNobody)
	}
	g := s.ask(ctx, t, who, nil)
	s.rounds += g.rounds
	var scopes []string
	if g.bad != nil {
		g, scopes = s.askScoped(ctx, t, who, g)
	}
	if f := s.notGranted(ctx, t, g); f != nil {
		return verdict{failure: f}.saying("the token service gave no token")
	}
	if !s.hasHTTPS(t) {
		nobody <- askNobody()
	}
	proof := tokenProof{service: t, who: who, granted: g, scopes: scopes}
	weighable := s.startWeighing(ctx, &proof, nobody)
	content := s.startContentToken(ctx, t, who)
	a, err := s.get(ctx, "", "Bearer "+g.token)
	<-weighable
	ahead := <-content
	if ahead.token != "" {
		proof.tokens = map[string]string{pullScope(s.plan.contentPath): ahead.token}
	}
	if err != nil {
		return verdict{failure: s.diagnoseRequest(err)}
	}
	s.rounds += max(a.Rounds, ahead.rounds)
	if f := s.unusable(ctx, a); f != nil {
		return verdict{failure: f}
	}
	if good(a) {
		return s.weigh(ctx, proof, verdict{access: proof.access()}.saying("token from "+t.Origin.String()+" accepted"))
	}
	return s.afterRejection(ctx, proof, a)
}

// startContentToken asks for the token of the content path, which will be needed if the first token is accepted. It
// waits for that first token, so that a wrong password is sent once only.
func (s *session) startContentToken(ctx context.Context, t *challenge.Service, who challenge.Login) <-chan granting {
	if s.plan.contentPath == "" || !s.hasHTTPS(t) {
		none := make(chan granting, 1)
		none <- granting{}
		return none
	}
	return wire.Later(&s.wire.Work, func() granting { return s.ask(ctx, t, who, []string{pullScope(s.plan.contentPath)}) })
}

func (s *session) hasHTTPS(t *challenge.Service) bool { return t.Origin.Scheme == "https" }

// tokenProof is what is known after a token was granted.
type tokenProof struct {
	service   *challenge.Service
	who       challenge.Login
	granted   granting
	scopes    []string // that the granted token was asked for
	proven    string   // path below /v2/ where the token was let in; "" is /v2/ itself
	status    int      // with which
	anonymous granting
	tokens    map[string]string // of other scopes
	control   chan granting     // the answer for random credentials, when it was asked for ahead
}

// nobodyRefused reports whether a token is given to those only who sign in.
func (p tokenProof) nobodyRefused() bool {
	return p.anonymous.token == "" && p.anonymous.refused != nil
}

func (p tokenProof) access() *access {
	a := &access{service: p.service, who: p.who, tokens: maps.Clone(p.tokens)}
	if len(p.scopes) == 0 {
		a.remember("", p.granted.token)
	}
	return a
}

// askScoped repeats a request that was answered 400 with the scope of the challenge, or of the
// content: some services want one.
func (s *session) askScoped(ctx context.Context, t *challenge.Service, who challenge.Login, first granting) (granting, []string) {
	tries := [][]string{t.RealScopes()}
	if s.plan.contentPath != "" {
		tries = append(tries, []string{pullScope(s.plan.contentPath)})
	}
	g := first
	for _, scopes := range tries {
		if len(scopes) == 0 {
			continue
		}
		g = s.ask(ctx, t, who, scopes)
		s.rounds += g.rounds
		if g.bad == nil {
			return g, scopes
		}
	}
	return g, nil
}

func pullScope(repository string) string { return "repository:" + repository + ":pull" }

// notGranted is the failure of a token request with the definition's credentials.
func (s *session) notGranted(ctx context.Context, t *challenge.Service, g granting) *failure {
	by := "The token service " + wire.ShowURL(t.Realm)
	switch {
	case g.failure != nil:
		return g.failure
	case g.refused != nil && wire.SaysExpired(g.refused):
		return fail(CodeAuthFailed, ReasonExpired, "%s refused the credentials: %s.", by, g.refused.Said()).at(s.plan.secretField())
	case g.refused != nil:
		return s.refusal(ctx, g.refused, by, "token request")
	case g.bad != nil:
		return fail(CodeTokenServiceFailed, ReasonBadTokenAnswer, "%s answered %s.", by, g.bad.Said())
	}
	return nil
}

// weigh decides whether the token that the registry accepted says anything about the credentials:
// Gitea's and Google's services give one to nobody as well.
func (s *session) weigh(ctx context.Context, p tokenProof, v verdict) verdict {
	if p.nobodyRefused() {
		return v.saying("checked: nobody gets no token")
	}
	if !s.control {
		v.unproven, v.why = true, "The control request with random credentials is switched off."
		return v
	}
	if open, known := s.knownControl(); known {
		return s.recalled(v, open, openService)
	}
	g := s.askControl(ctx, p)
	switch {
	case g.refused != nil || g.bad != nil:
		s.controlled(false)
		return v.saying("checked: random credentials are refused")
	case g.token == "":
		v.unproven, v.why = true, "The control request with random credentials got no usable answer."
		return v
	}
	a, err := s.present(ctx, p, g.token)
	if err == nil && denied(a) && a.Status != p.status {
		s.controlled(false)
		return v.saying("checked: the token for random credentials is refused")
	}
	if err == nil && good(a) {
		s.controlled(true)
	}
	v.unproven, v.why = true, openService
	return v.saying("not checked by the token service")
}

const openService = "The token service gives a token for random credentials as well, and the registry takes it."

// present shows a token where ours was let in: elsewhere a refusal would say nothing, since new Harbor
// releases refuse every scope-less token on /v2/ (harbor#23799).
func (s *session) present(ctx context.Context, p tokenProof, token string) (*wire.Response, error) {
	if p.proven == "" {
		return s.getWith(ctx, "Bearer "+token)
	}
	return s.read(ctx, p.proven, tagsQuery, "Bearer "+token)
}

// askControl asks with credentials that nobody has; never with the real user name, which could lock
// the account.
func (s *session) askControl(ctx context.Context, p tokenProof) granting {
	if p.control != nil {
		g := <-p.control
		p.control <- g // for who asks again
		return g
	}
	g := s.sendControl(ctx, p)
	s.rounds += g.rounds
	return g
}

// startWeighing waits for what nobody gets, beside the request to the registry. When that is a token too, the
// control request follows at once: it will be needed whatever the registry says.
func (s *session) startWeighing(ctx context.Context, p *tokenProof, nobody <-chan granting) <-chan struct{} {
	done := make(chan struct{})
	s.wire.Work.Do(func() {
		defer close(done)
		p.anonymous = <-nobody
		if !s.control || p.nobodyRefused() {
			return
		}
		if _, known := s.knownControl(); known {
			return
		}
		asked := *p
		p.control = wire.Later(&s.wire.Work, func() granting { return s.sendControl(ctx, asked) })
	})
	return done
}

func (s *session) sendControl(ctx context.Context, p tokenProof) granting {
	who := challenge.Login{User: s.invented(), Password: random()}
	if p.who.Refresh != "" {
		who = challenge.Login{Refresh: random()}
	}
	return s.ask(ctx, p.service, who, p.scopes)
}

// afterRejection: a registry that refuses a fresh token says nothing yet about the credentials. New
// Harbor releases refuse scope-less tokens on /v2/ (harbor#23799). So: Basic if it was ever offered,
// then the challenge's own scope, then the content's.
func (s *session) afterRejection(ctx context.Context, p tokenProof, a *wire.Response) verdict {
	if a.Status == 403 {
		return verdict{failure: s.refusal(ctx, a, s.base.String(), "token")}
	}
	rejected := fmt.Sprintf("token from %s refused by the registry (%d)", p.service.Origin, a.Status)
	offered := s.opened.offers.Basic || challenge.Offered(a.Header.Values("WWW-Authenticate")).Basic
	if offered && p.who.User != "" {
		b, err := s.getWith(ctx, challenge.Basic(p.who.User, p.who.Password))
		if err == nil && b.Status/100 == 2 && !wire.IsHTML(b) {
			v := verdict{access: p.access()}.saying(rejected).saying("Basic accepted")
			if !s.bareIsOpen() {
				return v.saying("checked: without credentials the answer is " + itoa(s.opened.bare.Status))
			}
			return s.controlDirect(ctx, v, challenge.Basic(s.invented(), random()))
		}
	}
	if v, ok := s.tryScopes(ctx, p); ok {
		return v.saying(rejected)
	}
	if s.control {
		if g := s.askControl(ctx, p); g.refused != nil || g.bad != nil {
			f := fail(CodeTokenServiceFailed, ReasonTokenRejected, "%s gave a token and refuses random credentials, but GET %s with that token was answered %s.",
				wire.ShowURL(p.service.Realm), s.base.String(), a.Said())
			return verdict{failure: f}.saying(rejected)
		}
	}
	return verdict{failure: s.refusal(ctx, a, s.base.String(), "token")}.saying(rejected)
}

// tryScopes asks for a token with the scopes that may make a difference.
func (s *session) tryScopes(ctx context.Context, p tokenProof) (verdict, bool) {
	if scopes := p.service.RealScopes(); len(scopes) > 0 && len(p.scopes) == 0 {
		g := s.ask(ctx, p.service, p.who, scopes)
		s.rounds += g.rounds
		if g.token != "" {
			a, err := s.getWith(ctx, "Bearer "+g.token)
			if err == nil && good(a) {
				p.scopes, p.control = scopes, nil
				return s.weigh(ctx, p, verdict{access: p.access()}.saying("token with the challenge's scope accepted")), true
			}
		}
	}
	if s.plan.contentPath == "" {
		return verdict{}, false
	}
	access := p.access()
	header, _ := s.authorization(ctx, access, pullScope(s.plan.contentPath))
	if header == "" {
		return verdict{}, false
	}
	path := s.plan.contentPath + "/tags/list"
	a, err := s.read(ctx, path, tagsQuery, header)
	if err != nil || a.Status == 401 {
		return verdict{}, false
	}
	p.proven, p.status, p.control = path, a.Status, nil
	p.scopes = []string{pullScope(s.plan.contentPath)}
	return s.weigh(ctx, p, verdict{access: access}.saying("token with the content's scope accepted")), true
}

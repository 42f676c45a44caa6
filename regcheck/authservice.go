package regcheck

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// checkByService follows a Bearer challenge. It requests a token without scope first, because the response to a scoped request
// with a wrong password may be an anonymous token (harbor#11632).
func (s authCheck) checkByService(ctx context.Context, t *challenge.Service, who challenge.Login) authResult {
	// Whether anonymous callers get a token too is requested at the same time: it decides what our token proves.
	requestAnonymous := func() challenge.Grant { return s.RequestToken(wire.Ahead(ctx), t, challenge.Login{}, nil) }
	anonymous := make(chan challenge.Grant, 1)
	if t.HasHTTPS() {
		anonymous = wire.Later(&s.Wire.Work, requestAnonymous)
	}
	g, scopes := s.RequestFirst(ctx, t, who, s.pullScopes())
	if f := s.notGranted(ctx, t, g); f != nil {
		return authResult{failure: f}.withDetail("the token service issued no token")
	}
	if !t.HasHTTPS() {
		anonymous <- requestAnonymous()
	}
	proof := tokenProof{service: t, who: who, granted: g, scopes: scopes}
	controlReady := s.startControl(ctx, &proof, anonymous)
	a, ahead, err := s.presentFirst(ctx, t, who, g.Token)
	<-controlReady
	proof.tokens = ahead
	if err != nil {
		return authResult{failure: s.diagnoseRequest(err)}
	}
	if f := s.unusable(ctx, a); f != nil {
		return authResult{failure: f}
	}
	if accepted(a) {
		v := authResult{access: proof.access(s.now())}
		return s.verify(ctx, proof, v.withDetail("token from "+s.Wire.Text(t.Origin.String())+" accepted"))
	}
	return s.afterRejection(ctx, proof, a)
}

// presentFirst sends the granted token to /v2/. At the same time it requests that of the first repository, which is needed if the first
// one is accepted: not before one was issued, so that a wrong password is sent once only.
func (s authCheck) presentFirst(ctx context.Context, t *challenge.Service, who challenge.Login, token string) (
	a *wire.Response, ahead map[string]string, err error,
) {
	work := []func(context.Context){func(ctx context.Context) { a, err = s.get(ctx, "", "Bearer "+token) }}
	var g challenge.Grant
	pull := s.pullScopes()
	if pull != nil && t.HasHTTPS() {
		work = append(work, func(ctx context.Context) { g = s.RequestToken(ctx, t, who, pull) })
	}
	wire.Concurrently(ctx, work...)
	if g.Token != "" {
		ahead = map[string]string{pull[0]: g.Token}
	}
	return a, ahead, err
}

// tokenProof is what is known after a token was granted.
type tokenProof struct {
	service   *challenge.Service
	who       challenge.Login
	granted   challenge.Grant
	scopes    []string // that the granted token was asked for
	proven    string   // path below /v2/ that accepted the token; "" is /v2/ itself
	status    int      // with which
	anonymous challenge.Grant
	tokens    map[string]string    // of other scopes
	control   chan challenge.Grant // the grant for random credentials, if it was requested ahead
}

// anonymousRejected reports whether the service issues no token to anonymous callers.
func (p tokenProof) anonymousRejected() bool {
	return p.anonymous.Token == "" && p.anonymous.Rejected != nil
}

func (p tokenProof) access(now time.Time) *content.Access {
	a := &content.Access{Service: p.service, Login: p.who}
	for scope, token := range p.tokens {
		a.Remember(scope, token, now)
	}
	if len(p.scopes) == 0 {
		a.Remember("", p.granted.Token, now)
	}
	return a
}

// pullScopes returns the scope of the first repository of the definition, nil without one.
func (s authCheck) pullScopes() []string {
	repository := s.plan.repository()
	if repository == "" {
		return nil
	}
	return []string{content.PullScope(repository)}
}

// notGranted is the failure of a token request with the definition's credentials.
func (s authCheck) notGranted(ctx context.Context, t *challenge.Service, g challenge.Grant) *failure {
	by := "The token service " + s.Wire.ShowURL(t.Realm)
	switch {
	case g.Err != nil:
		return s.diagnoseGrant(t, g.Err)
	case g.Rejected != nil && wire.IsExpired(g.Rejected):
		return s.expired(ctx, "%s rejected the credentials: %s.", by, g.Rejected.Summary())
	case g.Rejected != nil:
		return s.credentialsRejected(ctx, g.Rejected, by, "token request")
	case g.Bad != nil:
		return fail(CodeTokenServiceFailed, ReasonBadTokenAnswer, "%s returned %s.", by, g.Bad.Summary())
	}
	return nil
}

// verify decides whether the token that the registry accepted verifies the credentials: the services of Gitea and
// Google issue one to anonymous callers, too.
func (s authCheck) verify(ctx context.Context, p tokenProof, v authResult) authResult {
	if p.anonymousRejected() {
		return v.withDetail("checked: there are no anonymous tokens")
	}
	if !s.control {
		return v.notVerified(controlDisabled)
	}
	if open, known := s.knownControl(); known {
		return s.cachedResult(v, open, openService)
	}
	g := s.requestControl(ctx, p)
	switch {
	case g.Rejected != nil || g.Bad != nil:
		s.recordControl(false)
		return v.withDetail("checked: random credentials are rejected")
	case g.Token == "":
		return v.notVerified(controlUnusable)
	}
	a, err := s.present(ctx, p, g.Token)
	if err == nil && a.Denied() && a.Status != p.status {
		s.recordControl(false)
		return v.withDetail("checked: the token for random credentials is rejected")
	}
	if err == nil && accepted(a) {
		s.recordControl(true)
	}
	return v.notVerified(openService).withDetail("not checked by the token service")
}

const openService = "The token service issues a token for random credentials as well, and the registry accepts it."

// present sends a token to the path that accepted ours. On another path a rejection would say nothing: new Harbor releases
// reject every token without scope on /v2/ (harbor#23799).
func (s authCheck) present(ctx context.Context, p tokenProof, token string) (*wire.Response, error) {
	if p.proven == "" {
		return s.getWith(ctx, "Bearer "+token)
	}
	return s.Read(ctx, p.proven, content.TagsQuery, "Bearer "+token)
}

// requestControl sends random credentials, never the real username, which could lock the account.
func (s authCheck) requestControl(ctx context.Context, p tokenProof) challenge.Grant {
	if p.control != nil {
		g := <-p.control
		p.control <- g // for the next call
		return g
	}
	return s.sendControl(ctx, p)
}

// startControl waits for the anonymous grant, concurrently with the request to the registry. If that is a token too, it sends
// the control request at once: it is needed in any case.
func (s authCheck) startControl(ctx context.Context, p *tokenProof, anonymous <-chan challenge.Grant) <-chan struct{} {
	done := make(chan struct{})
	s.Wire.Work.Do(func() {
		defer close(done)
		p.anonymous = <-anonymous
		if !s.control || p.anonymousRejected() {
			return
		}
		if _, known := s.knownControl(); known {
			return
		}
		asked := *p
		p.control = wire.Later(&s.Wire.Work, func() challenge.Grant { return s.sendControl(wire.Ahead(ctx), asked) })
	})
	return done
}

func (s authCheck) sendControl(ctx context.Context, p tokenProof) challenge.Grant {
	who := challenge.Login{User: s.randomName(), Password: random()}
	if p.who.Refresh != "" {
		who = challenge.Login{Refresh: random()}
	}
	return s.RequestToken(ctx, p.service, who, p.scopes)
}

// afterRejection continues after a registry rejected a fresh token, which is not conclusive: new Harbor
// releases reject tokens without scope on /v2/ (harbor#23799). It tries Basic if that was ever offered, then the challenge's
// own scope, then the content's.
func (s authCheck) afterRejection(ctx context.Context, p tokenProof, a *wire.Response) authResult {
	if a.Status == 403 {
		return authResult{failure: s.credentialsRejected(ctx, a, s.Base.String(), "token")}
	}
	rejected := fmt.Sprintf("token from %s rejected by the registry (%d)", s.Wire.Text(p.service.Origin.String()), a.Status)
	offered := s.opened.offers.Basic || challenge.Offered(a).Basic
	if offered && p.who.User != "" {
		b, err := s.getWith(ctx, challenge.Basic(p.who.User, p.who.Password))
		if err == nil && b.Status/100 == 2 && !wire.IsHTML(b) {
			v := authResult{access: p.access(s.now())}.withDetail(rejected).withDetail("Basic accepted")
			if !s.bareIsOpen() {
				return v.withDetail("checked: without credentials the status is " + strconv.Itoa(s.opened.bare.Status))
			}
			return s.controlDirect(ctx, v, challenge.Basic(s.randomName(), random()))
		}
	}
	if v, ok := s.tryScopes(ctx, p); ok {
		return v.withDetail(rejected)
	}
	if s.control {
		if g := s.requestControl(ctx, p); g.Rejected != nil || g.Bad != nil {
			f := fail(CodeTokenServiceFailed, ReasonTokenRejected, "%s issued a token and rejects random credentials, but GET %s with "+
				"that token returned %s.", s.Wire.ShowURL(p.service.Realm), s.Base.String(), a.Summary())
			return authResult{failure: f}.withDetail(rejected)
		}
	}
	return authResult{failure: s.credentialsRejected(ctx, a, s.Base.String(), "token")}.withDetail(rejected)
}

// tryScopes requests a token with the scopes that the registry may require.
func (s authCheck) tryScopes(ctx context.Context, p tokenProof) (authResult, bool) {
	if scopes := p.service.RealScopes(); len(scopes) > 0 && len(p.scopes) == 0 {
		g := s.RequestToken(ctx, p.service, p.who, scopes)
		if g.Token != "" {
			a, err := s.getWith(ctx, "Bearer "+g.Token)
			if err == nil && accepted(a) {
				p.scopes, p.control = scopes, nil
				return s.verify(ctx, p, authResult{access: p.access(s.now())}.withDetail("token with the challenge's scope accepted")), true
			}
		}
	}
	repository := s.plan.repository()
	if repository == "" {
		return authResult{}, false
	}
	access := p.access(s.now())
	header, _ := s.Authorize(ctx, content.Way{Access: access, Scope: content.PullScope(repository)})
	if header == "" {
		return authResult{}, false
	}
	path := repository + "/tags/list"
	a, err := s.Read(ctx, path, content.TagsQuery, header)
	if err != nil || a.Status == 401 {
		return authResult{}, false
	}
	p.proven, p.status, p.control = path, a.Status, nil
	p.scopes = s.pullScopes()
	return s.verify(ctx, p, authResult{access: access}.withDetail("token with the content's scope accepted")), true
}

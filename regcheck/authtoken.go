package regcheck

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// checkToken tries a token in its three uses, each once: as a bearer token, with a username as the password of Basic, and as
// an OAuth2 refresh token of the token service.
func (s authCheck) checkToken(ctx context.Context) authResult {
	var tried []string
	var failures []*failure
	var open *authResult // accepted by a registry that accepts any credentials
	for _, use := range s.tokenUses() {
		v := use(ctx)
		tried = append(tried, v.tried...)
		if v.failure == nil && !v.unverified {
			v.tried = tried
			return v
		}
		if v.failure != nil {
			failures = append(failures, v.failure)
		} else if open == nil {
			open = &v
		}
	}
	if open != nil && !slices.ContainsFunc(failures, func(f *failure) bool { return f.Entry.Code == CodeAuthFailed }) {
		open.tried = tried
		return *open
	}
	f := mostSpecific(failures)
	f.Seen = message.Of("%s Attempts: %s.", f.Seen, strings.Join(tried, "; "))
	if s.usernameMayHelp(f) {
		f.Hint += " If it is an access token of a user or the secret of a robot account, also set {auth.username} to the name of that " +
			"user or robot account."
	}
	return authResult{failure: f, tried: tried}
}

// usernameMayHelp reports whether a token that was rejected may be a password of Basic or of the token service, which needs a
// username.
func (s authCheck) usernameMayHelp(f *failure) bool {
	rejected := f.Entry.Reason == ReasonRefused || f.Entry.Reason == ReasonAnonymousWorks
	return rejected && s.plan.login.Username == "" && (s.opened.offers.Basic || s.opened.offers.NamesService())
}

func (s authCheck) tokenUses() []func(context.Context) authResult {
	uses := []func(context.Context) authResult{s.tokenAsBearer}
	if s.plan.login.Username != "" {
		uses = append(uses, func(ctx context.Context) authResult {
			return s.checkBasic(ctx, s.plan.login.Username, s.plan.login.Token)
		})
	}
	// bearerService returns no token service if the realm is invalid and Basic is offered as well.
	switch t, f := s.bearerService(); {
	case !s.opened.offers.NamesService():
	case f != nil:
		uses = append(uses, func(context.Context) authResult { return authResult{failure: f} })
	case t != nil:
		uses = append(uses, func(ctx context.Context) authResult { return s.tokenAsRefresh(ctx, t) })
	}
	return uses
}

func (s authCheck) tokenAsBearer(ctx context.Context) authResult {
	return s.checkDirect(ctx, "Bearer "+s.plan.login.Token, "Bearer "+random(), "Bearer")
}

func (s authCheck) tokenAsRefresh(ctx context.Context, t *challenge.Service) authResult {
	who := challenge.Login{Refresh: s.plan.login.Token}
	g, scopes := s.RequestFirst(ctx, t, who, s.pullScopes())
	if g.Token == "" {
		return s.refreshRejected(ctx, t, g)
	}
	p := tokenProof{service: t, who: who, granted: g, scopes: scopes}
	a, err := s.getWith(ctx, "Bearer "+g.Token)
	switch {
	case err != nil:
		return authResult{failure: s.diagnoseRequest(err)}
	case accepted(a):
		// A service may issue a token for any refresh token.
		v := authResult{access: p.access(s.now())}
		return s.verify(ctx, p, v.withDetail("identity token accepted by "+s.Wire.Text(t.Origin.String())))
	}
	return s.afterRejection(ctx, p, a)
}

// refreshRejected is for the statuses 400, 401, 404, 405 and 501: the service does not support identity tokens (containerd
// authorizer, helm#30987, oras#968) or did not issue this one.
func (s authCheck) refreshRejected(ctx context.Context, t *challenge.Service, g challenge.Grant) authResult {
	by := "The token service " + s.Wire.ShowURL(t.Realm)
	a := g.Denial()
	if a == nil && g.NoPost {
		return authResult{failure: fail(CodeAuthFailed, ReasonRefused, "%s does not support identity tokens.", by).At("auth.token")}.
			withDetail("as identity token: the token service does not support POST")
	}
	if a == nil {
		return authResult{failure: s.diagnoseGrant(t, g.Err)}.withDetail("as identity token: the token service returned no usable response")
	}
	attempt := "as identity token: " + strconv.Itoa(a.Status)
	if wire.IsExpired(a) {
		return authResult{failure: s.expired(ctx, "%s rejected the token: %s.", by, a.Summary())}.withDetail(attempt)
	}
	return authResult{failure: s.credentialsRejected(ctx, a, by, "identity token")}.withDetail(attempt)
}

// mostSpecific returns the failure with the most specific cause: expired credentials, then an unavailable service, then a
// missing permission, then rejected credentials.
func mostSpecific(all []*failure) *failure {
	rank := func(f *failure) int {
		switch {
		case f.Entry.Reason == ReasonExpired:
			return 0
		case f.Entry.Code == CodeUnavailable, f.Entry.Code == CodeTLSFailed, f.Entry.Code == CodeRedirected:
			return 1
		case f.Entry.Code == CodeTokenServiceFailed, f.Entry.Code == CodeAddressForbidden:
			return 2
		case f.Entry.Reason == ReasonAnonymousWorks:
			return 3
		case f.Entry.Reason == ReasonSchemeUnsupported, f.Entry.Reason == ReasonNoChallenge:
			return 4
		case f.Entry.Code == CodeAuthFailed:
			return 5
		}
		return 6
	}
	best := all[0]
	for _, f := range all[1:] {
		if rank(f) < rank(best) {
			best = f
		}
	}
	return best
}

package regcheck

import (
	"context"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// proveToken tries a token by its three uses, each once: as a bearer token, with a user name as the
// password of Basic, and as an OAuth2 refresh token of the token service.
func (s *session) proveToken(ctx context.Context) verdict {
	var tried []string
	var failures []*failure
	var open *verdict // accepted by a registry that accepts everything
	for _, use := range s.tokenUses() {
		v := use(ctx)
		tried = append(tried, v.tried...)
		if v.failure == nil && !v.unproven {
			v.tried = tried
			return v
		}
		if v.failure != nil {
			failures = append(failures, v.failure)
		} else if open == nil {
			open = &v
		}
	}
	if open != nil && !slices.ContainsFunc(failures, isRefusal) {
		open.tried = tried
		return *open
	}
	f := mostTelling(failures)
	f.seen = strings.TrimSpace(f.seen) + " All that was tried: " + strings.Join(tried, "; ") + "."
	if s.userNameMayHelp(f) {
		f.hint += " If the token is an access token of a user or the secret of a robot account, write the name of that user or robot account into auth.username too: it is then tried as a password."
	}
	return verdict{failure: f, tried: tried}
}

// userNameMayHelp reports whether a token that was rejected may be a password, which needs a user name: of Basic, or
// at the token service.
func (s *session) userNameMayHelp(f *failure) bool {
	rejected := f.entry.Reason == ReasonRefused || f.entry.Reason == ReasonAnonymousWorks
	o := s.opened.offers
	return rejected && s.plan.username == "" && (o.Basic || o.Bearer != nil && o.Bearer.Params["realm"] != "")
}

func (s *session) tokenUses() []func(context.Context) verdict {
	uses := []func(context.Context) verdict{s.tokenAsBearer}
	if s.plan.username != "" {
		uses = append(uses, func(ctx context.Context) verdict { return s.proveLogin(ctx, s.plan.username, s.plan.token) })
	}
	// A realm that can't be used beside Basic is no token service at all (bearerService).
	if b := s.opened.offers.Bearer; b != nil && b.Params["realm"] != "" {
		if t, f := s.bearerService(); t != nil || f != nil {
			uses = append(uses, func(ctx context.Context) verdict {
				if f != nil {
					return verdict{failure: f}
				}
				return s.tokenAsRefresh(ctx, t)
			})
		}
	}
	return uses
}

func (s *session) tokenAsBearer(ctx context.Context) verdict {
	v := s.proveDirect(ctx, "Bearer "+s.plan.token, "Bearer "+random(), "Bearer")
	return v
}

func (s *session) tokenAsRefresh(ctx context.Context, t *challenge.Service) verdict {
	who := challenge.Login{Refresh: s.plan.token}
	g := s.ask(ctx, t, who, nil)
	s.rounds += g.rounds
	var scopes []string
	if g.bad != nil {
		g, scopes = s.askScoped(ctx, t, who, g)
	}
	if g.token == "" {
		return s.refreshRefused(ctx, t, g)
	}
	p := tokenProof{service: t, who: who, granted: g, scopes: scopes}
	a, err := s.getWith(ctx, "Bearer "+g.token)
	switch {
	case err != nil:
		return verdict{failure: s.diagnoseRequest(err)}
	case good(a):
		// A service that answered a refresh token it does not know with a token would be odd; ask.
		return s.weigh(ctx, p, verdict{access: p.access()}.saying("identity token accepted by "+t.Origin.String()))
	}
	return s.afterRejection(ctx, p, a)
}

// refreshRefused: 400, 401, 404, 405 and 501 mean that this service has no such request (containerd
// authorizer, helm#30987, oras#968), or that the token is none of its own: refused either way.
func (s *session) refreshRefused(ctx context.Context, t *challenge.Service, g granting) verdict {
	by := "The token service " + wire.ShowURL(t.Realm)
	a := g.refused
	if a == nil {
		a = g.bad
	}
	if a == nil && g.noPost {
		return verdict{failure: fail(CodeAuthFailed, ReasonRefused, "%s has no use for identity tokens.", by).at("auth.token")}.
			saying("as identity token: the token service does not take POST")
	}
	if a == nil {
		return verdict{failure: g.failure}.saying("as identity token: the token service gave no usable answer")
	}
	said := "as identity token: " + itoa(a.Status)
	if wire.SaysExpired(a) {
		return verdict{failure: fail(CodeAuthFailed, ReasonExpired, "%s refused the token: %s.", by, a.Said()).at("auth.token")}.saying(said)
	}
	return verdict{failure: s.refusal(ctx, a, by, "identity token")}.saying(said)
}

func isRefusal(f *failure) bool { return f.entry.Code == CodeAuthFailed }

// mostTelling prefers what names a cause: expired, then a service that can't be used now or at all,
// then a missing right, then a refusal.
func mostTelling(all []*failure) *failure {
	rank := func(f *failure) int {
		switch {
		case f.entry.Reason == ReasonExpired:
			return 0
		case f.entry.Code == CodeUnavailable, f.entry.Code == CodeTLSFailed, f.entry.Code == CodeRedirected:
			return 1
		case f.entry.Code == CodeTokenServiceFailed, f.entry.Code == CodeAddressForbidden:
			return 2
		case f.entry.Reason == ReasonAnonymousWorks:
			return 3
		case f.entry.Reason == ReasonSchemeUnsupported, f.entry.Reason == ReasonNoChallenge:
			return 4
		case f.entry.Code == CodeAuthFailed:
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

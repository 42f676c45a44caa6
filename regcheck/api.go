package regcheck

import (
	"context"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// api checks by positive signs whether GET /v2/ reaches an OCI registry: a 200 alone proves nothing.
func (s subject) api(ctx context.Context, c connection, o *opening) (exchange, outcome) {
	if o == nil {
		o = s.open(ctx, c)
	}
	if o.err != nil {
		return exchange{}, codes.Failed(s.diagnoseRequest(o.err))
	}
	if o.bare.Hops > 0 {
		s = s.moved(o.bare)
	}
	if f := certs.ExplainResponse(o.bare); f != nil { // by the target of a redirect; the endpoint's own is for the tls stage
		return exchange{}, codes.Failed(f)
	}
	x := exchange{s, o}
	if f := (apiCheck{x}).check(ctx); f != nil {
		return exchange{}, codes.Failed(f)
	}
	return x, codes.Passed("GET %s: %s", o.bare.ShowURL(), o.bare.Text(o.offers.Describe(o.bare.Status)))
}

// apiCheck is the api stage with the first response.
type apiCheck struct{ exchange }

func (s apiCheck) check(ctx context.Context) *failure {
	if f := s.notOCI(ctx, s.opened); f != nil {
		return f
	}
	return s.foreignBehindBasic(ctx, s.opened)
}

// moved records a redirect that was followed to another origin: the API is there.
func (s subject) moved(a *wire.Response) subject {
	if a.From == s.Base.Origin {
		return s
	}
	s.warn(WarnRedirected, "%s leads to %s.", s.Base.String(), a.ShowURL())
	if s.plan.tls.SkipVerify && a.From.Scheme == "https" {
		s.warn(WarnInsecureSkipVerify, "")
	}
	if path, ok := strings.CutSuffix(strings.TrimSuffix(a.URL.Path, "/"), "/v2"); ok {
		s.Base = endpoint.Base{Origin: a.From, Path: strings.Trim(path, "/")}
	}
	return s
}

// notOCI evaluates the bare response, strongest evidence first.
func (s apiCheck) notOCI(ctx context.Context, o *opening) *failure {
	a := o.bare
	what := "GET " + a.ShowURL()
	switch {
	case a.Unavailable():
		return s.unavailable(what, a)
	case a.Over:
		return fail(CodeNotOCI, "", "%s returned %d with a body of more than %d KiB.", what, a.Status, s.limits.Body>>10)
	case s.Base.Scheme == "http" && wire.WantsHTTPS(a):
		return fail(CodeNotOCI, ReasonHTTPSRequired, "%s returned %s.", what, a.Summary()).
			Hinting("Set {endpoint} to %s.", s.plan.endpointAt("https://"+s.Base.HostPort()))
	case a.Status == 401 && !o.offers.None(), a.Status != 404 && wire.IsOCIError(a.Body):
		return nil
	case a.Status == 403:
		return nil // the whole API is denied: a failure of the auth stage
	case a.Status/100 == 3:
		return fail(CodeRedirected, "", "%s returned %d without a target.", what, a.Status).
			Hinting("Correct the redirect on the server, or set {endpoint} to the address that serves the API.")
	case a.Cut != nil:
		return fail(CodeUnavailable, "", "%s returned %d, and the response ended early or was too slow.", what, a.Status)
	case a.Status == 404 && s.opensToCredentials():
		return nil
	case a.Status == 404:
		return s.notFound(ctx, a)
	case a.Header.Get(oci.VersionHeader) != "":
		return nil
	case a.Status/100 == 2 && wire.IsHTML(a):
		return s.orRoot(ctx, fail(CodeNotOCI, ReasonHTML, "%s returned %s.", what, a.Summary()))
	case a.Packed:
		return fail(CodeNotOCI, "", "%s returned %d with a compressed body that was not requested.", what, a.Status)
	}
	if s.opensToCredentials() {
		return nil
	}
	return s.probe(ctx, o.bare, "")
}

// unavailable is the failure of a 429 or 5xx.
func (s explainer) unavailable(what string, a *wire.Response) *failure {
	f := fail(CodeUnavailable, "", "%s returned %s.", what, a.Summary())
	later := "Retry later"
	if after := a.Text(a.Header.Get("Retry-After")); after != "" {
		later += ", after the time that the server requires (Retry-After: " + after + ")"
	}
	switch {
	case a.Status == 429 && s.plan.login.Type == NoAuth:
		f.Hinting("Set {auth.username} and {auth.password} to log in: registries such as Docker Hub limit anonymous requests most. "+
			"Or: %s.", later)
	case a.Status == 429:
		f.Hinting("%s, or use an account with a higher limit: the registry limits requests. The definition may be valid.", later)
	case later != "Retry later":
		f.Hinting("%s. The definition may be valid.", later)
	}
	return f
}

// probe requests a random repository: an OCI registry returns an OCI error or a challenge, a catch-all page success. root is
// the response that was not conclusive.
func (s apiCheck) probe(ctx context.Context, root *wire.Response, authorization string) *failure {
	a, err := s.get(ctx, s.randomName()+"/tags/list", authorization)
	if err != nil {
		return s.diagnoseRequest(err)
	}
	what := "GET " + root.ShowURL()
	switch {
	case a.Unavailable():
		return s.unavailable("GET "+a.ShowURL(), a)
	case a.Status == 401 && !challenge.Offered(a).None(),
		a.Status/100 == 4 && len(wire.ReadErrors(a.Body)) > 0 && (wire.IsOCIError(a.Body) || wire.ReadErrors(a.Body)[0].Status != 0):
		return nil
	}
	return s.notOCIAfter(ctx, what, root, a)
}

// opensToCredentials reports whether the authenticated response is that of a registry, although anonymous callers get 404
// (Artifactory hides what they may not see) or 401 without a challenge. It sends no request of its own.
func (s exchange) opensToCredentials() bool {
	if s.opened.sent == nil {
		return false
	}
	<-s.opened.sent
	with := s.opened.with
	return s.opened.werr == nil && with.Status/100 == 2 && with.Header.Get(oci.VersionHeader) != "" && !wire.IsHTML(with)
}

func (s apiCheck) notOCIAfter(ctx context.Context, what string, bare, probe *wire.Response) *failure {
	not := func(reason Reason) *failure {
		return fail(CodeNotOCI, reason, "%s returned %s; an unknown repository returned %s instead of an OCI error.",
			what, bare.Summary(), probe.Summary())
	}
	switch {
	case wire.IsHTML(bare) || wire.IsHTML(probe) && probe.Status/100 == 2:
		return s.orRoot(ctx, not(ReasonHTML))
	case probe.Status/100 == 2:
		return s.orRoot(ctx, not(ReasonCatchAll))
	}
	found := s.probePaths(ctx)
	if found != nil && found.HelmIndex != "" {
		return classicHelm(found)
	}
	f := not(ReasonNotFound)
	switch {
	case wire.IsJSON(bare) && !wire.IsEmpty(bare), !wire.IsHTML(probe) && wire.IsJSON(probe):
		f = not(ReasonForeignJSON)
	case wire.IsHTML(probe):
		f = not(ReasonHTML)
	}
	if found != nil && found.AtRoot {
		return s.hintRoot(ctx, f)
	}
	return f
}

// foreignBehindBasic checks that what the credentials open is a registry: any web server can require Basic. It costs no
// request, since the auth stage needs this response anyway.
func (s apiCheck) foreignBehindBasic(ctx context.Context, o *opening) *failure {
	if s.plan.login.Type != Basic || o.bare.Status != 401 || !o.offers.Basic || o.offers.Bearer != nil {
		return nil
	}
	a, err := s.withCredentials(ctx)
	if err != nil || a.Status/100 != 2 || a.Header.Get(oci.VersionHeader) != "" || wire.IsEmpty(a) {
		return nil
	}
	if wire.IsHTML(a) {
		return s.orRoot(ctx, fail(CodeNotOCI, ReasonHTML, "GET %s with the credentials returned %s.", a.ShowURL(), a.Summary()))
	}
	return s.probe(ctx, a, s.plan.login.Direct())
}

package regcheck

import (
	"context"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

const versionHeader = "Docker-Distribution-Api-Version"

// api tells whether an OCI registry answers at GET /v2/, by positive signs: a 200 proves nothing.
func (s *session) api(ctx context.Context) outcome {
	o := s.open(ctx)
	if o.err != nil {
		return failed(s.diagnoseRequest(o.err))
	}
	if o.bare.hops > 0 {
		s.moved(o.bare)
	}
	if f := certificateRefusedByHTTP(o.bare); f != nil { // by the target of a redirect; the endpoint's own is for the tls stage
		return failed(f)
	}
	if f := s.notOCI(ctx, o); f != nil {
		return failed(f)
	}
	if f := s.foreignBehindBasic(ctx, o); f != nil {
		return failed(f)
	}
	return passed("GET %s: %s", showURL(o.bare.url), describeOpening(o))
}

// moved takes note of a redirect that was followed to another origin: the API is there.
func (s *session) moved(a *answer) {
	if a.from == s.base.origin {
		return
	}
	s.warn(WarnRedirected, "%s leads to %s.", s.base.String(), showURL(a.url))
	if s.plan.skipVerify && a.from.Scheme == "https" {
		s.warn(WarnInsecureSkipVerify, "")
	}
	if path, ok := strings.CutSuffix(strings.TrimSuffix(a.url.Path, "/"), "/v2"); ok {
		s.base = target{a.from, strings.Trim(path, "/")}
	}
}

func describeOpening(o *opening) string {
	text := itoa(o.bare.status)
	switch {
	case o.offers.bearer != nil && o.offers.bearer.params["realm"] != "":
		text += ", Bearer, token service " + cleanText(withoutQuery(o.offers.bearer.params["realm"]))
	case o.offers.bearer != nil:
		text += ", Bearer"
	case o.offers.basic:
		text += ", Basic"
	case len(o.offers.unsupported) > 0:
		text += ", " + strings.Join(o.offers.unsupported, ", ")
	}
	return text
}

func withoutQuery(u string) string {
	before, _, _ := strings.Cut(u, "?")
	return before
}

// notOCI reads the bare answer, strongest evidence first.
func (s *session) notOCI(ctx context.Context, o *opening) *failure {
	a := o.bare
	what := "GET " + showURL(a.url)
	switch {
	case a.status == 429 || a.status >= 500:
		return unavailable(what, a)
	case a.over:
		return fail(CodeNotOCI, "", "%s was answered %d with a body of more than %d KiB.", what, a.status, s.limits.Body>>10)
	case s.base.Scheme == "http" && wantsHTTPS(a):
		return fail(CodeNotOCI, ReasonHTTPSRequired, "%s was answered %s.", what, a.said()).
			hinting("Write %s into endpoint.", s.plan.endpointAt("https://"+s.base.HostPort()))
	case a.status == 401 && !o.offers.none(), a.status != 404 && isOCIError(a.body):
		return nil
	case a.status == 403:
		return nil // refused whole: the auth stage says so
	case a.status/100 == 3:
		return fail(CodeRedirected, "", "%s was answered %d without an address to go on to.", what, a.status).
			hinting("Mend the redirect on the server, or write the address that serves the API into endpoint.")
	case a.cut != nil:
		return fail(CodeUnavailable, "", "%s was answered %d, and the answer ended early or came too slowly.", what, a.status)
	case a.status == 404 && s.opensToCredentials():
		return nil
	case a.status == 404:
		return s.notFound(ctx, a)
	case a.header.Get(versionHeader) != "":
		return nil
	case a.status/100 == 2 && isHTML(a):
		return s.orRoot(ctx, fail(CodeNotOCI, ReasonHTML, "%s was answered %s.", what, a.said()))
	case a.packed:
		return fail(CodeNotOCI, "", "%s was answered %d with a compressed body, which nobody asked for.", what, a.status)
	}
	if s.opensToCredentials() {
		return nil
	}
	return s.probe(ctx, o.bare, "")
}

func unavailable(what string, a *answer) *failure {
	f := fail(CodeUnavailable, "", "%s was answered %s.", what, a.said())
	if after := cleanText(a.header.Get("Retry-After")); after != "" {
		f.hinting("Try again later; the server says when (Retry-After: %s). This says nothing about the definition.", after)
	}
	return f
}

// wantsHTTPS knows how net/http, nginx and Apache answer plain HTTP on a TLS port.
func wantsHTTPS(a *answer) bool {
	if a.status != 400 && a.status != 426 && a.status != 497 {
		return false
	}
	text := strings.ToLower(string(a.body[:min(len(a.body), 4096)]))
	return strings.Contains(text, "http request to an https server") ||
		strings.Contains(text, "plain http request was sent to https port") ||
		strings.Contains(text, "speaking plain http to an ssl-enabled server port")
}

// probe asks for a repository that nobody has: an OCI registry answers with an OCI error or a
// challenge, a catch-all page with success. The answer that left it open is root.
func (s *session) probe(ctx context.Context, root *answer, authorization string) *failure {
	a, err := s.get(ctx, s.invented()+"/tags/list", authorization)
	if err != nil {
		return s.diagnoseRequest(err)
	}
	s.rounds += a.rounds
	what := "GET " + showURL(root.url)
	switch {
	case a.status == 429 || a.status >= 500:
		return unavailable("GET "+showURL(a.url), a)
	case a.status == 401 && !readOffers(a.header.Values("WWW-Authenticate")).none(),
		a.status/100 == 4 && len(readErrors(a.body)) > 0 && (isOCIError(a.body) || readErrors(a.body)[0].Status != 0):
		return nil
	}
	return s.notOCIAfter(ctx, what, root, a)
}

// opensToCredentials tells that the server shows itself as a registry to us, though strangers get
// 404 (Artifactory hides what they may not see) or 401 without a word. It looks at the
// authenticated answer only when that is on its way already.
func (s *session) opensToCredentials() bool {
	if s.opened.sent == nil {
		return false
	}
	<-s.opened.sent
	with := s.opened.with
	return s.opened.werr == nil && with.status/100 == 2 && with.header.Get(versionHeader) != "" && !isHTML(with)
}

func (s *session) notOCIAfter(ctx context.Context, what string, bare, probe *answer) *failure {
	not := func(reason Reason) *failure {
		return fail(CodeNotOCI, reason, "%s was answered %s; a repository that nobody has was answered %s, where an OCI registry gives an OCI error.",
			what, bare.said(), probe.said())
	}
	switch {
	case isHTML(bare) || isHTML(probe) && probe.status/100 == 2:
		return s.orRoot(ctx, not(ReasonHTML))
	case probe.status/100 == 2:
		return s.orRoot(ctx, not(ReasonCatchAll))
	}
	found := s.elsewhere(ctx)
	if found != nil && found.classicHelm {
		return classicHelm(found)
	}
	f := not(ReasonNotFound)
	switch {
	case isJSON(bare) && !isEmptyAnswer(bare), !isHTML(probe) && isJSON(probe):
		f = not(ReasonForeignJSON)
	case isHTML(probe):
		f = not(ReasonHTML)
	}
	if found != nil && found.atRoot {
		return s.hintRoot(ctx, f)
	}
	return f
}

// foreignBehindBasic looks behind a log-in that any web server can have: what the credentials open
// must be a registry. It costs nothing where it is, since the auth stage needs this answer anyway.
func (s *session) foreignBehindBasic(ctx context.Context, o *opening) *failure {
	if s.plan.auth != Basic || o.bare.status != 401 || !o.offers.basic || o.offers.bearer != nil {
		return nil
	}
	a, err := s.withCredentials(ctx)
	if err != nil || a.status/100 != 2 || a.header.Get(versionHeader) != "" || isEmptyAnswer(a) {
		return nil
	}
	if isHTML(a) {
		return s.orRoot(ctx, fail(CodeNotOCI, ReasonHTML, "GET %s with the credentials was answered %s.", showURL(a.url), a.said()))
	}
	return s.probe(ctx, a, s.credentials())
}

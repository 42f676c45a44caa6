package regcheck

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/egress"
)

// maxToken bounds a token, which must fit into a header.
const maxToken = 32 << 10

// tokenService is the place that a Bearer challenge names (distribution spec, auth/token and auth/oauth).
type tokenService struct {
	realm   *url.URL
	origin  origin
	service string
	scopes  []string // of the challenge
	from    origin   // that named it
}

// readService reads the realm of a challenge that came with an answer.
func (s *session) readService(c *challenge, a *answer) (*tokenService, *failure) {
	text := c.params["realm"]
	shown := cleanText(withoutQuery(text))
	invalid := func(why string) (*tokenService, *failure) {
		return nil, fail(CodeTokenServiceFailed, ReasonRealmInvalid, "%s names the token service %q: %s.", showURL(a.url), shown, why)
	}
	if strings.TrimSpace(text) == "" {
		return invalid("there is no address in it")
	}
	realm, err := a.url.Parse(text) // a relative realm counts from the request
	if err != nil {
		return invalid("it is no URL")
	}
	if realm.Fragment != "" {
		return invalid("it has a fragment")
	}
	o, err := egress.ReadOrigin(realm)
	if err != nil {
		return invalid(cleanText(err.Error()))
	}
	if o.Scheme == "http" && (a.from.Scheme == "https" || s.plan.base.Scheme == "https") {
		return nil, fail(CodeTokenServiceFailed, ReasonRealmInsecure, "%s names %s.", showURL(a.url), showURL(realm))
	}
	return &tokenService{realm: realm, origin: o, service: c.params["service"], scopes: strings.Fields(c.params["scope"]), from: a.from}, nil
}

// placeholder tells that the challenge of /v2/ itself names a repository: no anonymous token is
// given for that one, though public ones may be readable (GHCR: repository:user/image:pull).
func (t *tokenService) placeholder() bool {
	for _, scope := range t.scopes {
		if strings.HasPrefix(scope, "repository:") {
			return true
		}
	}
	return false
}

// realScopes are the challenge's scopes when they are no placeholder ("aws", "*", "registry:catalog:*").
func (t *tokenService) realScopes() []string {
	if t.placeholder() {
		return nil
	}
	return t.scopes
}

// login is what a token is asked for with. The zero value is nobody.
type login struct {
	user, password string // Basic
	refresh        string // an OAuth2 refresh (identity) token
}

// granting is how a token request ended.
type granting struct {
	token   string
	refused *answer  // 401 or 403, or 400 that says expired
	bad     *answer  // 400 otherwise: another scope may do
	failure *failure // the service can't be used, or can't now
	noPost  bool     // failure, but only because the service knows no POST
	rounds  int
}

// ask sends one token request. It follows no redirect: net/http would send the form with the secret
// along on a 307.
func (s *session) ask(ctx context.Context, t *tokenService, who login, scopes []string) granting {
	p, err := s.wire.hop(ctx, t.from, t.origin)
	if err != nil {
		return granting{failure: s.diagnoseRealm(t, err)}
	}
	if t.from != s.plan.base.origin {
		who = login{} // only the endpoint itself names a token service for the credentials
	}
	a, err := s.wire.exchange(ctx, p, t.call(s.words.name(), who, scopes))
	if err != nil {
		return granting{failure: s.diagnoseRealm(t, err)}
	}
	if f := certificateRefusedByHTTP(a); f != nil {
		return granting{failure: s.diagnoseRealmTLS(t, f)}
	}
	g := t.read(a)
	g.rounds = a.rounds
	g.noPost = who.refresh != "" && (a.status == 404 || a.status == 405 || a.status == 501)
	return g
}

func (t *tokenService) call(client string, who login, scopes []string) *call {
	u := *t.realm
	if who.refresh != "" {
		form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {who.refresh}, "client_id": {client}}
		if t.service != "" {
			form.Set("service", t.service)
		}
		if len(scopes) > 0 {
			form.Set("scope", strings.Join(scopes, " "))
		}
		return &call{url: &u, form: form}
	}
	query := url.Values{}
	if t.service != "" {
		query.Set("service", t.service)
	}
	for _, scope := range scopes {
		query.Add("scope", scope)
	}
	if more := query.Encode(); more != "" && u.RawQuery != "" {
		u.RawQuery += "&" + more // a query of the realm's own stays as it is
	} else if more != "" {
		u.RawQuery = more
	}
	c := &call{url: &u}
	if who.user != "" || who.password != "" {
		c.authorization = basicHeader(who.user, who.password)
	}
	return c
}

// read judges a token service's answer.
func (t *tokenService) read(a *answer) granting {
	what := "The token service " + showURL(t.realm)
	broken := func(format string, args ...any) granting {
		return granting{failure: fail(CodeTokenServiceFailed, ReasonBadTokenAnswer, "%s answered "+format+".", append([]any{what}, args...)...)}
	}
	switch {
	case a.status == 401 || a.status == 403, a.status == 400 && saysExpired(a):
		return granting{refused: a}
	case a.status == 400:
		return granting{bad: a}
	case a.status == 429 || a.status >= 500:
		return granting{failure: unavailable(what, a)}
	case a.status/100 == 3:
		return broken("%d and redirects to %s; token requests follow no redirect", a.status, cleanText(withoutQuery(a.header.Get("Location"))))
	case a.status/100 == 2 && a.status != 200: // its body may hold a token
		return broken("%d; Helm and other clients accept a token with status 200 only", a.status)
	case a.status != 200:
		return broken("%s", a.said())
	case a.over:
		return broken("%d with a body longer than the limit", a.status)
	case a.packed:
		return broken("%d with a compressed body, which nobody asked for", a.status)
	case a.cut != nil:
		return broken("%d, and the answer ended early", a.status)
	}
	token, err := parseToken(a.body)
	if err != nil {
		return broken("%d: %s", a.status, err)
	}
	return granting{token: token}
}

// parseToken reads a token answer. Only the token matters: the shortest lifetime of the
// specification, 60 seconds, outlives a check, so expires_in and issued_at may be anything.
func parseToken(body []byte) (string, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return "", errors.New("the body is no JSON object")
	}
	for _, name := range []string{"access_token", "token"} {
		raw, there := members[name]
		if !there || string(raw) == "null" {
			continue
		}
		var token string
		if json.Unmarshal(raw, &token) != nil {
			return "", errors.New("its " + name + " is no string")
		}
		if token == "" {
			continue
		}
		if len(token) > maxToken {
			return "", errors.New("its " + name + " is too long for a header")
		}
		if strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
			return "", errors.New("its " + name + " has characters that no header may carry")
		}
		return token, nil
	}
	return "", errors.New("there is no token in it")
}

// diagnoseRealm is a token service that could not be asked. The registry named it, so no field of
// the definition is at fault, unless our trust is.
func (s *session) diagnoseRealm(t *tokenService, err error) *failure {
	what := "The token service " + showURL(t.realm) + ", named by " + t.from.String()
	if _, ok := errors.AsType[*egress.Forbidden](err); ok {
		return s.forbidden(err, what+", leads to an address that may not be contacted").at("")
	}
	step, isStep := errors.AsType[*stepError](err)
	switch {
	case isStep && step.step == StageResolve:
		words, retryable := describeLookup(err)
		f := fail(CodeTokenServiceFailed, ReasonRealmUnreachable, "%s: its host name %s.", what, words).retry(retryable)
		return f.hinting("%s", s.hintRealmName(t, err))
	case isTimeout(err):
		return fail(CodeTokenServiceFailed, ReasonRealmTimeout, "%s, did not answer in time.", what)
	case isStep && step.step == StageTLS:
		return s.diagnoseRealmTLS(t, diagnoseHandshake(step.seen, step.err))
	case isStep:
		words, retryable := describeDial(err)
		return s.realmUnreachable(t, what, words).retry(retryable)
	}
	return s.diagnoseRealmRequest(t, what, err)
}

// diagnoseRealmRequest is a token request that was sent and got no answer.
func (s *session) diagnoseRealmRequest(t *tokenService, what string, err error) *failure {
	if x, ok := errorsAsExchange(err); ok {
		if f := x.certificateRefused(); f != nil {
			return s.diagnoseRealmTLS(t, f)
		}
		if alert, sent := x.conn.alert(); sent {
			return s.diagnoseRealmTLS(t, diagnoseAlert(x.conn.seen(), alert))
		}
	}
	if isCutOff(err) {
		return s.realmUnreachable(t, what, "it closed the connection without an answer").retry(true)
	}
	return fail(CodeTokenServiceFailed, ReasonBadTokenAnswer, "%s: it answered with something that is not HTTP, or with headers of more than %d KiB.", what, s.limits.Header>>10)
}

func (s *session) realmUnreachable(t *tokenService, what, words string) *failure {
	return fail(CodeTokenServiceFailed, ReasonRealmUnreachable, "%s: %s.", what, words).
		hinting("Start the token service at %s if it is stopped; if that is not its address, correct the external URL in the registry's configuration.", t.origin)
}

func (s *session) hintRealmName(t *tokenService, err error) string {
	if isNotFound(err) {
		return "Correct the external URL in the registry's configuration: the host name of its token service, " + t.origin.Host + ", does not exist."
	}
	return "Try again. If it happens again: " + s.words.dns()
}

// diagnoseRealmTLS borrows the words of the endpoint's TLS failures.
func (s *session) diagnoseRealmTLS(t *tokenService, inner *failure) *failure {
	f := fail(CodeTokenServiceFailed, ReasonRealmTLS, "%s %s", inner.entry.Sentence, inner.seen)
	switch inner.entry.Reason {
	case ReasonUnknownAuthority, ReasonSelfSigned:
		f.at("auth.tls.ca").hinting("%s", inner.hint)
	case ReasonMissingIntermediate, ReasonClientCertificateRequired:
		f.hinting("%s", inner.hint)
	default:
		f.hinting("Repair TLS at the token service %s, or correct the external URL in the registry's configuration if the name is wrong.", t.origin.HostPort())
	}
	return f.retry(inner.retryable)
}

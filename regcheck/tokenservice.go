package regcheck

import (
	"context"
	"errors"
	"strings"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// readService reads the realm of a challenge that came with an answer.
func (s *session) readService(c *challenge.Challenge, a *wire.Response) (*challenge.Service, *failure) {
	text := c.Params["realm"]
	shown := wire.CleanText(withoutQuery(text))
	invalid := func(why string) (*challenge.Service, *failure) {
		return nil, fail(CodeTokenServiceFailed, ReasonRealmInvalid, "%s names the token service %q: %s.", wire.ShowURL(a.URL), shown, why)
	}
	if strings.TrimSpace(text) == "" {
		return invalid("there is no address in it")
	}
	realm, err := a.URL.Parse(text) // a relative realm counts from the request
	if err != nil {
		return invalid("it is no URL")
	}
	if realm.Fragment != "" {
		return invalid("it has a fragment")
	}
	o, err := egress.ReadOrigin(realm)
	if err != nil {
		return invalid(wire.CleanText(err.Error()))
	}
	if o.Scheme == "http" && (a.From.Scheme == "https" || s.plan.base.Scheme == "https") {
		return nil, fail(CodeTokenServiceFailed, ReasonRealmInsecure, "%s names %s.", wire.ShowURL(a.URL), wire.ShowURL(realm))
	}
	return &challenge.Service{Realm: realm, Origin: o, Service: c.Params["service"], Scopes: strings.Fields(c.Params["scope"]), From: a.From}, nil
}

// granting is how a token request ended.
type granting struct {
	token   string
	refused *wire.Response // 401 or 403, or 400 that says expired
	bad     *wire.Response // 400 otherwise: another scope may do
	failure *failure       // the service can't be used, or can't now
	noPost  bool           // failure, but only because the service knows no POST
	rounds  int
}

// ask sends one token request. It follows no redirect: net/http would send the form with the secret
// along on a 307.
func (s *session) ask(ctx context.Context, t *challenge.Service, who challenge.Login, scopes []string) granting {
	p, err := s.wire.Hop(ctx, t.From, t.Origin)
	if err != nil {
		return granting{failure: s.diagnoseRealm(t, err)}
	}
	if t.From != s.plan.base.Origin {
		who = challenge.Login{} // only the endpoint itself names a token service for the credentials
	}
	a, err := s.wire.Exchange(ctx, p, t.Call(s.words.name(), who, scopes))
	if err != nil {
		return granting{failure: s.diagnoseRealm(t, err)}
	}
	if f := diagnoseTLS(certs.ExplainResponse(a, program)); f != nil {
		return granting{failure: s.diagnoseRealmTLS(t, f)}
	}
	g := readGrant(t, a)
	g.rounds = a.Rounds
	g.noPost = who.Refresh != "" && (a.Status == 404 || a.Status == 405 || a.Status == 501)
	return g
}

// readGrant judges a token service's answer.
func readGrant(t *challenge.Service, a *wire.Response) granting {
	what := "The token service " + wire.ShowURL(t.Realm)
	broken := func(format string, args ...any) granting {
		return granting{failure: fail(CodeTokenServiceFailed, ReasonBadTokenAnswer, "%s answered "+format+".", append([]any{what}, args...)...)}
	}
	switch {
	case a.Status == 401 || a.Status == 403, a.Status == 400 && wire.SaysExpired(a):
		return granting{refused: a}
	case a.Status == 400:
		return granting{bad: a}
	case a.Status == 429 || a.Status >= 500:
		return granting{failure: unavailable(what, a)}
	case a.Status/100 == 3:
		return broken("%d and redirects to %s; token requests follow no redirect", a.Status, wire.CleanText(withoutQuery(a.Header.Get("Location"))))
	case a.Status/100 == 2 && a.Status != 200: // its body may hold a token
		return broken("%d; Helm and other clients accept a token with status 200 only", a.Status)
	case a.Status != 200:
		return broken("%s", a.Said())
	case a.Over:
		return broken("%d with a body longer than the limit", a.Status)
	case a.Packed:
		return broken("%d with a compressed body, which nobody asked for", a.Status)
	case a.Cut != nil:
		return broken("%d, and the answer ended early", a.Status)
	}
	token, err := challenge.ReadToken(a.Body)
	if err != nil {
		return broken("%d: %s", a.Status, err)
	}
	return granting{token: token}
}

// diagnoseRealm is a token service that could not be asked. The registry named it, so no field of
// the definition is at fault, unless our trust is.
func (s *session) diagnoseRealm(t *challenge.Service, err error) *failure {
	what := "The token service " + wire.ShowURL(t.Realm) + ", named by " + t.From.String()
	if _, ok := errors.AsType[*egress.Forbidden](err); ok {
		return s.forbidden(err, what+", leads to an address that may not be contacted").at("")
	}
	step, isStep := errors.AsType[*wire.StepError](err)
	switch {
	case isStep && step.Step == wire.StepResolve:
		words, retryable := describeLookup(err)
		f := fail(CodeTokenServiceFailed, ReasonRealmUnreachable, "%s: its host name %s.", what, words).retry(retryable)
		return f.hinting("%s", s.hintRealmName(t, err))
	case wire.IsTimeout(err):
		return fail(CodeTokenServiceFailed, ReasonRealmTimeout, "%s, did not answer in time.", what)
	case isStep && step.Step == wire.StepTLS:
		return s.diagnoseRealmTLS(t, diagnoseTLS(certs.Explain(step.Seen, step.Err, program)))
	case isStep:
		words, retryable := describeDial(err)
		return s.realmUnreachable(t, what, words).retry(retryable)
	}
	return s.diagnoseRealmRequest(t, what, err)
}

// diagnoseRealmRequest is a token request that was sent and got no answer.
func (s *session) diagnoseRealmRequest(t *challenge.Service, what string, err error) *failure {
	if x, ok := errors.AsType[*wire.ExchangeError](err); ok {
		if f := diagnoseTLS(certs.ExplainExchange(x, program)); f != nil {
			return s.diagnoseRealmTLS(t, f)
		}
		if alert, sent := x.Conn.Alert(); sent {
			return s.diagnoseRealmTLS(t, diagnoseTLS(certs.ExplainAlert(x.Conn.Seen(), alert, program)))
		}
	}
	if wire.IsCutOff(err) {
		return s.realmUnreachable(t, what, "it closed the connection without an answer").retry(true)
	}
	return fail(CodeTokenServiceFailed, ReasonBadTokenAnswer, "%s: it answered with something that is not HTTP, or with headers of more than %d KiB.", what, s.limits.Header>>10)
}

func (s *session) realmUnreachable(t *challenge.Service, what, words string) *failure {
	return fail(CodeTokenServiceFailed, ReasonRealmUnreachable, "%s: %s.", what, words).
		hinting("Start the token service at %s if it is stopped; if that is not its address, correct the external URL in the registry's configuration.", t.Origin)
}

func (s *session) hintRealmName(t *challenge.Service, err error) string {
	if isNotFound(err) {
		return "Correct the external URL in the registry's configuration: the host name of its token service, " + t.Origin.Host + ", does not exist."
	}
	return "Try again. If it happens again: " + s.words.dns()
}

// diagnoseRealmTLS borrows the words of the endpoint's TLS failures.
func (s *session) diagnoseRealmTLS(t *challenge.Service, inner *failure) *failure {
	f := fail(CodeTokenServiceFailed, ReasonRealmTLS, "%s %s", inner.entry.Sentence, inner.seen)
	switch inner.entry.Reason {
	case ReasonUnknownAuthority, ReasonSelfSigned:
		f.at("auth.tls.ca").hinting("%s", inner.hint)
	case ReasonMissingIntermediate, ReasonClientCertificateRequired:
		f.hinting("%s", inner.hint)
	default:
		f.hinting("Repair TLS at the token service %s, or correct the external URL in the registry's configuration if the name is wrong.", t.Origin.HostPort())
	}
	return f.retry(inner.retryable)
}

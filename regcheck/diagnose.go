package regcheck

import (
	"errors"
	"net/http"
	"net/url"
	"syscall"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// This file turns errors of the network, of TLS, of HTTP and of token services into failures: the outermost type that
// identifies the cause first. An error's text decides nothing where a type exists.

// explainer has what failures name: the definition, where its API is, and who reads them.
type explainer struct {
	content.Client
	plan   *Plan
	limits Limits
	reader Audience
}

// diagnoseLookup is for the host of the endpoint or of a redirect. It names no address.
func (s explainer) diagnoseLookup(o egress.Origin, err error) *failure {
	words, retryable := wire.DescribeLookup(err)
	f := fail(CodeHostNotFound, "", "%q %s.", s.Wire.Text(o.Host), words).Retry(retryable)
	switch {
	case egress.HostNotFound(err):
	case egress.NoNameServer(err):
		f.At("").Hinting("%s", s.reader.FixDNS())
	case wire.IsTimeout(err):
		f.Hinting("Retry. If the failure persists: %s", s.reader.FixDNS())
	default:
		f.Hinting("Retry. If the failure persists, contact the operator of the DNS zone of %q or of the DNS server that {program} uses.",
			s.Wire.Text(o.Host))
	}
	return f
}

// forbidden is for every hop. hop names the source of the address.
func (s explainer) forbidden(err error, hop string) *failure {
	f, ok := errors.AsType[*egress.Forbidden](err)
	if !ok {
		return fail(CodeAddressForbidden, "", "%s has an address that is forbidden.", hop)
	}
	reason, hint := s.reader.WhyForbidden(f)
	return fail(CodeAddressForbidden, "", "%s: %s. Nothing was sent to it.", hop, reason).Hinting("%s", hint)
}

func (s explainer) diagnoseDial(p *wire.Peer, err error) *failure {
	if x, ok := errors.AsType[*egress.ProxyError](err); ok {
		return s.diagnoseProxy(p.Origin, x)
	}
	words, retryable := wire.DescribeDial(err)
	f := fail(CodeUnreachable, "", "Tried %s: %s.", p.Where(s.Wire.Text(p.HostPort())), words).Retry(retryable)
	if errors.Is(err, syscall.ECONNREFUSED) {
		f.Hinting("Start the registry, or correct the port in {endpoint}: no server listens on port %d.", p.Port)
	}
	return f
}

// diagnoseProxy is for a proxy that does not connect to an origin.
func (s explainer) diagnoseProxy(o egress.Origin, x *egress.ProxyError) *failure {
	host := s.Wire.Text(o.HostPort())
	if errors.Is(x, egress.ErrProxyScheme) {
		return fail(CodeUnreachable, "", "The outbound proxy for %s has another protocol: only HTTP proxies are supported.", host).At("").
			Hinting("%s", s.reader.FixProxy(host, false)).Retry(false)
	}
	asked := host
	if x.ByAddress {
		asked += " (" + x.Requested + ")"
	}
	f := fail(CodeUnreachable, "", "Requested %[2]s from the outbound proxy %[1]s: ", wire.CleanText(x.Host), asked).At("")
	switch {
	case x.Status == http.StatusProxyAuthRequired:
		f.Seen += "the proxy requires credentials (407)."
	case x.Status != 0:
		f.Seen += message.Of("the proxy returned %d.", x.Status)
	default:
		words, _ := wire.DescribeDial(x.Err)
		f.Seen += words + "."
	}
	f.Retryable = x.Status >= 500 || x.Status == 0
	return f.Hinting("%s", s.reader.FixProxy(host, x.ByAddress && x.Status != 0 && x.Status != http.StatusProxyAuthRequired))
}

// diagnoseRequest is for a request to the endpoint, or to where it redirects, that got no response.
func (s explainer) diagnoseRequest(err error) *failure {
	if r, ok := errors.AsType[*wire.RedirectError](err); ok {
		return s.diagnoseRedirect(r)
	}
	return s.diagnoseNoResponse("GET "+s.Base.String(), err)
}

func (s explainer) diagnoseNoResponse(what string, err error) *failure {
	if x, ok := errors.AsType[*wire.ExchangeError](err); ok && x.Conn.SawTLS() {
		return fail(CodeNotOCI, ReasonHTTPSRequired, "The response to %s was TLS, not plain HTTP.", what).
			Hinting("Set {endpoint} to %s.", s.plan.endpointAt("https://"+s.Base.HostPort()))
	} else if ok {
		if f := certs.ExplainExchange(x); f != nil {
			return f
		}
	}
	step, isStep := errors.AsType[*wire.StepError](err)
	proxy, isProxy := errors.AsType[*egress.ProxyError](err)
	switch {
	case isStep && step.Step == wire.StepEgress:
		return s.forbidden(err, "The endpoint "+s.Wire.Text(step.Origin.Host))
	case wire.IsTimeout(err):
		return fail(CodeUnavailable, "", "%s had no complete response in time.", what)
	case isStep && isProxy:
		return s.diagnoseProxy(step.Origin, proxy)
	case isStep:
		words, _ := wire.DescribeDial(err)
		return fail(CodeUnavailable, "", "%s needed another connection: %s.", what, words)
	case wire.IsCutOff(err):
		return fail(CodeUnavailable, "", "%s: the connection was closed before a response arrived.", what)
	default:
		return fail(CodeNotOCI, "", "The response to %s was not HTTP, or had headers of more than %d KiB: %s.",
			what, s.limits.Header>>10, s.Wire.Text(wire.Innermost(err).Error()))
	}
}

func (s explainer) diagnoseRedirect(r *wire.RedirectError) *failure {
	from, to := s.Wire.ShowURL(r.From), s.Wire.ShowURL(r.To)
	switch r.Kind {
	case wire.RedirectAway:
		return fail(CodeRedirected, "", "%s redirects to %s; credentials are not sent to another origin.", from, to).
			Hinting("If %s is the registry, set {endpoint} to %s%s.", to, s.redirectEndpoint(r.To), emptyBasePath(s.plan, r.To))
	case wire.RedirectLoop:
		return fail(CodeRedirected, ReasonLoop, "The redirects reached %s, which redirects to %s: they form a loop, or are more than %d.",
			from, to, s.limits.Redirects)
	case wire.RedirectInsecure:
		return fail(CodeRedirected, "", "%s redirects from https to plain http at %s, which is not followed.", from, to).
			Hinting("Correct the redirect on the server: its external URL must begin with https://.")
	case wire.RedirectInvalid:
		return fail(CodeRedirected, "", "%s redirects to an invalid URL: %s.", from, s.Wire.Text(r.Err.Error())).
			Hinting("Correct the redirect on the server, or set {endpoint} to the address that serves the API.")
	}
	return s.diagnoseTarget(r)
}

// diagnoseTarget is for the target of a followed redirect that failed. It has its own code, reason and field.
func (s explainer) diagnoseTarget(r *wire.RedirectError) *failure {
	from, to := s.Wire.ShowURL(r.From), s.Wire.ShowURL(r.To)
	f := s.diagnoseOther("A redirect of "+from, r.To, r.Err)
	if f.Entry.Code == CodeAddressForbidden {
		return f
	}
	f.Seen = message.Of("%s redirects to %s. %s", from, to, f.Seen)
	switch f.Field { // the hints for these are about the endpoint's own host
	case "endpoint":
		f.Hinting("Contact the registry operator: the redirect of %s must be corrected, or the server at %s.", from, to)
	case "auth.tls.certificate":
		f.Hinting("Set {endpoint} to %s, and {auth.tls.certificate} to a client certificate: it is sent only to the endpoint.",
			s.redirectEndpoint(r.To))
	}
	return f
}

// diagnoseOther is for a request to another URL than the endpoint's. hop names what leads there.
func (s explainer) diagnoseOther(hop string, to *url.URL, err error) *failure {
	step, isStep := errors.AsType[*wire.StepError](err)
	switch {
	case isStep && step.Step == wire.StepEgress:
		return s.forbidden(err, hop)
	case isStep && step.Step == wire.StepResolve:
		return s.diagnoseLookup(step.Origin, err)
	case isStep && step.Step == wire.StepTLS:
		return certs.Explain(step.Seen, step.Err)
	case isStep:
		return s.diagnoseDial(&wire.Peer{Target: &egress.Target{Origin: step.Origin}}, err)
	}
	return s.diagnoseNoResponse("GET "+s.Wire.ShowURL(to), err)
}

// redirectEndpoint returns the endpoint of a redirect's target.
func (s explainer) redirectEndpoint(to *url.URL) string {
	path := endpoint.TrimV2(to.Path)
	bare := url.URL{Scheme: to.Scheme, Host: to.Host}
	if path != "" {
		bare.Path = "/" + path
	}
	return s.Wire.Text(bare.String())
}

// emptyBasePath adds to a hint that the target contains the base path already.
func emptyBasePath(p *Plan, to *url.URL) string {
	if p.base.Path == "" || endpoint.TrimV2(to.Path) == "" {
		return ""
	}
	return " and clear {basePath}"
}

// diagnoseReading is the failure of a reading that is not conclusive.
func (s explainer) diagnoseReading(r content.Reading) *failure {
	switch {
	case r.Err != nil:
		return s.diagnoseContent(r.Err)
	case r.Grant.Err != nil:
		return s.diagnoseGrant(r.Way.Service, r.Grant.Err)
	case r.Response != nil && r.Response.Unavailable():
		return s.unavailable("GET "+r.Response.ShowURL(), r.Response)
	case r.Response != nil && r.Response.Status == 200 && r.Response.Cut != nil:
		return fail(CodeUnavailable, "", "GET %s returned 200, and the response ended early or was too slow.", r.Response.ShowURL())
	}
	return nil
}

// diagnoseContent is for a request for content that got no response. A redirect that cannot be followed is a failure of the
// registry here: the registry was found, and it accepted the credentials.
func (s explainer) diagnoseContent(err error) *failure {
	if x, ok := errors.AsType[*wire.RedirectError](err); ok {
		f := s.diagnoseRedirect(x)
		if f.Entry.Code == CodeRedirected {
			return fail(CodeUnavailable, "", "%s", f.Seen).Retry(f.Retryable)
		}
		return f
	}
	return s.diagnoseRequest(err)
}

// diagnoseGrant is for the error of a grant, or of reading the token service from a challenge.
func (s explainer) diagnoseGrant(t *challenge.Service, err error) *failure {
	f := s.diagnoseTokenService(t, err)
	if t != nil && f.Entry.Code == CodeTokenServiceFailed && t.Origin.Host == s.Home.Host && t.Origin.Port != s.Home.Port {
		f.Hinting("Correct the external URL in the configuration of the registry, or configure the proxy before it to "+
			"pass the Host header "+
			"with the port: the address of its token service has lost the port %d.", s.Home.Port)
	}
	return f
}

func (s explainer) diagnoseTokenService(t *challenge.Service, err error) *failure {
	if x, ok := errors.AsType[*challenge.Error](err); ok {
		return fail(CodeTokenServiceFailed, x.Reason, "%s", x.Seen)
	}
	if x, ok := errors.AsType[*challenge.ResponseError](err); ok {
		if f := certs.ExplainResponse(x.Response); f != nil {
			return s.diagnoseRealmTLS(t, f)
		}
		return s.unavailable("The token service "+s.Wire.ShowURL(t.Realm), x.Response)
	}
	return s.diagnoseRealm(t, err)
}

// diagnoseRealm is for a token service that sent no response. The registry named it, so no field of the definition is at
// fault, unless the trusted certificates are.
func (s explainer) diagnoseRealm(t *challenge.Service, err error) *failure {
	what := "The token service " + s.Wire.ShowURL(t.Realm) + ", named by " + s.Wire.Text(t.From.String())
	if _, ok := errors.AsType[*egress.Forbidden](err); ok {
		return s.forbidden(err, what+", has an address that must not be contacted").At("")
	}
	if x, ok := errors.AsType[*egress.ProxyError](err); ok {
		f := s.diagnoseProxy(t.Origin, x)
		return fail(CodeTokenServiceFailed, ReasonRealmUnreachable, "%s, was not reached. %s", what, f.Seen).
			Hinting("%s", f.Hint).Retry(f.Retryable)
	}
	step, isStep := errors.AsType[*wire.StepError](err)
	switch {
	case isStep && step.Step == wire.StepResolve:
		words, retryable := wire.DescribeLookup(err)
		f := fail(CodeTokenServiceFailed, ReasonRealmUnreachable, "%s: its host name %s.", what, words).Retry(retryable)
		return f.Hinting("%s", s.hintRealmName(t, err))
	case wire.IsTimeout(err):
		return fail(CodeTokenServiceFailed, ReasonRealmTimeout, "%s, did not respond in time.", what)
	case isStep && step.Step == wire.StepTLS:
		return s.diagnoseRealmTLS(t, certs.Explain(step.Seen, step.Err))
	case isStep:
		words, retryable := wire.DescribeDial(err)
		return s.realmUnreachable(t, what, words).Retry(retryable)
	}
	return s.diagnoseRealmRequest(t, what, err)
}

// diagnoseRealmRequest is for a token request that was sent and got no response.
func (s explainer) diagnoseRealmRequest(t *challenge.Service, what string, err error) *failure {
	if x, ok := errors.AsType[*wire.ExchangeError](err); ok {
		if f := certs.ExplainExchange(x); f != nil {
			return s.diagnoseRealmTLS(t, f)
		}
		if alert, sent := x.Conn.Alert(); sent {
			return s.diagnoseRealmTLS(t, certs.ExplainAlert(x.Conn.Seen(), alert))
		}
	}
	if wire.IsCutOff(err) {
		return s.realmUnreachable(t, what, "it closed the connection without a response").Retry(true)
	}
	return fail(CodeTokenServiceFailed, ReasonBadTokenAnswer, "%s: its response was not HTTP, or had headers of more than %d KiB.", what,
		s.limits.Header>>10)
}

func (s explainer) realmUnreachable(t *challenge.Service, what string, words Text) *failure {
	return fail(CodeTokenServiceFailed, ReasonRealmUnreachable, "%s: %s.", what, words).
		Hinting("Start the token service at %s, or correct the external URL in the configuration of the registry if that is not its "+
			"address.", s.Wire.Text(t.Origin.String()))
}

func (s explainer) hintRealmName(t *challenge.Service, err error) Text {
	if egress.HostNotFound(err) {
		return message.Of("Correct the external URL in the configuration of the registry: the host name of its token service, %s, does "+
			"not exist.", s.Wire.Text(t.Origin.Host))
	}
	return "Retry. If the failure persists: " + s.reader.FixDNS()
}

// diagnoseRealmTLS uses the words of the endpoint's TLS failures.
func (s explainer) diagnoseRealmTLS(t *challenge.Service, inner *failure) *failure {
	f := fail(CodeTokenServiceFailed, ReasonRealmTLS, "%s %s", inner.Entry.Sentence, inner.Seen)
	switch inner.Entry.Reason {
	case ReasonUnknownAuthority, ReasonSelfSigned:
		f.At("auth.tls.ca").Hinting("%s", inner.Hint)
	case ReasonMissingIntermediate, ReasonClientCertificateRequired:
		f.Hinting("%s", inner.Hint)
	default:
		f.Hinting("Correct TLS at the token service %s, or the external URL in the configuration of the registry if the name is wrong.",
			s.Wire.Text(t.Origin.HostPort()))
	}
	return f.Retry(inner.Retryable)
}

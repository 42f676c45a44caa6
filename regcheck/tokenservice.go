package regcheck

import (
	"errors"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// diagnoseGrant turns the error of a grant, or of reading the token service from a challenge, into a finding.
func (s *session) diagnoseGrant(t *challenge.Service, err error) *failure {
	if x, ok := errors.AsType[*challenge.Error](err); ok {
		return fail(CodeTokenServiceFailed, Reason(x.Reason), "%s", x.Seen)
	}
	if x, ok := errors.AsType[*challenge.ResponseError](err); ok {
		if f := diagnoseTLS(certs.ExplainResponse(x.Response, program)); f != nil {
			return s.diagnoseRealmTLS(t, f)
		}
		return unavailable("The token service "+wire.ShowURL(t.Realm), x.Response)
	}
	return s.diagnoseRealm(t, err)
}

// diagnoseRealm is for a token service that sent no response. The registry named it, so no field of the definition is at
// fault, unless the trusted certificates are.
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

// diagnoseRealmRequest is for a token request that was sent and got no response.
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

// diagnoseRealmTLS uses the words of the endpoint's TLS failures.
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

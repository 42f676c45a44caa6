package alerts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/service/alertbodies"
	"github.com/regwarden/regwarden/internal/service/outbound"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Headers of a webhook.
const (
	HeaderDelivery  = "Regwarden-Delivery"  // the same in every attempt of a delivery
	HeaderSignature = "Regwarden-Signature" // t=<unix seconds>,v1=<hex of HMAC-SHA-256 over "<t>.<body>">
)

const (
	connectTimeout = 5 * time.Second
	maxResponse    = 64 << 10
	maxBegin       = 4 << 10 // of a response that a test of the channel shows
)

// payload is the body of a webhook without a template.
type payload struct {
	DeliveryID string `json:"deliveryId"`
	Alert
}

// webhook makes one attempt. Every response except 2xx is a failure. Redirects are not followed: they would send the secrets in
// headers and body to a host that is not configured.
func (s *sender) webhook(ctx context.Context, c store.Channel, d store.Delivery, a Alert) result {
	request, err := s.request(ctx, c.HTTP, d, a)
	if err != nil {
		return result{message: "the stored settings of this channel are not valid; store the channel again", blocked: true}
	}
	transport, conn, err := s.config.dialer().Transport(ctx, request.URL)
	if err != nil {
		return failureOf(err)
	}
	defer conn.Close()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return failureOf(err)
	}
	begin, _ := io.ReadAll(io.LimitReader(response.Body, maxBegin))
	_, _ = io.CopyN(io.Discard, response.Body, maxResponse-maxBegin)
	_ = response.Body.Close()
	r := responseResult(response, s.now())
	r.response = string(begin)
	return r
}

func responseResult(response *http.Response, now time.Time) result {
	r := result{status: response.StatusCode, message: fmt.Sprintf("the receiver returned HTTP %d", response.StatusCode),
		hint: statusHints[response.StatusCode]}
	switch {
	case response.StatusCode/100 == 2:
		r.ok = true
	case response.StatusCode/100 == 3:
		r.message += "; redirects are not followed, so set http.url to their target"
		r.hint = "Set http.url to the target of the redirect."
	default:
		r.retryAfter = retryAfter(response.Header.Get("Retry-After"), now)
		if r.hint == "" {
			r.hint = "Contact the operator of the receiver. Alerts are retried for three days."
		}
	}
	return r
}

const (
	bodyHint   = "Set http.body to a template that the receiver accepts; the documentation of alerts has templates for some."
	secretHint = "Correct the token or signature that the receiver expects in http.url, http.headers or http.body."
	reachHint  = "Correct scheme, host and port, or contact the operator of the receiver: it must accept connections of this service " +
		"and respond in time."
	urlHint = "Set http.url to the current URL of the webhook, or create another one at the receiver."
)

// statusHints has the usual reason of a status.
var statusHints = map[int]string{
	http.StatusBadRequest: bodyHint, http.StatusUnsupportedMediaType: bodyHint, http.StatusUnprocessableEntity: bodyHint,
	http.StatusUnauthorized: secretHint, http.StatusForbidden: secretHint,
	http.StatusNotFound: urlHint, http.StatusGone: urlHint,
	http.StatusMethodNotAllowed: "Set http.method to POST or PUT, whichever the receiver expects.",
}

// retryAfter parses the header (RFC 9110 section 10.2.3). It returns 0 if the header is missing or not valid.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func (s *sender) request(ctx context.Context, h store.ChannelHTTP, d store.Delivery, a Alert) (*http.Request, error) {
	to, body, err := h.URL, "", error(nil)
	if h.Body == alertbodies.Opsgenie {
		to, body, err = opsgenieRequest(h.URL, a)
	} else {
		body, err = content(h.Body, payload{d.UID, a})
	}
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, h.Method, to, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "regwarden")
	for name, value := range h.Headers {
		r.Header.Set(name, value)
	}
	for name, value := range s.config.Header {
		r.Header.Set(name, value)
	}
	r.Header.Set(HeaderDelivery, d.UID)
	if h.Secret != "" {
		r.Header.Set(HeaderSignature, sign(h.Secret, s.now(), body))
	}
	return r, nil
}

// sign returns the signature of the body and the time, so that receivers can refuse replayed requests.
func sign(key string, at time.Time, body string) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(t + "." + body))
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// dialer connects to receivers.
func (c *Config) dialer() outbound.Dialer {
	return outbound.Dialer{Egress: c.Egress, Resolver: c.Resolver, Dialer: c.Dialer, Proxy: c.Proxy, ProxyConnect: c.ProxyConnect,
		Roots: c.Roots}
}

// Refusal returns why the egress policy does not allow the address of a webhook, "" if it does or the host is not known now. Nothing is
// sent.
func (s *Channels) Refusal(ctx context.Context, to secret.String) string {
	u, err := url.Parse(to.Reveal())
	if err != nil {
		return ""
	}
	origin, err := egress.ReadOrigin(u)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	_, err = s.config.dialer().Guard().Reach(ctx, origin)
	forbidden, ok := errors.AsType[*egress.Forbidden](err)
	if !ok {
		return ""
	}
	return "Nothing will be sent: the address is not allowed, since " + wording.Reason(forbidden) + ". " + wording.Hint(forbidden)
}

// failureOf describes why there is no response. It names no address: users who may read a channel must not see internal ones.
func failureOf(err error) result {
	if forbidden, ok := errors.AsType[*egress.Forbidden](err); ok {
		return result{blocked: true, message: "not sent: the address is not allowed, since " + wording.Reason(forbidden),
			hint: wording.Hint(forbidden)}
	}
	if proxy, ok := errors.AsType[*egress.ProxyError](err); ok && proxy.Status != 0 {
		return result{message: fmt.Sprintf("the outbound proxy did not connect to the receiver: it returned HTTP %d", proxy.Status),
			hint: "Ask the operator to correct --egress-proxy, or to allow the receiver in the proxy."}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return lookupFailure(dns)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return result{message: "the certificate of the receiver is not trusted, has expired or does not match the host name",
			hint: "Renew the certificate of the receiver, with all intermediate certificates, by an authority that the operating " +
				"system trusts."}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return result{message: "the receiver did not respond within " + attemptTimeout.String(), hint: reachHint}
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return result{message: "the connection to the receiver failed", hint: reachHint}
	}
	return result{message: "the connection was closed without a response", hint: reachHint}
}

// lookupFailure describes why the host of a receiver has no address. Only a host that does not exist is wrong in the settings.
func lookupFailure(err *net.DNSError) result {
	const unresolved, retry = "the host of the receiver could not be resolved: ", "Retry. If the failure persists"
	switch {
	case egress.HostNotFound(err):
		return result{message: "the host of the receiver does not exist in the DNS that regwarden uses",
			hint: "Correct the host of the URL."}
	case err.Timeout():
		return result{message: unresolved + "no DNS server responded in time", hint: retry + ": " + wording.Engine().DNS}
	case egress.NoNameServer(err):
		return result{message: unresolved + "no DNS server can be reached", hint: retry + ": " + wording.Engine().DNS}
	}
	return result{message: unresolved + "the DNS server reported a failure",
		hint: retry + ", contact the operator of the DNS zone of the receiver or of the DNS server that regwarden uses."}
}

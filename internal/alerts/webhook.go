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
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/internal/wording"
)

// Headers of a webhook.
const (
	HeaderDelivery  = "Regwarden-Delivery"  // the same for every attempt to deliver the same thing
	HeaderSignature = "Regwarden-Signature" // t=<unix seconds>,v1=<hex of HMAC-SHA-256 over "<t>.<body>">
)

const (
	connectTime = 5 * time.Second
	maxAnswer   = 64 << 10
)

// notice is what a webhook receives.
type notice struct {
	DeliveryID string `json:"deliveryId"`
	Alert
}

// webhook makes one attempt. Whatever the receiver answers but 2xx is a failure; a redirect is not followed, since it
// would take the secrets in header and body to a place that nobody configured.
func (s *Service) webhook(ctx context.Context, c store.Channel, d store.Delivery, a Alert) result {
	request, err := s.request(ctx, c.HTTP, d, a)
	if err != nil {
		return result{message: "the request cannot be made from what is stored; send the channel again", rare: true}
	}
	transport, err := s.transport(ctx, request.URL)
	if err != nil {
		return unsent(err)
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return unsent(err)
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	_ = response.Body.Close()
	return answered(response, s.now())
}

func answered(response *http.Response, now time.Time) result {
	message := fmt.Sprintf("the receiver answered HTTP %d", response.StatusCode)
	switch {
	case response.StatusCode/100 == 2:
		return result{ok: true, message: message}
	case response.StatusCode/100 == 3:
		return result{message: message + "; redirects are not followed, so write the address that it leads to"}
	default:
		return result{message: message, retryAfter: retryAfter(response.Header.Get("Retry-After"), now)}
	}
}

// retryAfter reads the header (RFC 9110 section 10.2.3), 0 when there is none that can be read.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func (s *Service) request(ctx context.Context, h store.ChannelHTTP, d store.Delivery, a Alert) (*http.Request, error) {
	body, err := content(h.Body, notice{d.UID, a})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, h.Method, h.URL, strings.NewReader(body))
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

// sign covers the time too, so that a receiver can refuse what was recorded and sent again later.
func sign(key string, at time.Time, body string) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(t + "." + body))
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// transport is made for one attempt: no connection is shared between channels.
func (s *Service) transport(ctx context.Context, to *url.URL) (*http.Transport, error) {
	origin, err := egress.ReadOrigin(to)
	if err != nil {
		return nil, err
	}
	guard := &egress.Guard{Policy: s.config.Egress, Resolver: s.config.Resolver, Dialer: s.config.Dialer,
		Proxy: s.config.Proxy, ProxyConnect: s.config.ProxyConnect, Roots: s.config.Roots}
	reaching, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	target, err := guard.Reach(reaching, origin)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxAnswer,
		TLSHandshakeTimeout: connectTime, ResponseHeaderTimeout: attemptTime,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.config.Roots},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, connectTime)
			defer cancel()
			conn, _, err := guard.Dial(ctx, target)
			return conn, err
		},
	}
	if proxy := target.Forward(); proxy != nil {
		t.Proxy = http.ProxyURL(proxy)
	}
	return t, nil
}

// unsent says in plain words why there is no answer. It names no address: who may read a channel need not know ours.
func unsent(err error) result {
	if forbidden, ok := errors.AsType[*egress.Forbidden](err); ok {
		return result{rare: true, message: "not sent: it is not allowed to connect there, since " + wording.Reason(forbidden)}
	}
	if proxy, ok := errors.AsType[*egress.ProxyError](err); ok && proxy.Status != 0 {
		return result{message: fmt.Sprintf("the outbound proxy did not connect to the receiver: it answered HTTP %d", proxy.Status)}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && !dns.IsTimeout {
		return result{message: "the host of the address was not found"}
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return result{message: "the receiver's certificate is not trusted, has expired or belongs to another name"}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return result{message: "the receiver did not answer within " + attemptTime.String()}
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return result{message: "the receiver could not be connected to"}
	}
	return result{message: "the connection ended before there was an answer"}
}

// Package provider sends the requests of sources over the connections of a check, by its rules, and explains why there is no response.
package provider

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/source"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// ForbiddenError means that the egress policy forbids the address of a provider.
type ForbiddenError struct {
	Host string
	*egress.Forbidden
}

// Unwrap returns the decision of the policy.
func (e *ForbiddenError) Unwrap() error { return e.Forbidden }

// Over returns a source.Call. Its error is a *source.Refusal or a *ForbiddenError, if it is not of the request itself.
func Over(w *wire.Client) source.Call {
	return func(ctx context.Context, request *source.Request) (*source.Response, error) {
		origin, err := egress.ReadOrigin(request.URL)
		if err != nil {
			return nil, err
		}
		w := w
		if request.Local {
			if w, err = local(w, origin); err != nil {
				return nil, err
			}
			defer w.Close()
		}
		peer, err := w.ReachVerified(ctx, origin)
		if err != nil {
			return nil, explain(origin.Host, err)
		}
		a, err := w.Exchange(ctx, peer, &wire.Request{URL: request.URL,
			Raw: &wire.Raw{Method: request.Method, Header: request.Header, Body: request.Body, Secret: request.Secret}})
		if err != nil {
			return nil, explain(origin.Host, err)
		}
		body := a.Body
		if a.Over || a.Packed || a.Cut != nil {
			body = nil // which no source reads as a response of its API
		}
		return &source.Response{Status: a.Status, Header: a.Header, Body: body, Show: a.Text}, nil
	}
}

// local returns connections to exactly one address, which the policy of a check forbids: a metadata service gives its secrets to
// every program that reaches it. It has no proxy.
func local(w *wire.Client, o egress.Origin) (*wire.Client, error) {
	address := net.JoinHostPort(o.Host, strconv.Itoa(int(o.Port)))
	policy, err := egress.ParsePolicy(egress.Settings{Allow: []string{address}, AllowOnly: []string{address}})
	if err != nil {
		return nil, err
	}
	c := wire.Config{Guard: &egress.Guard{Policy: policy, Dialer: w.Guard.Dialer}, Limits: w.Limits, Now: w.Now, Header: w.Header}
	most := max(localTime, c.Limits.Response/localPart)
	c.Limits.Connect, c.Limits.Response = min(c.Limits.Connect, most), min(c.Limits.Response, most)
	return wire.New(c), nil
}

// localTime is how long a service of the machine may take: on other machines no packet comes back from its address. Where responses may
// take long, it may take that part of their time.
const (
	localTime = 2 * time.Second
	localPart = 5 // a fifth
)

// explain returns why a provider sent no response.
func explain(host string, err error) error {
	if f, forbidden := errors.AsType[*egress.Forbidden](err); forbidden {
		return &ForbiddenError{host, f}
	}
	unreachable := func(words message.Text, retryable bool) error {
		return &source.Refusal{Reason: source.Unreachable, Seen: message.Of("%s: %s.", host, words), Retry: retryable}
	}
	if x, ok := errors.AsType[*egress.ProxyError](err); ok {
		return unreachable(wire.DescribeProxy(x))
	}
	step, isStep := errors.AsType[*wire.StepError](err)
	switch {
	case wire.IsTimeout(err):
		return unreachable("no response in time", true)
	case isStep && step.Step == wire.StepResolve:
		words, retryable := wire.DescribeLookup(err)
		return unreachable(message.Of("its name %s", words), retryable)
	case isStep && step.Step == wire.StepTLS:
		x := certs.Explain(step.Seen, step.Err)
		return &source.Refusal{Reason: source.TLSFailed, Seen: message.Of("%s: %s", host, x.Seen), Retry: x.Retryable}
	case isStep:
		words, retryable := wire.DescribeDial(err)
		return unreachable(words, retryable)
	case wire.IsCutOff(err):
		return unreachable("it closed the connection without a response", true)
	}
	return &source.Refusal{Reason: source.BadResponse, Seen: message.Of("%s sent no valid HTTP response.", host)}
}

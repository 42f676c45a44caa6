package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/egress"
)

// Response is an HTTP response of bounded length.
type Response struct {
	URL    *url.URL // after redirects
	From   egress.Origin
	Status int
	Header http.Header
	Body   []byte
	Cut    error // the body ended early
	Over   bool  // the body is longer than the limit
	Length int64 // of a download
	Packed bool  // compressed, although the request accepts no encoding
	Conn   *Conn
	Hops   int

	rounds int // round trips, with those for connections and redirects
}

// Denied reports whether the request was rejected for lack of credentials or permission.
func (a *Response) Denied() bool {
	return a.Status == http.StatusUnauthorized || a.Status == http.StatusForbidden
}

// Unavailable reports whether the response says nothing of the definition: a server that limits requests, or fails.
func (a *Response) Unavailable() bool {
	return a.Status == http.StatusTooManyRequests || a.Status >= 500
}

// ExchangeError is the error of a request without a response.
type ExchangeError struct {
	Conn    *Conn
	err     error
	Started bool // the first byte of a response came
}

func (e *ExchangeError) Error() string { return e.err.Error() }
func (e *ExchangeError) Unwrap() error { return e.err }

// Request is a request to be sent.
type Request struct {
	URL           *url.URL
	Authorization string
	Form          url.Values // makes it a POST
	Raw           *Raw       // has method, headers and body of its own
	Head          bool       // makes it a HEAD
	FirstByte     bool       // asks for the first byte only; a server may ignore it
	Accept        string
	Keep          int64 // bytes of the body that are needed; shortBody when 0
	Download      *Download
}

// Raw is a request to an API of another kind than a registry's.
type Raw struct {
	Method string
	Header http.Header
	Body   []byte
	Secret []string // what must be masked if the response repeats it
}

// repeatable reports whether the request may be sent again after a server closed the connection without a response.
func (c *Request) repeatable() bool { return c.Form == nil && c.Raw == nil }

// shortBody is the size of the retained part of a body that is not a list. The rest is read up to the limit, to see whether
// the body ends, and discarded, so that concurrent checks need little memory.
const shortBody = 64 << 10

func (c *Request) Request(ctx context.Context, always map[string]string) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if c.Form != nil {
		method, body = http.MethodPost, strings.NewReader(c.Form.Encode())
	}
	if c.Head {
		method = http.MethodHead
	}
	if c.Raw != nil {
		method, body = c.Raw.Method, bytes.NewReader(c.Raw.Body)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.URL.String(), body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, */*")
	if c.Accept != "" {
		r.Header.Set("Accept", c.Accept)
	}
	if c.Form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if c.FirstByte {
		r.Header.Set("Range", "bytes=0-0")
	}
	if c.Authorization != "" {
		r.Header.Set("Authorization", c.Authorization)
	}
	for name, value := range always {
		r.Header.Set(name, value)
	}
	if c.Raw != nil {
		maps.Copy(r.Header, c.Raw.Header)
	}
	return r, nil
}

// Exchange sends one request to a peer and follows no redirect.
func (w *Client) Exchange(ctx context.Context, p *Peer, what *Request) (*Response, error) {
	a, err := w.exchange(ctx, p, what)
	if err == nil {
		addRounds(ctx, a.rounds)
	}
	return a, err
}

func (w *Client) exchange(ctx context.Context, p *Peer, what *Request) (*Response, error) {
	w.Sent.note(what)
	w.noteHop(p.Origin)
	ctx, cancel := what.Download.limit(ctx, w.Limits.Response)
	defer cancel()
	a, err := w.send(ctx, p, what)
	x, failed := errors.AsType[*ExchangeError](err)
	// net/http repeats a request over HTTP/1.1 when the server closed an idle connection (RFC 9112 section 9.3.1).
	// Over HTTP/2 a server may do so after any of the concurrent requests (RFC 9113 section 6.8).
	if failed && x.Conn.H2() && what.repeatable() && ctx.Err() == nil && IsCutOff(err) {
		return w.send(ctx, p, what)
	}
	return a, err
}

func (w *Client) send(ctx context.Context, p *Peer, what *Request) (*Response, error) {
	var seen attempt
	request, err := what.Request(httptrace.WithClientTrace(ctx, seen.trace()), w.Header)
	if err != nil {
		return nil, err
	}
	response, err := p.transport.RoundTrip(request)
	// When the time is over, net/http closes the connection, and may still return what a server sends then.
	if err == nil && ctx.Err() != nil {
		_ = response.Body.Close()
		err = ctx.Err()
	}
	if err == nil && response.StatusCode == http.StatusProxyAuthRequired && p.Forward() != nil {
		_ = response.Body.Close()
		return nil, &StepError{Step: stepConnect, Origin: p.Origin,
			Err: &egress.ProxyError{Host: p.Proxied(), Requested: p.HostPort(), Status: response.StatusCode}}
	}
	if err != nil {
		return nil, p.noResponse(ctx, &seen, what.Download.cause(ctx, err))
	}
	c := seen.conn
	c.served.Add(1)
	a := &Response{URL: what.URL, From: p.Origin, Status: response.StatusCode, Header: response.Header, Conn: c, rounds: 1 + seen.cost}
	if what.Download != nil && a.Status == http.StatusOK {
		a.download(response, what.Download)
		return a, nil
	}
	a.read(response, what.Keep, w.Limits.Body)
	return a, nil
}

// noResponse returns the error of a request without a response.
func (p *Peer) noResponse(ctx context.Context, seen *attempt, err error) error {
	if step, ok := errors.AsType[*StepError](err); ok {
		return step
	}
	if seen.conn == nil {
		return &StepError{Step: stepConnect, Origin: p.Origin, Err: err}
	}
	if _, alert := RemoteAlert(err); alert || !seen.wrote.Load() && ctx.Err() == nil {
		_ = seen.conn.Close() // it has ended, and net/http closes it a moment later
	}
	return &ExchangeError{seen.conn, err, seen.started.Load()}
}

// read reads the body up to the limit. net/http closes the connection if the body is longer.
func (a *Response) read(response *http.Response, keep, limit int64) {
	defer func() { _ = response.Body.Close() }()
	if e := response.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		a.Packed = true
		return
	}
	if response.ContentLength > limit {
		a.Over = true
		return
	}
	if keep == 0 {
		keep = shortBody
	}
	body := io.LimitReader(response.Body, limit+1)
	a.Body, a.Cut = io.ReadAll(io.LimitReader(body, keep))
	rest := int64(0)
	if a.Cut == nil {
		rest, a.Cut = io.Copy(io.Discard, body)
	}
	a.Over = int64(len(a.Body))+rest > limit
}

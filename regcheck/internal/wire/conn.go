package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/regwarden/regwarden/egress"
)

// MaxChain bounds the certificates that a server may send.
const MaxChain = 10

// maxInterim bounds the 1xx answers before an answer; net/http would take as many as fit into the header's cap.
const maxInterim = 8

var errManyInterim = errors.New("too many 1xx answers before an answer")

var ErrLongChain = errors.New("the server sends more than 10 certificates")

// Conn is one connection, on which net/http speaks HTTP/1.1 or HTTP/2 as TLS agreed.
type Conn struct {
	Peer   *Peer
	wire   *Client
	raw    net.Conn
	tls    *tls.Conn // nil for plain HTTP
	client *http.ClientConn
	Cost   int // round trips that opening it took
	served atomic.Int32

	Asked      bool // the server wants a client certificate
	acceptable [][]byte

	mu    sync.Mutex
	first []byte // the first bytes received: over plain HTTP a TLS server answers with an alert
}

func (c *Conn) Handshake(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.wire.Limits.Handshake)
	defer cancel()
	c.tls = tls.Client(c.raw, c.wire.tlsConfig(c.Peer, c))
	if err := c.tls.HandshakeContext(ctx); err != nil {
		return err
	}
	c.Cost++
	if c.tls.ConnectionState().Version < tls.VersionTLS13 {
		c.Cost++
	}
	return nil
}

// Speak puts HTTP onto the connection. The transport is this connection's alone: it can neither
// dial nor share.
func (c *Conn) Speak(ctx context.Context) error {
	transport := &http.Transport{
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return c.quiet(c.raw), nil },
		DialTLSContext:         func(context.Context, string, string) (net.Conn, error) { return c.secured(), nil },
		DisableCompression:     true,
		MaxResponseHeaderBytes: c.wire.Limits.Header,
		ForceAttemptHTTP2:      true,
		// A hostile server may send ahead of what we read; with the defaults that is 4 MiB a stream.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 256 << 10, MaxReceiveBufferPerConnection: 512 << 10},
	}
	if proxy := c.Peer.Forward(); proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
	}
	var err error
	c.client, err = transport.NewClientConn(ctx, c.Peer.Scheme, c.Peer.HostPort())
	return err
}

// Drop closes a connection on which HTTP was not started.
func (c *Conn) Drop() {
	if c.client == nil {
		_ = c.raw.Close()
	}
}

// State is the state of TLS, the zero value for plain HTTP.
func (c *Conn) State() (s tls.ConnectionState) {
	if c.tls != nil {
		s = c.tls.ConnectionState()
	}
	return s
}

func (c *Conn) Close() { _ = c.client.Close() }

// H2 reports whether many requests can travel at once.
func (c *Conn) H2() bool {
	return c.tls != nil && c.tls.ConnectionState().NegotiatedProtocol == "h2"
}

// Alert is the TLS alert that ended the connection, if one did: the error stays with the connection,
// while net/http may have wrapped it away.
func (c *Conn) Alert() (uint8, bool) {
	if c.tls == nil || c.client == nil || c.client.Err() == nil {
		return 0, false
	}
	_, err := c.tls.Read(make([]byte, 1))
	return RemoteAlert(err)
}

// secured is the TLS connection as net/http wants it: it must see the type for HTTP/2.
func (c *Conn) secured() net.Conn {
	if c.H2() {
		return c.tls
	}
	return c.quiet(c.tls)
}

// resetConn does not report a reset when it writes. Read does, after what the peer sent before it; otherwise net/http
// would close the connection with a TLS alert unread.
type resetConn struct{ net.Conn }

func (c resetConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if IsReset(err) {
		return len(b), nil
	}
	return n, err
}

// quietConn gives nothing to read before something was written: net/http closes a connection on
// which the server speaks first, with a line in the log, and we want to see what it says. It also
// keeps the first bytes received.
type quietConn struct {
	net.Conn
	owner *Conn
	once  sync.Once
	wrote chan struct{}
}

func (c *Conn) quiet(inner net.Conn) net.Conn {
	return &quietConn{Conn: inner, owner: c, wrote: make(chan struct{})}
}

func (q *quietConn) speak() { q.once.Do(func() { close(q.wrote) }) }

func (q *quietConn) Write(b []byte) (int, error) {
	defer q.speak()
	return q.Conn.Write(b)
}

func (q *quietConn) Close() error {
	defer q.speak()
	return q.Conn.Close()
}

func (q *quietConn) Read(b []byte) (int, error) {
	<-q.wrote
	n, err := q.Conn.Read(b)
	q.owner.mu.Lock()
	if len(q.owner.first) == 0 {
		q.owner.first = bytes.Clone(b[:min(n, 8)])
	}
	q.owner.mu.Unlock()
	return n, err
}

// SawTLS reports whether a plain connection was answered with a TLS record (alert 21, handshake 22).
func (c *Conn) SawTLS() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tls == nil && len(c.first) > 2 && (c.first[0] == 0x15 || c.first[0] == 0x16) && c.first[1] == 3
}

// Response is a bounded HTTP answer.
type Response struct {
	URL    *url.URL // that gave it, after redirects
	From   egress.Origin
	Status int
	Header http.Header
	Body   []byte
	Cut    error // the body ended early
	Over   bool  // the body is longer than the cap
	Packed bool  // compressed, though we asked for none
	Conn   *Conn
	Rounds int
	Hops   int
}

// ExchangeError is a request that got no answer.
type ExchangeError struct {
	Conn    *Conn
	err     error
	Started bool // the first byte of an answer came
}

func (e *ExchangeError) Error() string { return e.err.Error() }
func (e *ExchangeError) Unwrap() error { return e.err }

// Request is one request.
type Request struct {
	URL           *url.URL
	Authorization string
	Form          url.Values // makes it a POST
	Head          bool       // makes it a HEAD
	Accept        string
	Keep          int64 // bytes of the body that are needed; keepShort when 0
}

// keepShort is what is kept of an answer that has no list in it. The rest is read up to the cap, to
// tell whether it ends, and thrown away: many checks at once must not hold a MiB each.
const keepShort = 64 << 10

func (c *Request) Request(ctx context.Context, always map[string]string) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if c.Form != nil {
		method, body = http.MethodPost, strings.NewReader(c.Form.Encode())
	}
	if c.Head {
		method = http.MethodHead
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
	if c.Authorization != "" {
		r.Header.Set("Authorization", c.Authorization)
	}
	for name, value := range always {
		r.Header.Set(name, value)
	}
	return r, nil
}

// Exchange sends one request to a peer, on a kept connection or a new one, and follows nothing.
func (w *Client) Exchange(ctx context.Context, p *Peer, what *Request) (*Response, error) {
	w.Sent.note(what)
	ctx, cancel := context.WithTimeout(ctx, w.Limits.Response)
	defer cancel()
	c, cost, err := w.acquire(ctx, p)
	if err != nil {
		return nil, err
	}
	// The server may close a connection that it kept for us at any time (RFC 9112 section 9.3.1), and an
	// HTTP/2 connection after any of the requests that travel together (RFC 9113 section 6.8).
	mayEnd := cost == 0 && !c.Fresh() || c.H2()
	a, err := w.send(ctx, c, what)
	if err != nil && mayEnd && what.Form == nil && ctx.Err() == nil && IsCutOff(err) {
		if c, cost, err = w.openBooked(ctx, p); err == nil {
			a, err = w.send(ctx, c, what)
		}
	}
	if a != nil {
		a.Rounds += cost
	}
	return a, err
}

// Fresh reports whether no answer came over the connection yet.
func (c *Conn) Fresh() bool { return c.served.Load() == 0 }

func (w *Client) send(ctx context.Context, c *Conn, what *Request) (*Response, error) {
	request, err := what.Request(ctx, w.Header)
	if err != nil {
		c.client.Release()
		return nil, err
	}
	var started atomic.Bool
	interim := 0
	trace := &httptrace.ClientTrace{
		GotFirstResponseByte: func() { started.Store(true) },
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			if interim++; interim > maxInterim {
				return errManyInterim
			}
			return nil
		},
	}
	response, err := c.client.RoundTrip(request.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil {
		return nil, &ExchangeError{c, err, started.Load()}
	}
	c.served.Add(1)
	a := &Response{URL: what.URL, From: c.Peer.Origin, Status: response.StatusCode, Header: response.Header, Conn: c, Rounds: 1}
	a.read(response, what.Keep, w.Limits.Body)
	return a, nil
}

// read takes the body up to the cap. What is not read to its end makes net/http drop the connection.
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
		keep = keepShort
	}
	body := io.LimitReader(response.Body, limit+1)
	a.Body, a.Cut = io.ReadAll(io.LimitReader(body, keep))
	rest := int64(0)
	if a.Cut == nil {
		rest, a.Cut = io.Copy(io.Discard, body)
	}
	a.Over = int64(len(a.Body))+rest > limit
}

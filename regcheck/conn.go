package regcheck

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
)

// maxChain bounds the certificates that a server may send.
const maxChain = 10

// maxInterim bounds the 1xx answers before an answer; net/http would take as many as fit into the header's cap.
const maxInterim = 8

var errManyInterim = errors.New("too many 1xx answers before an answer")

var errLongChain = errors.New("the server sends more than 10 certificates")

// conn is one connection, on which net/http speaks HTTP/1.1 or HTTP/2 as TLS agreed.
type conn struct {
	peer   *peer
	wire   *wire
	raw    net.Conn
	tls    *tls.Conn // nil for plain HTTP
	client *http.ClientConn
	cost   int // round trips that opening it took
	served atomic.Int32

	asked      bool // the server wants a client certificate
	acceptable [][]byte

	mu    sync.Mutex
	first []byte // the first bytes received: over plain HTTP a TLS server answers with an alert
}

func (c *conn) handshake(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.wire.limits.TLS)
	defer cancel()
	c.tls = tls.Client(c.raw, c.wire.tlsConfig(c.peer, c))
	if err := c.tls.HandshakeContext(ctx); err != nil {
		return err
	}
	c.cost++
	if c.tls.ConnectionState().Version < tls.VersionTLS13 {
		c.cost++
	}
	return nil
}

// speak puts HTTP onto the connection. The transport is this connection's alone: it can neither
// dial nor share.
func (c *conn) speak(ctx context.Context) error {
	transport := &http.Transport{
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return c.quiet(c.raw), nil },
		DialTLSContext:         func(context.Context, string, string) (net.Conn, error) { return c.secured(), nil },
		DisableCompression:     true,
		MaxResponseHeaderBytes: c.wire.limits.Header,
		ForceAttemptHTTP2:      true,
		// A hostile server may send ahead of what we read; with the defaults that is 4 MiB a stream.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 256 << 10, MaxReceiveBufferPerConnection: 512 << 10},
	}
	if proxy := c.peer.Forward(); proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
	}
	var err error
	c.client, err = transport.NewClientConn(ctx, c.peer.Scheme, c.peer.HostPort())
	return err
}

func (c *conn) close() { _ = c.client.Close() }

// h2 tells whether many requests can travel at once.
func (c *conn) h2() bool {
	return c.tls != nil && c.tls.ConnectionState().NegotiatedProtocol == "h2"
}

// alert is the TLS alert that ended the connection, if one did: the error stays with the connection,
// while net/http may have wrapped it away.
func (c *conn) alert() (uint8, bool) {
	if c.tls == nil || c.client == nil || c.client.Err() == nil {
		return 0, false
	}
	_, err := c.tls.Read(make([]byte, 1))
	return remoteAlert(err)
}

// secured is the TLS connection as net/http wants it: it must see the type for HTTP/2.
func (c *conn) secured() net.Conn {
	if c.h2() {
		return c.tls
	}
	return c.quiet(c.tls)
}

// resetConn does not report a reset when it writes. Read does, after what the peer sent before it; otherwise net/http
// would close the connection with a TLS alert unread.
type resetConn struct{ net.Conn }

func (c resetConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if isReset(err) {
		return len(b), nil
	}
	return n, err
}

// quietConn gives nothing to read before something was written: net/http closes a connection on
// which the server speaks first, with a line in the log, and we want to see what it says. It also
// keeps the first bytes received.
type quietConn struct {
	net.Conn
	owner *conn
	once  sync.Once
	wrote chan struct{}
}

func (c *conn) quiet(inner net.Conn) net.Conn {
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

// sawTLS tells whether a plain connection was answered with a TLS record (alert 21, handshake 22).
func (c *conn) sawTLS() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tls == nil && len(c.first) > 2 && (c.first[0] == 0x15 || c.first[0] == 0x16) && c.first[1] == 3
}

// answer is a bounded HTTP answer.
type answer struct {
	url    *url.URL // that gave it, after redirects
	from   origin
	status int
	header http.Header
	body   []byte
	cut    error // the body ended early
	over   bool  // the body is longer than the cap
	packed bool  // compressed, though we asked for none
	conn   *conn
	rounds int
	hops   int
}

// exchangeError is a request that got no answer.
type exchangeError struct {
	conn    *conn
	err     error
	started bool // the first byte of an answer came
}

func (e *exchangeError) Error() string { return e.err.Error() }
func (e *exchangeError) Unwrap() error { return e.err }

// call is one request.
type call struct {
	url           *url.URL
	authorization string
	form          url.Values // makes it a POST
	head          bool       // makes it a HEAD
	accept        string
	keep          int64 // bytes of the body that are needed; keepShort when 0
}

// keepShort is what is kept of an answer that has no list in it. The rest is read up to the cap, to
// tell whether it ends, and thrown away: many checks at once must not hold a MiB each.
const keepShort = 64 << 10

func (c *call) request(ctx context.Context, always map[string]string) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if c.form != nil {
		method, body = http.MethodPost, strings.NewReader(c.form.Encode())
	}
	if c.head {
		method = http.MethodHead
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url.String(), body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, */*")
	if c.accept != "" {
		r.Header.Set("Accept", c.accept)
	}
	if c.form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	for name, value := range always {
		r.Header.Set(name, value)
	}
	return r, nil
}

// exchange sends one request to a peer, on a kept connection or a new one, and follows nothing.
func (w *wire) exchange(ctx context.Context, p *peer, what *call) (*answer, error) {
	w.told.note(what)
	ctx, cancel := context.WithTimeout(ctx, w.limits.Response)
	defer cancel()
	c, cost, err := w.acquire(ctx, p)
	if err != nil {
		return nil, err
	}
	// The server may close a connection that it kept for us at any time (RFC 9112 section 9.3.1), and an
	// HTTP/2 connection after any of the requests that travel together (RFC 9113 section 6.8).
	mayEnd := cost == 0 && !c.fresh() || c.h2()
	a, err := w.send(ctx, c, what)
	if err != nil && mayEnd && what.form == nil && ctx.Err() == nil && isCutOff(err) {
		if c, cost, err = w.openBooked(ctx, p); err == nil {
			a, err = w.send(ctx, c, what)
		}
	}
	if a != nil {
		a.rounds += cost
	}
	return a, err
}

// fresh tells that no answer came over the connection yet.
func (c *conn) fresh() bool { return c.served.Load() == 0 }

func (w *wire) send(ctx context.Context, c *conn, what *call) (*answer, error) {
	request, err := what.request(ctx, w.header)
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
		return nil, &exchangeError{c, err, started.Load()}
	}
	c.served.Add(1)
	a := &answer{url: what.url, from: c.peer.Origin, status: response.StatusCode, header: response.Header, conn: c, rounds: 1}
	a.read(response, what.keep, w.limits.Body)
	return a, nil
}

// read takes the body up to the cap. What is not read to its end makes net/http drop the connection.
func (a *answer) read(response *http.Response, keep, limit int64) {
	defer func() { _ = response.Body.Close() }()
	if e := response.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		a.packed = true
		return
	}
	if response.ContentLength > limit {
		a.over = true
		return
	}
	if keep == 0 {
		keep = keepShort
	}
	body := io.LimitReader(response.Body, limit+1)
	a.body, a.cut = io.ReadAll(io.LimitReader(body, keep))
	rest := int64(0)
	if a.cut == nil {
		rest, a.cut = io.Copy(io.Discard, body)
	}
	a.over = int64(len(a.body))+rest > limit
}

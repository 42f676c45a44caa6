package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

// MaxChain is the maximum number of certificates that a server may send.
const MaxChain = 10

// maxInterim is the maximum number of 1xx responses before a response; net/http would accept as many as fit into the limit of the header.
const maxInterim = 8

var errManyInterim = errors.New("too many 1xx responses before a response")

var ErrLongChain = errors.New("the server sends more than 10 certificates")

// Conn is a connection to a peer, below TLS. The transport of the peer speaks HTTP/1.1 or HTTP/2 on it.
type Conn struct {
	net.Conn
	Peer   *Peer
	served atomic.Int32
	cost   int // round trips for opening it, 0 once they are counted

	CertificateRequested bool // the server requested a client certificate
	acceptable           [][]byte

	tls    *tls.Conn // nil for plain HTTP
	closed atomic.Bool
	detach func() bool        // from the context of the peer, which closes the connection
	wrote  context.Context    // done when HTTP has written something, or the peer has ended
	spoke  context.CancelFunc // ends wrote

	mu    sync.Mutex
	first []byte // the first bytes received: over plain HTTP a TLS server sends an alert
	tail  []byte // the last bytes received since the last request; nil after the end of a header
	ended bool   // the peer has closed the connection
}

func newConn(p *Peer, raw net.Conn) *Conn {
	c := &Conn{Conn: raw, Peer: p, cost: 1}
	c.wrote, c.spoke = context.WithCancel(p.ctx)
	c.detach = context.AfterFunc(p.ctx, func() { _ = raw.Close() })
	return c
}

// Write does not report a reset. Read does, after what the peer sent before it; otherwise net/http would close the
// connection with a TLS alert unread.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if isReset(err) {
		return len(b), nil
	}
	return n, err
}

func (c *Conn) Close() error {
	c.closed.Store(true)
	c.spoke()
	c.detach()
	return c.Conn.Close()
}

func (c *Conn) Handshake(ctx context.Context) error {
	w := c.Peer.wire
	ctx, cancel := context.WithTimeout(ctx, w.Limits.Handshake)
	defer cancel()
	c.tls = tls.Client(c, w.tlsConfig(c.Peer, c))
	if err := c.tls.HandshakeContext(ctx); err != nil {
		return err
	}
	rounds := 1
	if c.tls.ConnectionState().Version < tls.VersionTLS13 {
		rounds = 2
	}
	c.cost += rounds
	addRounds(ctx, rounds)
	return nil
}

// State returns the state of TLS, the zero value for plain HTTP.
func (c *Conn) State() (s tls.ConnectionState) {
	if c.tls != nil {
		s = c.tls.ConnectionState()
	}
	return s
}

// H2 reports whether the connection carries concurrent requests.
func (c *Conn) H2() bool { return c.State().NegotiatedProtocol == "h2" }

// Fresh reports whether the connection has carried no response yet.
func (c *Conn) Fresh() bool { return c.served.Load() == 0 }

// Alert returns the TLS alert that ended the connection, if one did: the error stays with the TLS connection,
// while net/http may return another one.
func (c *Conn) Alert() (uint8, bool) {
	if c.tls == nil || !c.closed.Load() {
		return 0, false
	}
	_, err := c.tls.Read(make([]byte, 1))
	return RemoteAlert(err)
}

// forHTTP returns the connection for net/http, which supports HTTP/2 only on a *tls.Conn.
func (c *Conn) forHTTP() net.Conn {
	switch {
	case c.tls == nil:
		return &quietConn{c, c}
	case c.H2():
		return c.tls
	default:
		return &quietConn{c.tls, c}
	}
}

// connOf returns the connection for which forHTTP returned n.
func connOf(n net.Conn) *Conn {
	if quiet, ok := n.(*quietConn); ok {
		return quiet.owner
	}
	return n.(*tls.Conn).NetConn().(*Conn)
}

// quietConn returns no bytes before something was written: net/http closes a connection on which the server sends first
// and logs it, while the report needs these bytes. It also records the first bytes received.
type quietConn struct {
	net.Conn
	owner *Conn
}

func (q *quietConn) Write(b []byte) (int, error) {
	defer q.owner.spoke()
	q.owner.mu.Lock()
	q.owner.tail = []byte{}
	q.owner.mu.Unlock()
	return q.Conn.Write(b)
}

func (q *quietConn) Read(b []byte) (int, error) {
	<-q.owner.wrote.Done()
	n, err := q.Conn.Read(b)
	q.owner.saw(b[:n], err)
	return n, err
}

func (c *Conn) saw(b []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.first) == 0 {
		c.first = bytes.Clone(b[:min(len(b), 8)])
	}
	c.ended = c.ended || errors.Is(err, io.EOF) || isReset(err)
	if c.tail == nil {
		return
	}
	c.tail = append(c.tail, b...)
	if bytes.Contains(c.tail, []byte("\n\r\n")) || bytes.Contains(c.tail, []byte("\n\n")) {
		c.tail = nil // the header ends
		return
	}
	c.tail = bytes.Clone(c.tail[max(0, len(c.tail)-2):])
}

// cutInHeader reports whether the peer closed the connection inside the header of an HTTP response, for which net/http returns the
// error of a malformed header.
func (c *Conn) cutInHeader() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	const version = "HTTP/1."
	first := string(c.first)
	return c.ended && c.tail != nil && first != "" && (strings.HasPrefix(first, version) || strings.HasPrefix(version, first))
}

// SawTLS reports whether the server sent a TLS record on a plain connection (alert 21, handshake 22).
func (c *Conn) SawTLS() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tls == nil && len(c.first) > 2 && (c.first[0] == 0x15 || c.first[0] == 0x16) && c.first[1] == 3
}

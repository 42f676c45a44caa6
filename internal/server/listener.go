package server

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/connlimit"
)

// ConnLimits limit the resources that clients can use without an account. All fields are required.
type ConnLimits struct {
	Connections int   // open at the same time in total
	PerSource   int   // open at the same time from one source
	Bytes       int64 // received bytes of pending requests, over all connections; a source may hold a quarter

	// Proxies are exempt from the limits per source, since they forward requests of many clients.
	Proxies []netip.Prefix
}

// errTooManyBytes ends a read when the pending bytes of all connections, or of those of one source, reach their limit.
var errTooManyBytes = errors.New("too many bytes of pending requests")

// Listener applies ConnLimits to the connections of another listener. A connection over the limit is closed at once. It
// is safe for concurrent use.
//
// It counts bytes when they are read from the connection, so that unfinished headers, unfinished bodies and queued
// requests are one sum, whatever net/http does with them.
type Listener struct {
	net.Listener
	limits ConnLimits
	pause  time.Duration // between attempts to write; see limitedConn.Write
	bytes  atomic.Int64

	mu       sync.Mutex
	open     int
	sources  map[string]*source // by audit.Origin.Source
	refusals [2]int64
}

// source has the resources used by the connections of one source.
type source struct {
	open  int // guarded by Listener.mu
	bytes atomic.Int64
}

// Limits for which a connection is refused, as indexes of Listener.refusals.
const (
	refusedInAll = iota
	refusedPerSource
)

// WithTLS returns a listener of TLS connections. Unfinished handshakes are limited to an eighth of the connections.
func (l *Listener) WithTLS(config *tls.Config) net.Listener {
	return connlimit.NewHandshakes(l, config, max(l.limits.Connections/8, 1), headerTimeout)
}

// NewListener returns l with limits.
func NewListener(l net.Listener, limits ConnLimits) *Listener {
	return &Listener{Listener: l, limits: limits, pause: writePause, sources: map[string]*source{}}
}

// Accept waits for the next connection within the limits.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(conn); c != nil {
			limitUnsent(conn)
			return c, nil
		}
		_ = conn.Close() // a response would cost more than the connection
	}
}

// admit returns nil for a connection over the limits.
func (l *Listener) admit(conn net.Conn) *limitedConn {
	name, proxy := l.peer(conn)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.limits.Connections {
		l.refusals[refusedInAll]++
		return nil
	}
	from := l.sources[name]
	if from == nil {
		from = &source{}
	}
	if !proxy && from.open >= l.limits.PerSource {
		l.refusals[refusedPerSource]++
		return nil
	}
	l.open++
	from.open++
	l.sources[name] = from
	share := l.limits.Bytes / 4
	if proxy {
		share = l.limits.Bytes
	}
	return &limitedConn{Conn: conn, listener: l, source: name, proxy: proxy, from: from, share: share}
}

// peer returns the source of a connection, and whether it is a proxy. An address that is not an IP address is a Unix
// socket, which only a proxy on this machine uses.
func (l *Listener) peer(conn net.Conn) (source string, proxy bool) {
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return "", true
	}
	addr := remote.AddrPort().Addr().Unmap().WithZone("")
	return audit.Origin{Address: addr.String()}.Source(), contains(l.limits.Proxies, addr)
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

func (l *Listener) released(c *limitedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if c.from.open--; c.from.open == 0 {
		delete(l.sources, c.source)
	}
}

// load returns the number of open connections, and of refused ones by limit.
func (l *Listener) load() (open int, refused [2]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.refusals
}

// limitedConn is a connection within the limits. Received bytes count until a response begins: net/http and the handler
// may hold all of them until then.
type limitedConn struct {
	net.Conn
	listener *Listener
	source   string
	proxy    bool
	from     *source
	share    int64 // of Listener.bytes, for all connections of the source

	pending atomic.Int64
	closed  sync.Once
}

// Source implements connlimit.Sourced.
func (c *limitedConn) Source() string {
	if c.proxy {
		return ""
	}
	return c.source
}

// Read returns errTooManyBytes if the received bytes exceed a limit.
func (c *limitedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.hold(int64(n)) {
		return 0, errTooManyBytes
	}
	return n, err
}

func (c *limitedConn) hold(n int64) bool {
	c.pending.Add(n)
	all, own := c.listener.bytes.Add(n), c.from.bytes.Add(n)
	return all <= c.listener.limits.Bytes && own <= c.share
}

func (c *limitedConn) releasePending() {
	if n := c.pending.Swap(0); n > 0 {
		c.listener.bytes.Add(-n)
		c.from.bytes.Add(-n)
	}
}

const (
	// The connection is closed if the client reads nothing of a response for writePauses pauses of writePause each.
	writePause  = 5 * time.Second
	writePauses = 4
)

// Write fails if the client reads nothing for writePauses. A client that reads slowly is served: the operating system
// reports free buffer space only when there is much, but each pause begins with an attempt to write. A write deadline
// set by net/http has no effect.
func (c *limitedConn) Write(p []byte) (n int, err error) {
	c.releasePending()
	for silent := 0; ; {
		if err := c.Conn.SetWriteDeadline(time.Now().Add(c.listener.pause)); err != nil {
			return n, err
		}
		taken, err := c.Conn.Write(p[n:])
		n += taken
		if silent++; taken > 0 {
			silent = 0
		}
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case silent == writePauses:
			c.cut()
			return n, err
		}
	}
}

// cut closes the connection and discards what the operating system has not sent.
func (c *limitedConn) cut() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (c *limitedConn) Close() error {
	c.closed.Do(func() {
		c.releasePending()
		c.listener.released(c)
	})
	return c.Conn.Close()
}

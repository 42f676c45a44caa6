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
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/web/connlimit"
)

// ConnLimits limit the resources that clients can use without an account. All fields are required.
type ConnLimits struct {
	Connections int   // open at the same time in total
	PerSource   int   // open at the same time from one source
	Bytes       int64 // received bytes of pending requests, over all connections; a source may hold a quarter

	// Proxies are exempt from the limits per source, since they forward requests of many clients.
	Proxies []netip.Prefix
}

// tooManyBytes ends a read when the pending bytes of all connections, or of those of one source, reach their limit. To net/http it is a
// timeout, to which it sends no response of its own: see Server.headerEnds.
type tooManyBytes struct{}

func (tooManyBytes) Error() string   { return "too many bytes of pending requests" }
func (tooManyBytes) Timeout() bool   { return true }
func (tooManyBytes) Temporary() bool { return false }

// Unwrap returns the fault that the client gets.
func (tooManyBytes) Unwrap() error {
	return fault.Busy("The service is receiving too many large requests. Retry after the time in Retry-After.", time.Second)
}

// freeBytes of each connection are not counted: a request of usual size is never refused, whatever others send, and net/http has buffers
// of about this size for each connection.
const freeBytes = 8 << 10

// Listener applies ConnLimits to the connections of another listener. For a connection over the limit another one is closed, or the new
// one if all others work on requests. It is safe for concurrent use.
//
// It counts bytes when they are read from the connection, so that unfinished headers, unfinished bodies and queued
// requests are one sum, whatever net/http does with them.
type Listener struct {
	net.Listener
	limits ConnLimits
	pause  time.Duration // between attempts to write; see limitedConn.Write
	bytes  atomic.Int64

	conns *connlimit.Table

	mu      sync.Mutex
	sources map[string]*source // by audit.Origin.Source
}

// source has the resources used by the connections of one source.
type source struct {
	open  int // guarded by Listener.mu
	bytes atomic.Int64
}

// minHandshakes is used with few connections.
const minHandshakes = 64

// Load returns the number of open connections, and counts of those that were not served.
func (l *Listener) Load() (open int, counts connlimit.Counts) { return l.conns.Load() }

// WithTLS returns a listener of TLS connections. Unfinished handshakes are limited to a quarter of the connections.
func (l *Listener) WithTLS(config *tls.Config) net.Listener {
	return connlimit.NewHandshakes(l, config, max(l.limits.Connections/4, minHandshakes), headerTimeout)
}

// NewListener returns l with limits.
func NewListener(l net.Listener, limits ConnLimits) *Listener {
	return &Listener{Listener: l, limits: limits, pause: writePause, sources: map[string]*source{},
		conns: connlimit.NewTable(limits.Connections, limits.PerSource)}
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
	name, networks := l.peer(conn)
	c := &limitedConn{Conn: conn, listener: l, source: name, share: l.limits.Bytes / 4}
	if networks == nil {
		c.source, c.share = "", l.limits.Bytes
	}
	c.entry = connlimit.NewEntry(networks, func() { _ = c.Close() })
	c.from = l.enter(c.source)
	if !l.conns.Add(c.entry) {
		l.leave(c)
		return nil
	}
	return c
}

// enter counts a connection of a source.
func (l *Listener) enter(name string) *source {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sources[name] == nil {
		l.sources[name] = &source{}
	}
	l.sources[name].open++
	return l.sources[name]
}

func (l *Listener) leave(c *limitedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.from.open--; c.from.open == 0 {
		delete(l.sources, c.source)
	}
}

// peer returns the source of a connection and its networks, none for a proxy. An address that is not an IP address is a Unix socket,
// which only a proxy on this machine uses.
func (l *Listener) peer(conn net.Conn) (source string, networks []netip.Prefix) {
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return "", nil
	}
	addr := remote.AddrPort().Addr().Unmap().WithZone("")
	if contains(l.limits.Proxies, addr) {
		return "", nil
	}
	return audit.Origin{Address: addr.String()}.Source(), connlimit.Networks(addr)
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

// limitedConn is a connection within the limits. Received bytes count until a response begins: net/http and the handler
// may hold all of them until then.
type limitedConn struct {
	net.Conn
	listener *Listener
	entry    *connlimit.Entry
	source   string // "" for a proxy
	from     *source
	share    int64 // of Listener.bytes, for all connections of the source

	pending atomic.Int64
	refused atomic.Bool // a read failed, and its bytes are lost
	inBody  atomic.Bool // the header of the request has arrived
	gone    atomic.Bool // Close has begun
	closed  sync.Once
}

// Source implements connlimit.Sourced.
func (c *limitedConn) Source() string { return c.source }

// Entry implements connlimit.Tracked.
func (c *limitedConn) Entry() *connlimit.Entry { return c.entry }

// SetReadDeadline is called by handlers before they read from the connection.
func (c *limitedConn) SetReadDeadline(t time.Time) error {
	c.entry.ReadDeadline(t)
	return c.Conn.SetReadDeadline(t)
}

// Read returns tooManyBytes if the received bytes exceed a limit, and from then on.
func (c *limitedConn) Read(p []byte) (int, error) {
	if c.refused.Load() {
		return 0, tooManyBytes{}
	}
	began := time.Now()
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.entry.Received(time.Since(began))
	}
	if n == 0 {
		return n, err
	}
	held := c.hold(c.cost(n))
	if c.gone.Load() { // the release of Close may have missed these bytes
		c.releasePending()
	}
	if !held {
		c.refused.Store(true)
		return 0, tooManyBytes{}
	}
	return n, err
}

// headerCost is what a byte of a header counts, since net/http has copies while it reads one.
const headerCost = 3

// cost returns what n received bytes count.
func (c *limitedConn) cost(n int) int64 {
	if c.inBody.Load() {
		return int64(n)
	}
	return headerCost * int64(n)
}

// hold counts received bytes. A source may hold as much as is free, so that sources with little are served when others hold much.
func (c *limitedConn) hold(n int64) bool {
	n = min(n, c.pending.Add(n)-freeBytes)
	if n <= 0 {
		return true
	}
	all, own := c.listener.bytes.Add(n), c.from.bytes.Add(n)
	free := c.listener.limits.Bytes - all
	return free >= 0 && own <= c.share && (own <= free || c.share == c.listener.limits.Bytes)
}

func (c *limitedConn) releasePending() {
	if n := c.pending.Swap(0) - freeBytes; n > 0 {
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
		c.entry.SetWorking(false) // the client is slow
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
		c.gone.Store(true)
		c.releasePending()
		c.entry.Remove()
		c.listener.leave(c)
	})
	return c.Conn.Close()
}

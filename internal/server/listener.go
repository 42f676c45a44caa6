package server

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
)

// ConnLimits bound what clients can hold of the server without an account. All fields are required.
type ConnLimits struct {
	Connections int   // open at the same time, in all
	PerSource   int   // open at the same time from one source
	Bytes       int64 // received and not yet answered, over all connections; one source may hold a quarter

	// Proxies are exempt from the limits per source, since they speak for many clients.
	Proxies []netip.Prefix
}

// errTooManyBytes ends a read once the unanswered bytes of all connections, or of those of one source, reach
// their limit.
var errTooManyBytes = errors.New("too many unanswered bytes")

// Listener applies ConnLimits to the connections of another listener. A connection over the limit is closed at
// once. It is safe for concurrent use.
//
// It counts bytes where they arrive, so that unfinished headers, unfinished bodies and complete requests that
// wait for their turn are one sum, whatever net/http does with them.
type Listener struct {
	net.Listener
	limits ConnLimits
	pause  time.Duration // of writing; see limitedConn.Write
	bytes  atomic.Int64

	mu       sync.Mutex
	open     int
	sources  map[string]*source // by audit.Origin.Source
	refusals [2]int64
}

// source is what the connections of one source hold.
type source struct {
	open  int // guarded by Listener.mu
	bytes atomic.Int64
}

// The limits that a connection can be refused for, as indexes of Listener.refusals.
const (
	refusedInAll = iota
	refusedPerSource
)

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
	return &limitedConn{Conn: conn, listener: l, source: name, from: from, share: share}
}

// peer returns the source of a connection, and whether it is a proxy. What is not an IP address is a Unix socket:
// only a proxy on this machine connects through one.
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

// load returns the number of open connections, and of those refused so far by each limit.
func (l *Listener) load() (open int, refused [2]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.refusals
}

// limitedConn is a connection within the limits. What it received counts until a response begins: net/http and the
// handler may hold all of it until then.
type limitedConn struct {
	net.Conn
	listener *Listener
	source   string
	from     *source
	share    int64 // of Listener.bytes, for all connections of the source

	unanswered atomic.Int64
	closed     sync.Once
}

// Read returns errTooManyBytes when the limits leave no room for what arrived.
func (c *limitedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.hold(int64(n)) {
		return 0, errTooManyBytes
	}
	return n, err
}

func (c *limitedConn) hold(n int64) bool {
	c.unanswered.Add(n)
	all, own := c.listener.bytes.Add(n), c.from.bytes.Add(n)
	return all <= c.listener.limits.Bytes && own <= c.share
}

func (c *limitedConn) answered() {
	if n := c.unanswered.Swap(0); n > 0 {
		c.listener.bytes.Add(-n)
		c.from.bytes.Add(-n)
	}
}

const (
	// writePauses of writePause each may pass without the client taking anything of a response.
	writePause  = 5 * time.Second
	writePauses = 4
)

// Write fails once the client has taken nothing for writePauses. A client that takes little at a time is served: the
// operating system reports room in its buffer only when there is much, but each pause begins with a try. A write deadline
// that net/http sets has no effect.
func (c *limitedConn) Write(p []byte) (n int, err error) {
	c.answered()
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

// cut closes the connection without sending what the operating system still holds.
func (c *limitedConn) cut() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (c *limitedConn) Close() error {
	c.closed.Do(func() {
		c.answered()
		c.listener.released(c)
	})
	return c.Conn.Close()
}

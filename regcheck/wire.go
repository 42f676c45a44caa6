package regcheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/regwarden/regwarden/egress"
)

// wire opens the connections of one check, all of them by its guard, and keeps them until its end.
type wire struct {
	guard  *egress.Guard
	header map[string]string // of every request
	limits Limits
	now    func() time.Time
	plan   *plan
	pool   func() *x509.CertPool // roots and the definition's own; made once

	told told // guards itself

	changing sync.Mutex // guards peer.changed; its own lock, since net/http tells of changes while mu is held

	mu     sync.Mutex
	peers  map[origin]*peer
	work   background
	closed bool
}

// peer is an origin and what we know of it.
type peer struct {
	*egress.Target
	conns   []*conn
	changed chan struct{} // closed when one of conns may have become free
}

// stepError says which step towards an origin failed.
type stepError struct {
	step   Stage
	origin origin
	err    error
	seen   *tlsSeen // of StageTLS
}

func (e *stepError) Error() string {
	prefix := string(e.step) + ": " // crypto/tls begins its own errors with "tls: "
	return prefix + strings.TrimPrefix(e.err.Error(), prefix)
}
func (e *stepError) Unwrap() error { return e.err }

func newWire(c *Checker, p *plan, limits Limits, now func() time.Time) *wire {
	guard := &egress.Guard{Policy: c.Egress, Resolver: c.Resolver, Dialer: c.Dialer, Proxy: c.Proxy, ProxyConnect: c.ProxyConnect,
		Roots: c.Roots, Now: now}
	header := map[string]string{"User-Agent": c.Words.name()}
	maps.Copy(header, c.Header)
	w := &wire{guard: guard, header: header, limits: limits, now: now, plan: p, peers: map[origin]*peer{}}
	w.pool = sync.OnceValue(func() *x509.CertPool { return trustPool(c.Roots, p.roots) })
	if p.base.Scheme == "https" {
		w.work.do(func() { w.pool() }) // reading the system's roots takes longer than a round trip
	}
	return w
}

// trustPool is the system's roots plus the definition's: replacing them would break public
// registries behind a private token service and the reverse (source-controller#1898).
func trustPool(roots *x509.CertPool, extra []*x509.Certificate) *x509.CertPool {
	if roots == nil {
		system, err := x509.SystemCertPool()
		if err != nil {
			system = x509.NewCertPool()
		}
		roots = system
	}
	pool := roots.Clone()
	for _, c := range extra {
		pool.AddCert(c)
	}
	return pool
}

// close ends every connection and waits for what runs in the background.
func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	var all []*conn
	for _, p := range w.peers {
		all = append(all, p.conns...)
		p.conns = nil
	}
	w.mu.Unlock()
	for _, c := range all {
		c.close()
	}
	w.work.wait()
}

// keepOnly closes the connections to all other origins and forgets them. No request may be under way.
func (w *wire) keepOnly(homes ...origin) {
	w.mu.Lock()
	var ended []*conn
	for o, p := range w.peers {
		if !slices.Contains(homes, o) {
			ended = append(ended, p.conns...)
			p.conns = nil
			delete(w.peers, o)
		}
	}
	w.mu.Unlock()
	for _, c := range ended {
		c.close()
	}
}

// reach makes an origin known: looked up and judged, not yet dialled.
func (w *wire) reach(ctx context.Context, o origin) (*peer, error) {
	w.mu.Lock()
	p := w.peers[o]
	w.mu.Unlock()
	if p != nil {
		return p, nil
	}
	addresses, err := w.lookup(ctx, o)
	if err != nil {
		return nil, &stepError{step: StageResolve, origin: o, err: err}
	}
	p, err = w.admit(o, addresses)
	if err != nil {
		return nil, &stepError{step: StageEgress, origin: o, err: err}
	}
	return p, nil
}

// lookup resolves the host of an origin within its time.
func (w *wire) lookup(ctx context.Context, o origin) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limits.Resolve)
	defer cancel()
	return w.guard.Lookup(ctx, o)
}

// admit makes an origin known if its addresses are allowed.
func (w *wire) admit(o origin, addresses []netip.Addr) (*peer, error) {
	checked, err := w.guard.Check(o, addresses)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.peers[o]; known != nil {
		return known, nil // two requests reached for it at once
	}
	p := &peer{Target: checked}
	w.peers[o] = p
	return p, nil
}

// dial connects to a peer within its time.
func (w *wire) dial(ctx context.Context, p *peer) (net.Conn, netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, w.limits.Connect)
	defer cancel()
	conn, at, err := w.guard.Dial(ctx, p.Target)
	if err != nil {
		return nil, at, err
	}
	return resetConn{conn}, at, nil
}

// hop judges that one server sends us on to another: zones only widen.
func (w *wire) hop(ctx context.Context, from, to origin) (*peer, error) {
	next, err := w.reach(ctx, to)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	before := w.peers[from]
	w.mu.Unlock()
	if before != nil && from != to {
		if err := before.Widest.Hop(next.Narrowest); err != nil {
			return nil, &stepError{step: StageEgress, origin: to, err: err}
		}
	}
	return next, nil
}

// open makes a new connection to a peer that was judged.
func (w *wire) open(ctx context.Context, p *peer) (*conn, error) {
	raw, _, err := w.dial(ctx, p)
	if err != nil {
		return nil, &stepError{step: StageConnect, origin: p.Origin, err: err}
	}
	c := &conn{peer: p, raw: raw, wire: w, cost: 1}
	if p.Scheme == "https" {
		if err := c.handshake(ctx); err != nil {
			_ = raw.Close()
			return nil, &stepError{step: StageTLS, origin: p.Origin, err: err, seen: c.seen()}
		}
	}
	if err := c.speak(ctx); err != nil {
		_ = raw.Close()
		return nil, &stepError{step: StageTLS, origin: p.Origin, err: err, seen: c.seen()}
	}
	return c, nil
}

// keep puts an open connection to the others of its peer.
func (w *wire) keep(c *conn) {
	w.mu.Lock()
	closed := w.closed
	if !closed {
		c.peer.conns = append(c.peer.conns, c)
	}
	w.mu.Unlock()
	if closed {
		c.close()
		return
	}
	c.client.SetStateHook(func(*http.ClientConn) { w.tell(c.peer) })
}

// tell wakes those who wait for a connection of the peer.
func (w *wire) tell(p *peer) {
	w.changing.Lock()
	defer w.changing.Unlock()
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// change is closed when a connection of the peer may have become free; nil when there is none to
// wait for.
func (w *wire) change(p *peer) <-chan struct{} {
	w.mu.Lock()
	none := len(p.conns) == 0
	w.mu.Unlock()
	if none {
		return nil
	}
	w.changing.Lock()
	defer w.changing.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.changed
}

// patience is how long a request waits for a busy connection before a new one is opened beside it:
// answers that were asked for together come together, or nearly so.
const patience = 10 * time.Millisecond

// acquire books a connection: a kept one, one that becomes free, or a new one, whichever is first.
// cost is the round trips that opening took.
func (w *wire) acquire(ctx context.Context, p *peer) (c *conn, cost int, err error) {
	impatient := time.NewTimer(patience)
	defer impatient.Stop()
	for waiting := true; waiting; {
		freed := w.change(p) // before take, so that nothing is missed in between
		if c = w.take(p); c != nil {
			return c, 0, nil
		}
		if freed == nil {
			break
		}
		select {
		case <-freed:
		case <-impatient.C:
			waiting = false
		case <-ctx.Done():
			return nil, 0, &stepError{step: StageConnect, origin: p.Origin, err: ctx.Err()}
		}
	}
	return w.openBooked(ctx, p)
}

// openBooked opens a connection for one request; while that takes time, a busy one may become free
// and serve instead.
func (w *wire) openBooked(ctx context.Context, p *peer) (*conn, int, error) {
	type opened struct {
		c   *conn
		err error
	}
	opening, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan opened)
	w.work.do(func() {
		o := opened{err: errPanicked}
		defer func() {
			select {
			case done <- o:
			case <-opening.Done(): // nobody waits any more
				if o.err == nil {
					o.c.close()
				}
			}
		}()
		o.c, o.err = w.open(opening, p)
	})
	for {
		select {
		case o := <-done:
			if o.err != nil {
				return nil, 0, o.err
			}
			if err := o.c.client.Reserve(); err != nil {
				o.c.close()
				return nil, 0, &exchangeError{conn: o.c, err: err}
			}
			w.keep(o.c)
			return o.c, o.c.cost, nil
		case <-w.change(p):
			if c := w.take(p); c != nil {
				return c, 0, nil
			}
		case <-ctx.Done():
			return nil, 0, &stepError{step: StageConnect, origin: p.Origin, err: ctx.Err()}
		}
	}
}

// take finds a kept connection with room for one more request, and books it.
func (w *wire) take(p *peer) *conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := p.conns[:0]
	var found *conn
	for _, c := range p.conns {
		if c.client.Err() != nil {
			continue // closed by the server; the transport has cleaned up
		}
		kept = append(kept, c)
		if found == nil && c.client.Reserve() == nil {
			found = c
		}
	}
	p.conns = kept
	return found
}

// tlsConfig is the trust for an origin. The definition's roots and skipVerify apply to every origin, since the
// consumers of a definition use one trust pool. Its client certificate is sent to the endpoint's origin only:
// a token service or the target of a redirect could otherwise collect certificates.
func (w *wire) tlsConfig(p *peer, c *conn) *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: p.Host,
		NextProtos: []string{"h2", "http/1.1"},
		Time:       w.now,
		RootCAs:    w.pool(),
		GetClientCertificate: func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c.asked, c.acceptable = true, info.AcceptableCAs
			if pair := w.plan.clientCert; pair != nil && p.Origin == w.plan.base.origin {
				return pair, nil
			}
			return &tls.Certificate{}, nil
		},
	}
	config.InsecureSkipVerify = w.plan.skipVerify // the definition asks for it, and the report warns
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > maxChain {
			return errLongChain
		}
		return nil
	}
	return config
}

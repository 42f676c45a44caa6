// Package wire sends the requests of one check: it dials over egress, does TLS, follows redirects one hop at a time, bounds
// what a server may send, and masks credentials that a server repeats.
package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/regwarden/regwarden/egress"
)

// Config is what a check needs of its connections.
type Config struct {
	Guard  *egress.Guard
	Header map[string]string // of every request
	Limits Limits
	Now    func() time.Time

	Home     egress.Origin // of the endpoint: the only one to which the client certificate is sent
	HomePath string        // of the endpoint as written, with its slash; "" for none

	Roots      *x509.CertPool      // nil: the system's
	Extra      []*x509.Certificate // trusted as well
	ClientCert *tls.Certificate
	SkipVerify bool
}

// Limits bound what a server can do to us.
type Limits struct {
	Resolve, Connect, Handshake, Response time.Duration
	Header, Body                          int64
	Redirects                             int
}

// Client opens the connections of one check, all of them by its guard, and keeps them until its end.
type Client struct {
	Config
	pool func() *x509.CertPool // roots and the definition's own; made once

	Sent told // guards itself

	changing sync.Mutex // guards peer.changed; its own lock, since net/http tells of changes while mu is held

	mu     sync.Mutex
	peers  map[egress.Origin]*Peer
	Work   Background
	closed bool
}

// Peer is an origin and what we know of it.
type Peer struct {
	*egress.Target
	conns   []*Conn
	changed chan struct{} // closed when one of conns may have become free
}

// StepError says which step towards an origin failed.
type StepError struct {
	Step   step
	Origin egress.Origin
	Err    error
	Seen   *Handshake // of stepTLS
}

type step string

const (
	StepResolve step = "resolve"
	StepEgress  step = "egress"
	stepConnect step = "connect"
	StepTLS     step = "tls"
)

func (e *StepError) Error() string {
	prefix := string(e.Step) + ": " // crypto/tls begins its own errors with "tls: "
	return prefix + strings.TrimPrefix(e.Err.Error(), prefix)
}
func (e *StepError) Unwrap() error { return e.Err }

func New(c Config) *Client {
	w := &Client{Config: c, peers: map[egress.Origin]*Peer{}}
	w.pool = sync.OnceValue(func() *x509.CertPool { return trustPool(c.Roots, c.Extra) })
	if c.Home.Scheme == "https" {
		w.Work.Do(func() { w.pool() }) // reading the system's roots takes longer than a round trip
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

// Close ends every connection and waits for what runs in the background.
func (w *Client) Close() {
	w.mu.Lock()
	w.closed = true
	var all []*Conn
	for _, p := range w.peers {
		all = append(all, p.conns...)
		p.conns = nil
	}
	w.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
	w.Work.Wait()
}

// KeepOnly closes the connections to all other origins and forgets them. No request may be under way.
func (w *Client) KeepOnly(homes ...egress.Origin) {
	w.mu.Lock()
	var ended []*Conn
	for o, p := range w.peers {
		if !slices.Contains(homes, o) {
			ended = append(ended, p.conns...)
			p.conns = nil
			delete(w.peers, o)
		}
	}
	w.mu.Unlock()
	for _, c := range ended {
		c.Close()
	}
}

// Reach makes an origin known: looked up and judged, not yet dialled.
func (w *Client) Reach(ctx context.Context, o egress.Origin) (*Peer, error) {
	w.mu.Lock()
	p := w.peers[o]
	w.mu.Unlock()
	if p != nil {
		return p, nil
	}
	addresses, err := w.Lookup(ctx, o)
	if err != nil {
		return nil, &StepError{Step: StepResolve, Origin: o, Err: err}
	}
	p, err = w.Admit(o, addresses)
	if err != nil {
		return nil, &StepError{Step: StepEgress, Origin: o, Err: err}
	}
	return p, nil
}

// Lookup resolves the host of an origin within its time.
func (w *Client) Lookup(ctx context.Context, o egress.Origin) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, w.Limits.Resolve)
	defer cancel()
	return w.Guard.Lookup(ctx, o)
}

// Admit makes an origin known if its addresses are allowed.
func (w *Client) Admit(o egress.Origin, addresses []netip.Addr) (*Peer, error) {
	checked, err := w.Guard.Check(o, addresses)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.peers[o]; known != nil {
		return known, nil // two requests reached for it at once
	}
	p := &Peer{Target: checked}
	w.peers[o] = p
	return p, nil
}

// Dial connects to a peer within its time.
func (w *Client) Dial(ctx context.Context, p *Peer) (net.Conn, netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, w.Limits.Connect)
	defer cancel()
	conn, at, err := w.Guard.Dial(ctx, p.Target)
	if err != nil {
		return nil, at, err
	}
	return resetConn{conn}, at, nil
}

// Hop judges that one server sends us on to another: zones only widen.
func (w *Client) Hop(ctx context.Context, from, to egress.Origin) (*Peer, error) {
	next, err := w.Reach(ctx, to)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	before := w.peers[from]
	w.mu.Unlock()
	if before != nil && from != to {
		if err := before.Widest.Hop(next.Narrowest); err != nil {
			return nil, &StepError{Step: StepEgress, Origin: to, Err: err}
		}
	}
	return next, nil
}

// Open makes a new connection to a peer that was judged.
func (w *Client) Open(ctx context.Context, p *Peer) (*Conn, error) {
	raw, _, err := w.Dial(ctx, p)
	if err != nil {
		return nil, &StepError{Step: stepConnect, Origin: p.Origin, Err: err}
	}
	c := w.NewConn(p, raw)
	if p.Scheme == "https" {
		if err := c.Handshake(ctx); err != nil {
			_ = raw.Close()
			return nil, &StepError{Step: StepTLS, Origin: p.Origin, Err: err, Seen: c.Seen()}
		}
	}
	if err := c.Speak(ctx); err != nil {
		_ = raw.Close()
		return nil, &StepError{Step: StepTLS, Origin: p.Origin, Err: err, Seen: c.Seen()}
	}
	return c, nil
}

func (w *Client) NewConn(p *Peer, raw net.Conn) *Conn {
	return &Conn{Peer: p, raw: raw, wire: w, Cost: 1}
}

// Keep puts an open connection to the others of its peer.
func (w *Client) Keep(c *Conn) {
	w.mu.Lock()
	closed := w.closed
	if !closed {
		c.Peer.conns = append(c.Peer.conns, c)
	}
	w.mu.Unlock()
	if closed {
		c.Close()
		return
	}
	c.client.SetStateHook(func(*http.ClientConn) { w.tell(c.Peer) })
}

// tell wakes those who wait for a connection of the peer.
func (w *Client) tell(p *Peer) {
	w.changing.Lock()
	defer w.changing.Unlock()
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// change is closed when a connection of the peer may have become free; nil when there is none to
// wait for.
func (w *Client) change(p *Peer) <-chan struct{} {
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
func (w *Client) acquire(ctx context.Context, p *Peer) (c *Conn, cost int, err error) {
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
			return nil, 0, &StepError{Step: stepConnect, Origin: p.Origin, Err: ctx.Err()}
		}
	}
	return w.openBooked(ctx, p)
}

// openBooked opens a connection for one request; while that takes time, a busy one may become free
// and serve instead.
func (w *Client) openBooked(ctx context.Context, p *Peer) (*Conn, int, error) {
	type opened struct {
		c   *Conn
		err error
	}
	opening, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan opened)
	w.Work.Do(func() {
		o := opened{err: errPanicked}
		defer func() {
			select {
			case done <- o:
			case <-opening.Done(): // nobody waits any more
				if o.err == nil {
					o.c.Close()
				}
			}
		}()
		o.c, o.err = w.Open(opening, p)
	})
	for {
		select {
		case o := <-done:
			if o.err != nil {
				return nil, 0, o.err
			}
			if err := o.c.client.Reserve(); err != nil {
				o.c.Close()
				return nil, 0, &ExchangeError{Conn: o.c, err: err}
			}
			w.Keep(o.c)
			return o.c, o.c.Cost, nil
		case <-w.change(p):
			if c := w.take(p); c != nil {
				return c, 0, nil
			}
		case <-ctx.Done():
			return nil, 0, &StepError{Step: stepConnect, Origin: p.Origin, Err: ctx.Err()}
		}
	}
}

// take finds a kept connection with room for one more request, and books it.
func (w *Client) take(p *Peer) *Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := p.conns[:0]
	var found *Conn
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
func (w *Client) tlsConfig(p *Peer, c *Conn) *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: p.Host,
		NextProtos: []string{"h2", "http/1.1"},
		Time:       w.Now,
		RootCAs:    w.pool(),
		GetClientCertificate: func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c.Asked, c.acceptable = true, info.AcceptableCAs
			if pair := w.ClientCert; pair != nil && p.Origin == w.Home {
				return pair, nil
			}
			return &tls.Certificate{}, nil
		},
	}
	config.InsecureSkipVerify = w.SkipVerify // the definition asks for it, and the report warns
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > MaxChain {
			return ErrLongChain
		}
		return nil
	}
	return config
}

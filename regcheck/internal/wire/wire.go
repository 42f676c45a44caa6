// Package wire sends the requests of one check: it dials over egress, does TLS, follows redirects one hop at a time, limits
// responses, and masks credentials that a server repeats.
package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/regwarden/regwarden/egress"
)

// Config configures the connections of a check.
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

	Visible string // what the definition shows of itself
}

// Limits limit the time and size of responses.
type Limits struct {
	Resolve, Connect, Handshake, Response time.Duration
	Header, Body                          int64
	Redirects                             int
}

// Client sends the requests of one check, each over the transport of its peer, and closes all connections at its end.
type Client struct {
	Config
	pool func() *x509.CertPool // the system's roots and those of the definition; created once

	Sent sentCredentials // safe for concurrent use
	Work Background

	ctx context.Context // of all peers
	end context.CancelFunc

	mu    sync.Mutex
	peers map[egress.Origin]*Peer
	hops  []egress.Origin // see TakeHops

	verified []egress.Origin // see ReachVerified
}

// StepError is the failure of a step of connecting to an origin.
type StepError struct {
	Step   step
	Origin egress.Origin
	Err    error
	Seen   *Handshake // of StepTLS
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
	w := &Client{Config: c, peers: map[egress.Origin]*Peer{}, Sent: sentCredentials{visible: asciiLower(c.Visible)}}
	w.ctx, w.end = context.WithCancel(context.Background())
	w.pool = sync.OnceValue(func() *x509.CertPool { return trustPool(c.Roots, c.Extra) })
	if c.Home.Scheme == "https" {
		w.Work.Do(func() { w.pool() }) // reading the system's roots takes longer than a round trip
	}
	return w
}

// trustPool returns the roots of the system and those of the definition: with only one of them, a public registry with a
// private token service would fail, or the reverse (source-controller#1898).
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

// Close closes all connections and waits for the background.
func (w *Client) Close() {
	w.KeepOnly()
	w.mu.Lock()
	w.end() // with mu: no background function starts afterwards
	w.mu.Unlock()
	w.Work.Wait()
}

// KeepOnly closes the connections to all other origins and removes these origins.
func (w *Client) KeepOnly(homes ...egress.Origin) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for o, p := range w.peers {
		if !slices.Contains(homes, o) {
			p.close()
			delete(w.peers, o)
		}
	}
}

// Reach returns the peer of an origin, with checked addresses, but without a connection.
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

// ReachVerified is Reach for an origin whose certificate is verified although SkipVerify is set: it gets more than the credentials of the
// registry.
func (w *Client) ReachVerified(ctx context.Context, o egress.Origin) (*Peer, error) {
	if o != w.Home {
		w.mu.Lock()
		if !slices.Contains(w.verified, o) {
			if p := w.peers[o]; p != nil && w.SkipVerify { // a registry can lead there before: its connections are not verified
				p.close()
				delete(w.peers, o)
			}
			w.verified = append(w.verified, o)
		}
		w.mu.Unlock()
	}
	return w.Reach(ctx, o)
}

// skipsVerify reports whether the certificate of an origin is not verified.
func (w *Client) skipsVerify(o egress.Origin) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.SkipVerify && !slices.Contains(w.verified, o)
}

// maxHops limits TakeHops: a registry can redirect each request to another origin.
const maxHops = 8

// TakeHops returns the origins other than Home that requests were sent to since the last call.
func (w *Client) TakeHops() []egress.Origin {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.hops
	w.hops = nil
	return taken
}

func (w *Client) noteHop(o egress.Origin) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o != w.Home && len(w.hops) < maxHops && !slices.Contains(w.hops, o) {
		w.hops = append(w.hops, o)
	}
}

// Lookup resolves the host of an origin within the limit.
func (w *Client) Lookup(ctx context.Context, o egress.Origin) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, w.Limits.Resolve)
	defer cancel()
	return w.Guard.Lookup(ctx, o)
}

// Admit adds an origin if its addresses are allowed.
func (w *Client) Admit(o egress.Origin, addresses []netip.Addr) (*Peer, error) {
	checked, err := w.Guard.Check(o, addresses)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.peers[o]; known != nil {
		return known, nil // two concurrent requests added it
	}
	p := w.newPeer(checked)
	w.peers[o] = p
	return p, nil
}

// Hop returns the peer of an origin to which another origin refers, if the zone rule allows it.
func (w *Client) Hop(ctx context.Context, from, to egress.Origin) (*Peer, error) {
	next, err := w.Reach(ctx, to)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	before := w.peers[from]
	w.mu.Unlock()
	if before != nil && from != to {
		if err := before.Widest.AllowsHop(next.Narrowest); err != nil {
			return nil, &StepError{Step: StepEgress, Origin: to, Err: err}
		}
	}
	return next, nil
}

// tlsConfig returns the TLS configuration for an origin. Roots of the definition apply to all origins, as in clients that use
// a definition, and skipVerify to all but those of ReachVerified. The client certificate is sent only to the origin of the endpoint, not to
// token services or targets of redirects.
func (w *Client) tlsConfig(p *Peer, c *Conn) *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: p.Host,
		NextProtos: []string{"h2", "http/1.1"},
		Time:       w.Now,
		RootCAs:    w.pool(),
		GetClientCertificate: func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c.CertificateRequested, c.acceptable = true, info.AcceptableCAs
			if pair := w.ClientCert; pair != nil && p.Origin == w.Home {
				return pair, nil
			}
			return &tls.Certificate{}, nil
		},
	}
	config.InsecureSkipVerify = w.skipsVerify(p.Origin) // as the definition requires; the report warns
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > MaxChain {
			return ErrLongChain
		}
		return nil
	}
	return config
}

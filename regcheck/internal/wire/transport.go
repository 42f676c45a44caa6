package wire

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"sync/atomic"

	"github.com/regwarden/regwarden/egress"
)

// Peer is an origin whose addresses were checked, and the transport of all requests to it.
type Peer struct {
	*egress.Target
	wire      *Client
	transport *http.Transport
	ready     chan *Conn      // open, not yet in the transport
	ctx       context.Context // of all connections
	end       context.CancelFunc
}

const (
	maxReady = 2   // the first connection of a check, and the second one
	maxIdle  = 256 // more than the requests that a check sends at once
)

func (w *Client) newPeer(t *egress.Target) *Peer {
	p := &Peer{Target: t, wire: w, ready: make(chan *Conn, maxReady)}
	p.ctx, p.end = context.WithCancel(w.ctx)
	p.transport = &http.Transport{
		DialContext:            p.connect,
		DialTLSContext:         p.connect,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxIdle,
		MaxResponseHeaderBytes: w.Limits.Header,
		ForceAttemptHTTP2:      true,
		// The default receive buffer of 4 MiB per stream allows a server to use much memory.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 256 << 10, MaxReceiveBufferPerConnection: 512 << 10},
	}
	if proxy := p.Forward(); proxy != nil {
		p.transport.Proxy = http.ProxyURL(proxy)
	}
	return p
}

// close closes all connections: net/http ends TLS on those that are idle.
func (p *Peer) close() {
	p.transport.CloseIdleConnections()
	p.end()
}

// Dial connects to a peer within the limit.
func (w *Client) Dial(ctx context.Context, p *Peer) (*Conn, netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, w.Limits.Connect)
	defer cancel()
	raw, at, err := w.Guard.Dial(ctx, p.Target)
	if err != nil {
		return nil, at, err
	}
	addRounds(ctx, 1)
	return newConn(p, raw), at, nil
}

// Open opens a connection to a peer.
func (w *Client) Open(ctx context.Context, p *Peer) (*Conn, error) {
	c, _, err := w.Dial(ctx, p)
	if err != nil {
		return nil, &StepError{Step: stepConnect, Origin: p.Origin, Err: err}
	}
	if p.Scheme == "https" {
		if err := c.Handshake(ctx); err != nil {
			_ = c.Close()
			return nil, &StepError{Step: StepTLS, Origin: p.Origin, Err: err, Seen: c.Seen()}
		}
	}
	return c, nil
}

// Keep makes an open connection available to the next request that needs one, which does not count how it was opened.
func (w *Client) Keep(c *Conn) {
	c.cost = 0
	select {
	case c.Peer.ready <- c:
	default:
		_ = c.Close()
	}
}

type opened struct {
	conn *Conn // nil after a panic, too
	err  error
}

// connect opens a connection for the transport, which may give it to a later request. A panic would end the program in the
// goroutine of net/http that calls connect, so the work is done in the background of the check.
func (p *Peer) connect(context.Context, string, string) (net.Conn, error) {
	select {
	case c := <-p.ready:
		return c.forHTTP(), nil
	default:
	}
	c, err := p.openInBackground()
	if c == nil { // without an error, net/http returns an error of its own
		return nil, err
	}
	return c.forHTTP(), nil
}

func (p *Peer) openInBackground() (*Conn, error) {
	w := p.wire
	w.mu.Lock()
	if err := w.ctx.Err(); err != nil {
		w.mu.Unlock()
		return nil, err // Close may wait for the background
	}
	result := Later(&w.Work, func() opened {
		c, err := w.Open(p.ctx, p)
		return opened{c, err}
	})
	w.mu.Unlock()
	o := <-result
	return o.conn, o.err
}

// attempt records the events of a request in the transport.
type attempt struct {
	conn    *Conn       // that carries it; nil before there is one
	cost    int         // round trips until conn was open, or free
	wrote   atomic.Bool // the request
	started atomic.Bool // the first byte of a response came
	interim int
}

func (a *attempt) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { // again when net/http repeats the request
			a.wrote.Store(false)
			switch a.conn = connOf(info.Conn); {
			case !info.Reused:
				a.cost = a.conn.cost
			case !info.WasIdle && !a.conn.H2():
				a.cost = 1 // another request ended before a connection of its own was open
			}
		},
		WroteHeaders:         func() { a.wrote.Store(true) },
		GotFirstResponseByte: func() { a.started.Store(true) },
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			if a.interim++; a.interim > maxInterim {
				return errManyInterim
			}
			return nil
		},
	}
}

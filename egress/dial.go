package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"time"
)

const (
	maxAddresses = 8                      // of one name; the rest is not tried
	nextAddress  = 250 * time.Millisecond // RFC 8305, connection attempt delay
)

// DialError lists why no address of a target could be connected to, in the order in which the attempts failed.
type DialError struct{ Attempts []Attempt }

// Attempt is a failed attempt to connect.
type Attempt struct {
	Address netip.AddrPort
	Err     error
}

func (e *DialError) Error() string { return fmt.Sprintf("connect: %v", errors.Join(e.Unwrap()...)) }

// Unwrap returns the errors of all attempts.
func (e *DialError) Unwrap() []error {
	all := make([]error, len(e.Attempts))
	for i, a := range e.Attempts {
		all[i] = a.Err
	}
	return all
}

// Dial connects to the first address of the target that accepts, or to its proxy. The address is the zero value
// behind a proxy. The error is a *DialError or a *ProxyError.
func (g *Guard) Dial(ctx context.Context, t *Target) (net.Conn, netip.AddrPort, error) {
	if t.proxyErr != nil {
		return nil, netip.AddrPort{}, &ProxyError{Err: t.proxyErr}
	}
	if t.proxy == nil {
		return g.dialAny(ctx, t.Addresses)
	}
	conn, err := g.dialProxy(ctx, t)
	return conn, netip.AddrPort{}, err
}

type dialed struct {
	conn     net.Conn
	at       netip.AddrPort
	err      error
	panicked *panicked
}

// dialAny starts with the first address and tries the next one when it fails or takes long. The first connection
// is returned; the others are closed. No goroutine is left when dialAny returns.
func (g *Guard) dialAny(ctx context.Context, addresses []netip.AddrPort) (net.Conn, netip.AddrPort, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := race{ctx: ctx, cancel: cancel, dialer: g.Dialer, left: addresses[:min(len(addresses), maxAddresses)], results: make(chan dialed)}
	if r.dialer == nil {
		r.dialer = &net.Dialer{}
	}
	r.start()
	timer := time.NewTimer(nextAddress)
	defer timer.Stop()
	for r.running > 0 {
		select {
		case d := <-r.results:
			r.running--
			r.end(d)
		case <-timer.C:
			r.start()
			if len(r.left) > 0 {
				timer.Reset(nextAddress)
			}
		}
	}
	if r.panicked != nil {
		if r.won.conn != nil {
			_ = r.won.conn.Close()
		}
		panic(r.panicked)
	}
	if r.won.conn == nil {
		return nil, netip.AddrPort{}, &DialError{r.failed}
	}
	return r.won.conn, r.won.at, nil
}

// race is dialAny in progress.
type race struct {
	ctx      context.Context
	cancel   context.CancelFunc
	dialer   Dialer
	left     []netip.AddrPort
	results  chan dialed
	running  int
	won      dialed
	failed   []Attempt
	panicked *panicked
}

// start tries the next address unless there is a connection already.
func (r *race) start() {
	if len(r.left) == 0 || r.won.conn != nil || r.panicked != nil || r.running+len(r.failed) > 0 && r.ctx.Err() != nil {
		return
	}
	at := r.left[0]
	r.left = r.left[1:]
	r.running++
	go func() {
		d := dialed{at: at}
		defer func() {
			if cause := recover(); cause != nil {
				d.panicked = &panicked{cause, debug.Stack()}
			}
			r.results <- d
		}()
		d.conn, d.err = r.dialer.DialContext(r.ctx, "tcp", at.String())
	}()
}

func (r *race) end(d dialed) {
	switch {
	case d.panicked != nil:
		r.panicked = d.panicked
		r.cancel()
	case d.err != nil:
		r.failed = append(r.failed, Attempt{d.at, d.err})
		r.start()
	case r.won.conn == nil && r.panicked == nil:
		r.won = d
		r.cancel()
	default:
		_ = d.conn.Close()
	}
}

// panicked is a panic of a dialer, which continues in the goroutine that called Dial.
type panicked struct {
	cause any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("the dialer panicked: %v", p.cause) }

// Stack returns the stack of the goroutine that panicked, below the type of the cause.
func (p *panicked) Stack() []byte { return fmt.Appendf(nil, "%T\n%s", p.cause, p.stack) }

package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// dialFunc dials by address and records the time of each attempt.
type dialFunc struct {
	begin time.Time
	dial  map[string]func(context.Context) (net.Conn, error)
	mu    sync.Mutex
	tried []string
	at    []time.Duration
}

func (d *dialFunc) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	d.mu.Lock()
	d.tried, d.at = append(d.tried, address), append(d.at, time.Since(d.begin))
	d.mu.Unlock()
	return d.dial[address](ctx)
}

func TestDialAny(t *testing.T) {
	connects := func(context.Context) (net.Conn, error) { c, _ := net.Pipe(); return c, nil }
	refuses := func(context.Context) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	hangs := func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	slow := func(context.Context) (net.Conn, error) {
		time.Sleep(400 * time.Millisecond)
		c, _ := net.Pipe()
		return c, nil
	}
	const a, b = "192.0.2.1:443", "192.0.2.2:443"
	for name, row := range map[string]struct {
		first, second func(context.Context) (net.Conn, error)
		won           string
		tried         int
		took          time.Duration
	}{
		"first connects":       {connects, connects, a, 1, 0},
		"first refuses":        {refuses, connects, b, 2, 0},
		"first hangs":          {hangs, connects, b, 2, nextAddress},
		"first slow but first": {slow, hangs, a, 2, 400 * time.Millisecond},
		"both refuse":          {refuses, refuses, "", 2, 0},
		"both hang":            {hangs, hangs, "", 2, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &dialFunc{begin: time.Now(), dial: map[string]func(context.Context) (net.Conn, error){a: row.first, b: row.second}}
				g := &Guard{Dialer: d}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				conn, at, err := g.dialAny(ctx, []netip.AddrPort{netip.MustParseAddrPort(a), netip.MustParseAddrPort(b)})
				if took := time.Since(d.begin); took != row.took || len(d.tried) != row.tried {
					t.Errorf("took %v, tried %v", took, d.tried)
				}
				if row.won == "" {
					if err == nil || conn != nil || !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v %v", conn, err)
					}
					failed, ok := errors.AsType[*DialError](err)
					if !ok {
						t.Fatalf("%#v", err)
					}
					named := map[string]bool{}
					for _, attempt := range failed.Attempts {
						named[attempt.Address.String()] = true
					}
					if len(failed.Attempts) != 2 || !named[a] || !named[b] {
						t.Errorf("the error does not name each address: %v", failed.Attempts)
					}
					return
				}
				if err != nil || at.String() != row.won {
					t.Errorf("%v won: %v", at, err)
				}
				_ = conn.Close()
			})
		})
	}
}

package regcheck_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

const planted = "planted"

// panickyDialer panics at one of its calls, or gives a connection that does when the TLS handshake writes to it.
type panickyDialer struct {
	egress.Dialer
	at    int32
	late  bool // not the call panics, but the connection
	calls atomic.Int32
}

func (d *panickyDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	now := d.calls.Add(1) == d.at
	if now && !d.late {
		panic(planted)
	}
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if now && err == nil {
		conn = panickyConn{conn}
	}
	return conn, err
}

type panickyConn struct{ net.Conn }

func (c panickyConn) Write([]byte) (int, error) {
	_ = c.Close()
	panic(planted)
}

// A panic in a goroutine of the engine would end the program with everybody's requests. It comes out in the caller's,
// whichever connection it came by, and at once.
func TestPanicBesideACheckComesOutAtTheCaller(t *testing.T) {
	for _, server := range []string{"htpasswd", "bearer-other-host", "not-found-html"} {
		for _, late := range []bool{false, true} {
			g := regchecktest.Start(t, server)
			d := regcheck.Definition{Endpoint: g.Endpoint, BaseContentPath: "charts/nginx",
				Auth: &regcheck.Auth{Username: regchecktest.User, Password: regchecktest.Password}}
			panics := 0
			for at := int32(1); ; at++ {
				c := checker(g, egress.Policy{}, matrixRow{})
				dialer := &panickyDialer{Dialer: g, at: at, late: late}
				c.Dialer = dialer
				began := time.Now()
				cause := caught(func() { _, _ = c.Check(t.Context(), d, nil) })
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("%s, connection %d: waited %v for what panicked", server, at, took)
				}
				if dialer.calls.Load() < at {
					break
				}
				if cause == nil {
					continue // a spare connection that was given up
				}
				// The first connection shakes hands in the caller's own goroutine.
				p, beside := cause.(*regcheck.Panicked)
				if beside && p.Cause == planted && strings.Contains(string(p.Stack), "panicky") {
					panics++
					continue
				}
				if cause == planted {
					continue
				}
				t.Errorf("%s, connection %d: %v came out", server, at, cause)
			}
			if panics == 0 {
				t.Errorf("%s: nothing beside a check panicked", server)
			}
		}
	}
}

func caught(work func()) (cause any) {
	defer func() { cause = recover() }()
	work()
	return nil
}

package regcheck_test

import (
	"context"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

const planted = "planted"

// panickyDialer panics at one of its calls, or its connections do when a goroutine of the check writes to one for the first time.
type panickyDialer struct {
	egress.Dialer
	at     int32
	late   bool // not the call panics, but the connection
	counts atomic.Int32

	once  sync.Once
	began chan struct{} // closed when a goroutine of the check writes
}

func (d *panickyDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !d.late && d.counts.Add(1) == d.at {
		panic(planted)
	}
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err == nil && d.late {
		conn = &panickyConn{Conn: conn, dialer: d}
	}
	return conn, err
}

type panickyConn struct {
	net.Conn
	dialer *panickyDialer
	seen   atomic.Bool
}

// Write holds the caller's own first write until a goroutine has written: otherwise the check may end before that goroutine begins.
func (c *panickyConn) Write(b []byte) (int, error) {
	if c.seen.Swap(true) {
		return c.Conn.Write(b)
	}
	if !strings.Contains(string(debug.Stack()), "(*Background).Do") {
		<-c.dialer.began
		return c.Conn.Write(b)
	}
	c.dialer.once.Do(func() { close(c.dialer.began) })
	if c.dialer.counts.Add(1) == c.dialer.at {
		_ = c.Close()
		panic(planted)
	}
	return c.Conn.Write(b)
}

// A panic in a goroutine of the engine would end the program. It continues in the caller's goroutine,
// on every connection. The limits are hours, so that a check that waits for the goroutine that panicked does not end.
func TestPanicInBackgroundReachesCaller(t *testing.T) {
	for _, server := range []string{"htpasswd", "bearer-other-host", "not-found-html"} {
		for _, late := range []bool{false, true} {
			g := regchecktest.Start(t, server)
			d := regcheck.Definition{Endpoint: g.Endpoint, BaseContentPath: "charts/nginx",
				Auth: &regcheck.Auth{Username: regchecktest.User, Password: regchecktest.Password}}
			panics := 0
			for at := int32(1); ; at++ {
				c := checker(g, egress.Policy{}, matrixRow{})
				c.Limits = regcheck.Limits{Total: time.Hour, Resolve: time.Hour, Connect: time.Hour, TLS: time.Hour, Response: time.Hour}
				dialer := &panickyDialer{Dialer: g, at: at, late: late, began: make(chan struct{})}
				c.Dialer = dialer
				cause := caught(func() { _, _ = c.Check(t.Context(), regcheck.MustParse(t, d), nil) })
				if dialer.counts.Load() < at {
					break
				}
				if cause == nil {
					t.Errorf("%s, connection %d: the panic was lost", server, at)
					continue
				}
				p, inGoroutine := cause.(interface {
					error
					Stack() []byte
				})
				if !inGoroutine || !strings.HasSuffix(p.Error(), planted) || !strings.Contains(string(p.Stack()), "panicky") {
					t.Errorf("%s, connection %d: got %v", server, at, cause)
				}
				panics++
			}
			if panics == 0 {
				t.Errorf("%s, late %t: no goroutine of the check panicked", server, late)
			}
		}
	}
}

func caught(work func()) (cause any) {
	defer func() { cause = recover() }()
	work()
	return nil
}

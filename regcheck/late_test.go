package regcheck_test

import (
	"context"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// lateCloser closes connections late, as a busy machine does between the last message of TLS and the end of the connection.
type lateCloser struct{ egress.Dialer }

func (d lateCloser) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return lateConn{conn}, nil
}

type lateConn struct{ net.Conn }

func (c lateConn) Close() error {
	time.Sleep(time.Millisecond)
	return c.Conn.Close()
}

// What a server sends because the check has ended its request is no response: here a 200 that says nothing about the content. On a busy
// machine, net/http sometimes returns it.
func TestResponseAfterTheTimeLimit(t *testing.T) {
	const checks = 200
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(checks)) // more threads than processors, so that the system interrupts some
	row := matrixRow{Definition: []byte(`{"baseContentPath": "charts/nginx", "auth": {"type": "basic", "username": "${user}", ` +
		`"password": "${password}"}}`)}
	g := regchecktest.Start(t, "slow-tags")
	c := checker(g, mustPolicy(t, row), row)
	c.Limits, c.Dialer = regcheck.Limits{Total: time.Hour, Resolve: time.Hour, Connect: time.Hour, TLS: time.Hour,
		Response: 2 * time.Second}, lateCloser{g}
	d := mustDefinition(t, g, row)
	var all sync.WaitGroup
	for range checks {
		all.Go(func() {
			report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
			if err != nil {
				t.Error(err)
			} else if report.Valid || report.Code != regcheck.CodeUnavailable || !report.Retryable {
				t.Errorf("valid %t, %s at %s, retryable %t", report.Valid, report.Code, report.Stage, report.Retryable)
			}
		})
	}
	all.Wait()
}

package abuse_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	// crowdConnections are more than the service has by default, so that each new one costs another one.
	crowdConnections = 5000
	crowdPause       = 300 * time.Millisecond // before a closed connection is opened again

	// crowdMemory is what the service may hold while all connections are in use: three quarters of the 512 MiB that the shipped unit and
	// manifests allow. It is 160 to 250 MiB, and was 305 when ten other programs used the two processors, since garbage is collected later
	// then.
	crowdMemory = 384 << 10 // KiB
)

// TestConnectionsAreShared has a crowd use all connections and open each closed one again. A client that opens a connection for each
// request is served.
func TestConnectionsAreShared(t *testing.T) {
	for _, c := range []struct {
		name    string
		sources int
		sent    string
	}{
		{"silent, of 5 sources", 5, ""},
		{"silent, of 50 sources", 50, ""},
		{"silent, of 500 sources", 500, ""},
		{"idle, of 5 sources", 5, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"body, of 50 sources", 50, post(login, 5000, `{"emailId":"`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := beginAttack(t)
			crowd(t, a.server, c.sources, c.sent)
			a.client.visit(3 * time.Second)
			if open := gauge(t, a.server.Metrics(t), "regwarden_connections_open"); open < 4000 {
				t.Errorf("%v connections are open, so the test shows nothing", open)
			}
			a.client.mostlyServed(t)
			memoryBelow(t, a.server, crowdMemory)
		})
	}
}

// crowd keeps crowdConnections open until the test ends, from sources in networks of their own, which send the same bytes. It returns when
// each was opened once.
func crowd(t testing.TB, server *instance.Server, sources int, sent string) {
	t.Helper()
	to := address(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	var work, opened sync.WaitGroup
	turns := make(chan struct{}, 64)
	open := func(from string) (net.Conn, error) {
		turns <- struct{}{}
		defer func() { <-turns }()
		conn, err := dialFrom(ctx, from, to)
		if err == nil {
			_, _ = io.WriteString(conn, sent) // the read reports a closed connection
		}
		return conn, err
	}
	for i := range crowdConnections {
		opened.Add(1)
		work.Go(func() {
			for done := opened.Done; ctx.Err() == nil; done = func() {} {
				conn, err := open(sourceNumber(i % sources))
				done()
				if err == nil {
					untilClosed(ctx, conn)
				}
				time.Sleep(crowdPause/2 + rand.N(crowdPause))
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		work.Wait()
	})
	opened.Wait()
}

func untilClosed(ctx context.Context, conn net.Conn) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	_, _ = io.Copy(io.Discard, conn)
}

// sourceNumber returns an address in a /24 network of its own.
func sourceNumber(i int) string { return fmt.Sprintf("127.%d.%d.9", 1+i/250, 1+i%250) }

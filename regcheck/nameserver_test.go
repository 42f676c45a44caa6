package regcheck_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// The resolver of the standard library, asking a DNS server on loopback that fails in each way.
func TestNameServers(t *testing.T) {
	const nameError, serverFailure, refused = 3, 2, 5 // RFC 1035 section 4.1.1
	for name, row := range map[string]struct {
		server    string
		contains  string
		field     string
		retryable bool
		limit     time.Duration
	}{
		"name does not exist": {respondWith(t, nameError), "does not exist", "endpoint", false, time.Minute},
		"server failure":      {respondWith(t, serverFailure), "the DNS server reported a failure", "endpoint", true, time.Minute},
		"refused":             {respondWith(t, refused), "the DNS server reported a failure", "endpoint", false, time.Minute},
		"no server":           {closedPort(t), "no DNS server can be reached", "", true, time.Minute},
		"silent server":       {respondWith(t, -1), "no DNS server responded in time", "endpoint", true, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, row.server)
			}}
			c := &regcheck.Checker{Resolver: resolver, Dialer: regchecktest.Start(t, "none"), Limits: regcheck.Limits{Resolve: row.limit}}
			plan := regcheck.MustParse(t, regcheck.Definition{Endpoint: "https://registry.example",
				Auth: &regcheck.Auth{Type: regcheck.NoAuth}})
			report, err := c.Check(t.Context(), plan, nil)
			if err != nil {
				t.Fatal(err)
			}
			if report.Code != regcheck.CodeHostNotFound || report.Field != row.field || report.Retryable != row.retryable ||
				!strings.Contains(report.Message, row.contains) {
				t.Errorf("%s, field %q, retryable %t: %s", report.Code, report.Field, report.Retryable, report.Message)
			}
		})
	}
}

// respondWith starts a DNS server that responds to each query with that code, not at all with -1.
func respondWith(t *testing.T, code int) (address string) {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		message := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(message)
			if err != nil {
				return
			}
			if n < 12 || code < 0 {
				continue
			}
			message[2] |= 0x80 // a response
			message[3] = message[3]&0xf0 | byte(code)
			_, _ = conn.WriteTo(message[:n], from)
		}
	}()
	return conn.LocalAddr().String()
}

// closedPort returns an address where nothing receives queries. A connected socket has the port, and receives from its peer only.
func closedPort(t *testing.T) (address string) {
	t.Helper()
	conn, err := net.Dial("udp4", "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.LocalAddr().String()
}

package abuse_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const login = "/v1/auth/authenticate"

func post(path string, length int, body string, headers ...string) string {
	headers = append([]string{"Host: x", "Content-Type: application/json", "Content-Length: " + strconv.Itoa(length)}, headers...)
	return "POST " + path + " HTTP/1.1\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n" + body
}

// Unfinished requests of anonymous connections do not fill the memory or lock out other clients.
func TestUnfinishedRequests(t *testing.T) {
	for _, c := range []struct {
		name  string
		conns int
		sent  string
	}{
		{"large bodies", 500, post(login, 1048566, strings.Repeat("x", 1048565))},
		{"bodies within the limit", 2000, post(login, 64000, strings.Repeat("x", 63000))},
		{"headers", 8000, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 58<<10)},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := start(t)
			client := newCustomer(t, server)
			flooded := make(chan struct{})
			go func() {
				defer close(flooded)
				flood(t, server, c.conns, c.sent)
			}()
			client.visit(3 * time.Second)
			<-flooded
			client.visit(500 * time.Millisecond)
			client.served(t)
			withinMemory(t, server)
		})
	}
}

// A request whose body stops gets a response, and its connection is closed. One announced as too large gets it at once.
func TestBodiesThatStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, sent, status string }{
		{"one byte", post(login, 5000, "{"), "400"},
		{"too large", post(login, 1<<20, strings.Repeat("x", 70<<10)), "413"},
		{"to a path that needs credentials", post("/v1/registries/oci/basic/validate", 5000, "{"), "401"},
		{"to an unknown path", post("/v1/unknown", 5000, "{"), "404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			// Of many at once some are refused since their address sends too much. The first one is there before them.
			conns := append(flood(t, server, 1, c.sent), flood(t, server, 599, c.sent)...)
			if received := allClosed(t, conns, maxSilence); !strings.HasPrefix(received, "HTTP/1.1 "+c.status) {
				t.Errorf("received %.200q, want status %s", received, c.status)
			}
			withinMemory(t, server)
		})
	}
}

func TestShutdownDuringBodiesThatStop(t *testing.T) {
	t.Parallel()
	server := start(t)
	flood(t, server, 600, post(login, 5000, "{"))
	began := time.Now()
	if code := server.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	took := time.Since(began).Round(time.Millisecond)
	t.Logf("stopped after %v", took)
	if took > 20*time.Second { // it ends by itself a body that pauses for 5 s
		t.Error("it waited for the bodies")
	}
}

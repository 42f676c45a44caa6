package abuse_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	attacker = "127.0.0.3"
	honest   = "127.0.0.2"

	// memoryLimit is what the service may hold under any attack, of the 512 MiB that the shipped unit and manifests allow.
	memoryLimit = 200 << 10 // KiB
	maxSilence  = 15 * time.Second
)

// dialFrom connects from an address of this machine.
func dialFrom(ctx context.Context, from, to string) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	return dialer.DialContext(ctx, "tcp", to)
}

func address(t testing.TB, server *instance.Server) string {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// flood opens n connections from the attacker, each of which sends the same bytes. Those that the service refuses count as
// open: refusing is one of its defenses.
func flood(t testing.TB, server *instance.Server, n int, sent string) []net.Conn {
	t.Helper()
	to := address(t, server)
	conns := make([]net.Conn, n)
	var work sync.WaitGroup
	turns := make(chan struct{}, 64)
	for i := range conns {
		turns <- struct{}{}
		work.Go(func() {
			defer func() { <-turns }()
			conn, err := dialFrom(t.Context(), attacker, to)
			if err != nil {
				return
			}
			conns[i] = conn
			_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
			_, _ = io.WriteString(conn, sent) // refused ones fail
		})
	}
	work.Wait()
	t.Cleanup(func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
	})
	return conns
}

// customer is an honest client beside an attack.
type customer struct {
	t             testing.TB
	client        *instance.Client
	authorization string

	took   []time.Duration
	failed []string
}

func newCustomer(t testing.TB, server *instance.Server) *customer {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, // each request needs a connection of its own, as a newcomer's does
		DialContext: func(ctx context.Context, _, to string) (net.Conn, error) { return dialFrom(ctx, honest, to) }}
	c := &customer{t: t, client: server.ClientThrough(t, transport)}
	c.authorization = c.client.SignIn().Authorization
	return c
}

// visit sends token-checked requests for a while, and a login with each tenth.
func (c *customer) visit(d time.Duration) {
	c.t.Helper()
	login := instance.Credentials(instance.Email, instance.Org, instance.Password)
	for i, end := 0, time.Now().Add(d); time.Now().Before(end); i++ {
		began := time.Now()
		answer, err := c.client.Try(http.MethodGet, "/v1/projects/alerts", "", "Authorization", c.authorization)
		c.took = append(c.took, time.Since(began))
		c.note("GET", answer.Status, err)
		if i%10 == 0 {
			answer, err = c.client.Try(http.MethodPost, "/v1/auth/authenticate", login)
			c.note("login", answer.Status, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (c *customer) note(what string, status int, err error) {
	if err != nil || status != http.StatusOK {
		c.failed = append(c.failed, fmt.Sprintf("%s: status %d, %v", what, status, err))
	}
}

// served fails the test unless every request of the customer succeeded.
func (c *customer) served() {
	c.t.Helper()
	slices.Sort(c.took)
	c.t.Logf("honest client: %d requests, p99 %v, %d failed", len(c.took), c.took[(len(c.took)*99+99)/100-1].Round(100*time.Microsecond), len(c.failed))
	if len(c.failed) > 0 {
		c.t.Errorf("the honest client was refused %d times: %s", len(c.failed), c.failed[0])
	}
}

// withinMemory fails the test when the service held more than memoryLimit at any time.
func withinMemory(t testing.TB, server *instance.Server) {
	t.Helper()
	if !server.Running() {
		t.Fatal("the service ended")
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(peak)[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("peak memory: %d MiB", kib>>10)
	if kib > memoryLimit {
		t.Errorf("peak memory %d MiB, at most %d", kib>>10, memoryLimit>>10)
	}
}

// allClosed waits until the service has closed every connection, and returns what the first one received.
func allClosed(t testing.TB, conns []net.Conn, within time.Duration) (received string) {
	t.Helper()
	end := time.Now().Add(within)
	open := 0
	for i, conn := range conns {
		if conn == nil {
			continue
		}
		_ = conn.SetReadDeadline(end)
		data, err := io.ReadAll(conn)
		if i == 0 {
			received = string(data)
		}
		if os.IsTimeout(err) {
			open++
		}
	}
	if open > 0 {
		t.Errorf("%d of %d connections are open after %v", open, len(conns), within)
	}
	return received
}

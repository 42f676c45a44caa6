package abuse_test

import (
	"context"
	"crypto/tls"
	"errors"
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
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	attacker    = "127.0.0.3"
	userAddress = "127.0.0.2"

	// memoryLimit is what the service may hold under any attack, of the 512 MiB that the shipped unit and manifests allow.
	memoryLimit = 200 << 10 // KiB
	// goMemory limits Go's memory as that of a container does. Without it the garbage collector may be late on a busy machine, where what
	// the service holds is more than what it needs. The process that hashes passwords has 40 MiB of its own.
	goMemory   = "GOMEMLIMIT=140MiB"
	maxSilence = 15 * time.Second

	maxResponse = 2 * time.Second // of a regular client's request
)

// start starts a service whose memory goMemory limits.
func start(t testing.TB, flags ...string) *instance.Server {
	t.Helper()
	return instance.Start(t, instance.Options{Flags: flags, Env: []string{goMemory}})
}

// dialFrom connects from an address of this machine.
func dialFrom(ctx context.Context, from, to string) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second, Control: attackerSocket}
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

// flood is floodFrom a single address, where the limits per source apply.
func flood(t testing.TB, server *instance.Server, n int, sent string) []net.Conn {
	t.Helper()
	return floodFrom(t, server, []string{attacker}, n, sent)
}

// floodFrom opens n connections, from each address in turn, which send the same bytes. Those that the service refuses count as
// open: refusing is one of its defenses. The test fails if fewer than half were opened at all, because it then shows nothing.
func floodFrom(t testing.TB, server *instance.Server, from []string, n int, sent string) []net.Conn {
	t.Helper()
	to, data := address(t, server), []byte(sent)
	conns := make([]net.Conn, n)
	var work sync.WaitGroup
	var opened atomic.Int64
	turns := make(chan struct{}, 64)
	for i := range conns {
		turns <- struct{}{}
		work.Go(func() {
			defer func() { <-turns }()
			conn, err := dialFrom(t.Context(), from[i%len(from)], to)
			if err == nil || errors.Is(err, syscall.ECONNRESET) { // the service may close it at once
				opened.Add(1)
			}
			if err != nil {
				return
			}
			conns[i] = conn
			_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
			_, _ = conn.Write(data) // refused ones fail
		})
	}
	work.Wait()
	t.Cleanup(func() { closeAll(conns) })
	if got := opened.Load(); 2*got < int64(n) {
		t.Errorf("%d of %d connections were opened, so the test shows nothing", got, n)
	}
	return conns
}

// closeAll closes the connections that were opened.
func closeAll(conns []net.Conn) {
	for _, conn := range conns {
		if conn != nil {
			_ = conn.Close()
		}
	}
}

// customer is a regular client during an attack.
type customer struct {
	client        *instance.Client
	authorization string

	took   []time.Duration // by token-checked requests
	failed []string
	slow   int // requests that took longer than maxResponse
	all    int
}

func newCustomer(t testing.TB, server *instance.Server) *customer {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, // each request needs a connection of its own, as that of a new client does
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the server's own certificate is self-signed
		DialContext:     func(ctx context.Context, _, to string) (net.Conn, error) { return dialFrom(ctx, userAddress, to) }}
	c := &customer{client: server.ClientThrough(t, transport)}
	c.authorization = c.client.Login().Authorization
	return c
}

// visit sends token-checked requests for a while, and a login with each tenth. However slow the machine is, they are so many that the
// few that wait while an attack begins are less than 5 % of them.
func (c *customer) visit(d time.Duration) {
	const enough = 100
	login := instance.Credentials(instance.Email, instance.Org, instance.Password)
	for i, end := 0, time.Now().Add(d); i < enough || time.Now().Before(end); i++ {
		c.took = append(c.took, c.try(http.MethodGet, "/v1/projects/alerts", "", "Authorization", c.authorization))
		if i%10 == 0 {
			c.try(http.MethodPost, "/v1/auth/authenticate", login)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (c *customer) try(method, path, body string, headers ...string) time.Duration {
	began := time.Now()
	response, err := c.client.Try(method, path, body, headers...)
	took := time.Since(began)
	c.all++
	if err != nil || response.Status != http.StatusOK {
		c.failed = append(c.failed, fmt.Sprintf("%s %s: status %d, %v", method, path, response.Status, err))
	}
	if took > maxResponse {
		c.slow++
	}
	return took
}

// served fails the test unless every request of the customer succeeded, 95 % of them within maxResponse.
func (c *customer) served(t testing.TB) {
	t.Helper()
	c.servedBut(t, 0)
}

// mostlyServed is served for an attack in which 1 % of the requests may fail.
func (c *customer) mostlyServed(t testing.TB) {
	t.Helper()
	c.servedBut(t, c.all/100)
}

// servedBut is served, except that some requests may fail.
func (c *customer) servedBut(t testing.TB, some int) {
	t.Helper()
	slices.Sort(c.took)
	p99 := c.took[(len(c.took)*99+99)/100-1].Round(100 * time.Microsecond)
	t.Logf("regular client: %d requests, median %v, p99 %v, %d slow, %d failed", c.all, c.median(), p99, c.slow, len(c.failed))
	if len(c.failed) > some {
		t.Errorf("the regular client was refused %d times: %s", len(c.failed), c.failed[0])
	}
	if c.slow*20 > c.all {
		t.Errorf("%d of %d requests of the regular client took longer than %v", c.slow, c.all, maxResponse)
	}
}

// median returns that of the token-checked requests.
func (c *customer) median() time.Duration {
	slices.Sort(c.took)
	return c.took[len(c.took)/2].Round(100 * time.Microsecond)
}

// held is what a service holds for its clients and for what it contacts.
type held struct{ files, goroutines float64 }

// holds needs a server with metrics.
func holds(t testing.TB, server *instance.Server) held {
	t.Helper()
	metrics := server.Metrics(t)
	return held{gauge(t, metrics, "process_open_fds"), gauge(t, metrics, "go_goroutines")}
}

func gauge(t testing.TB, metrics, name string) float64 {
	t.Helper()
	_, text, found := strings.Cut(metrics, "\n"+name+" ")
	line, _, _ := strings.Cut(text, "\n")
	value, err := strconv.ParseFloat(line, 64)
	if !found || err != nil {
		t.Fatalf("the metrics do not have %s: %v", name, err)
	}
	return value
}

// released waits until the service holds no more than before an attack. The runtime, the store and the regular client's last
// request may have opened a few files and goroutines.
func released(t testing.TB, server *instance.Server, before held) {
	t.Helper()
	const few = 20
	instance.Await(t, "the service holds no more than before the attack", func() bool {
		now := holds(t, server)
		return now.files <= before.files+few && now.goroutines <= before.goroutines+few
	})
}

// withinMemory fails the test when the service held more than memoryLimit at any time.
func withinMemory(t testing.TB, server *instance.Server) {
	t.Helper()
	memoryBelow(t, server, memoryLimit)
}

// memoryBelow fails the test when the service held more than a limit in KiB at any time.
func memoryBelow(t testing.TB, server *instance.Server, limit int) {
	t.Helper()
	if !server.Running() {
		t.Fatal("the service ended")
	}
	kib := peakKiB(server.PID())
	if kib == 0 {
		t.Fatal("the peak memory of the service is unknown")
	}
	t.Logf("peak memory: %d MiB", kib>>10)
	if kib > limit {
		t.Errorf("peak memory %d MiB, at most %d", kib>>10, limit>>10)
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

// peakKiB is the most memory that a process has held so far, 0 after its end. Pages of the program's own file do not count: the kernel
// drops them when memory is short.
func peakKiB(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // fails after its end
	value := func(name string) (kib int) {
		_, after, _ := strings.Cut(string(status), name)
		_, _ = fmt.Sscan(after, &kib)
		return kib
	}
	return value("VmHWM:") - value("RssFile:")
}

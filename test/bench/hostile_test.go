package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	pathValidate    = "/v1/registries/oci/basic/validate"
	hostileChecks   = 500
	hostileSeconds  = 30 // the longest validation that the service allows
	hostileMiB      = 200
	hostileMS       = 20 // 99th percentile of other requests
	fewestLatencies = 200
)

// hostileServers are servers of the kit that never respond or never end. The last one never completes a connection.
var hostileServers = []string{"accept-silent", "slow", "drip-headers", "drip-body", "endless-headers", "flood-1xx", "endless-body",
	"gzip-bomb", "swallow-packets"}

// BenchmarkHostile sends 500 validations at once of registries that never end, and other requests at a fixed rate. A user may have three
// quarters of the validations of its organization.
func BenchmarkHostile(b *testing.B) {
	server := instance.Start(b, instance.Options{Flags: []string{"--check-concurrency", "500", "--check-per-org", "667",
		"--check-per-minute", "100000"}})
	h := &hostile{report: &report{b: b}, server: server, authorization: server.Client(b).Login().Authorization,
		bare: newClient(b, startChild(b, false, "bare").line)}
	files := h.openFiles()
	for _, name := range hostileServers {
		h.run(name)
	}
	h.leftovers(files)
	h.end()
}

type hostile struct {
	*report
	server        *instance.Server
	authorization string
	bare          *client
}

func (h *hostile) run(name string) {
	address, stop := h.open(name)
	defer stop()
	body := instance.JSON(map[string]any{"endpoint": "https://" + address, "auth": map[string]any{
		"type": "basic", "username": "u", "password": "p", "tls": map[string]any{"enabled": true, "insecureSkipVerify": true}}})
	alerts := newClient(h.b, h.server.URL)
	defer alerts.transport.CloseIdleConnections()
	peak, cpu := watchPeak(h.b, h.server), cpuOf(h.server.PID())
	used, began := cpu(), time.Now()
	other, bare := startOpenLoop(h.b, checksPerSecond, alerts.get(pathAlerts, h.authorization)),
		startOpenLoop(h.b, checksPerSecond, h.bare.get(pathAlerts, ""))
	clients := startChild(h.b, true, "burst", h.server.URL, body, h.authorization)
	defer clients.stop()
	used = cpu() - used
	time.Sleep(time.Until(began.Add(fewestLatencies * time.Second / checksPerSecond))) // fewer do not show the 99th percentile
	took, failed := other.stop()
	bareTook, _ := bare.stop()
	var end burstEnd
	noError(h.b, json.Unmarshal([]byte(clients.line), &end))
	metrics := []metric{atMost(peak(), "MiB", hostileMiB), figure(ms(used)/hostileChecks, "cpu-ms/check"),
		atMost(percentile(took, 99), "p99-ms", hostileMS), figure(percentile(took, 100), "longest-ms"),
		figure(percentile(bareTook, 99), "bare-p99-ms"), atMost(failed, "failed", 0),
		atMost(end.Slowest, "slowest-check-s", hostileSeconds)}
	for outcome, seen := range end.Outcomes {
		limit := noLimit
		if !strings.HasPrefix(outcome, "422-Registry") {
			limit = 0 // not a report about the registry
		}
		metrics = append(metrics, atMost(seen, outcome, limit))
	}
	h.row(name, metrics...)
}

// burstEnd is the end of validations that were sent at once.
type burstEnd struct {
	Slowest  float64 // seconds
	Outcomes map[string]float64
}

// runBurst sends a validation many times at once, given the URL of the service, the body and the header Authorization.
func runBurst(args []string) string {
	c := &client{url: args[0], transport: &http.Transport{ResponseHeaderTimeout: time.Minute}}
	var outcomes tally
	var all sync.WaitGroup
	began := time.Now()
	for range hostileChecks {
		all.Go(func() {
			r, _ := c.send(context.Background(), http.MethodPost, pathValidate, args[1], args[2])
			var fault struct{ Code string }
			_ = json.Unmarshal([]byte(r.body), &fault) // a response without a code is counted without one
			outcomes.count(fmt.Sprintf("%d-%s", r.status, fault.Code))
		})
	}
	all.Wait()
	return instance.JSON(burstEnd{time.Since(began).Seconds(), outcomes.seen})
}

// open starts a server. Real ones run on other machines, so it has the lowest priority.
func (h *hostile) open(name string) (address string, stop func()) {
	if name != "swallow-packets" {
		server := startChild(h.b, true, "kit", name)
		return server.line, server.stop
	}
	// A listener whose queue is full drops requests for a connection, as a firewall does (listen(2)).
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	noError(h.b, err)
	raw, err := listener.(*net.TCPListener).SyscallConn()
	noError(h.b, err)
	noError(h.b, raw.Control(func(fd uintptr) { _ = unix.Listen(int(fd), 0) }))
	address = listener.Addr().String()
	for conn, err := net.DialTimeout("tcp", address, time.Second); err == nil; conn, err = net.DialTimeout("tcp", address, time.Second) {
		h.b.Cleanup(func() { _ = conn.Close() })
	}
	return address, func() { _ = listener.Close() }
}

func (h *hostile) openFiles() int {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.server.PID()))
	noError(h.b, err)
	return len(all)
}

// leftovers reports what is left of the validations: open files, and goroutines, which the Go runtime prints when SIGQUIT ends it.
func (h *hostile) leftovers(filesBefore int) {
	files := h.openFiles()
	for until := time.Now().Add(10 * time.Second); files > filesBefore && time.Now().Before(until); files = h.openFiles() {
		time.Sleep(100 * time.Millisecond)
	}
	h.server.Stop(syscall.SIGQUIT)
	stacks, left := strings.Split(h.server.Log(), "\n\ngoroutine "), 0.0
	for _, stack := range stacks[1:] {
		if strings.Contains(stack, "/regcheck") {
			left++
		}
	}
	h.row("leftovers", atMost(float64(files), "files", float64(filesBefore)), atMost(left, "goroutines-of-checks", 0),
		atLeast(float64(len(stacks)), "goroutines", 2))
}

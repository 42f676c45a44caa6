package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regwarden/regwarden/test/instance"
)

const (
	atOnce       = 500
	deadline     = 30 * time.Second // the service's own bound of a validation
	hostileMiB   = 200
	hostileBeat  = 20 * time.Millisecond
	unansweredBy = "swallows packets"
)

// misbehaviours are servers that never answer, or never end, each in its way.
var misbehaviours = []struct{ server, does string }{
	{"", unansweredBy},
	{"accept-silent", "accepts and says nothing"},
	{"slow", "handshakes and says nothing"},
	{"drip-headers", "drips a header"},
	{"drip-body", "drips a body"},
	{"endless-headers", "endless headers"},
	{"flood-1xx", "endless 1xx"},
	{"endless-body", "endless body"},
	{"gzip-bomb", "gzip bomb"},
}

// BenchmarkHostile lets 500 validations at once run into servers that never end, and asks for something
// else meanwhile. The service has a process of its own, whose memory is measured.
func BenchmarkHostile(b *testing.B) {
	for range b.N {
		server := instance.Start(b, instance.Options{Flags: []string{"--check-concurrency", "500", "--check-per-org", "500", "--check-per-minute", "100000"}})
		tokens := server.Client(b).SignIn()
		t := &table{name: "Hostile registries", columns: []string{"500 validations, the registry …", "peak memory", "CPU each", "alerts p50", "p99", "most", "bare p99", "slowest", "outcome"}}
		h := &hostile{b: b, server: server, authorization: tokens.Authorization, table: t, bare: bareCaller(b)}
		files := openFiles(b, server)
		for _, m := range misbehaviours {
			h.run(m.server, m.does)
		}
		h.nothingLeft(files)
		t.note("At a fixed rate of %d a second, GET %s is measured from the moment it was meant to leave.", beatsPerSecond, pathAlerts)
		t.note("Bare: the same of a net/http server that does nothing, in another process: what the machine was busy with otherwise.")
		t.note("CPU each: the service's processor time over %d, that for the other requests included.", atOnce)
		t.note("Limits: resident memory below %d MiB, 99th percentile below %v, every validation answered within %v.", hostileMiB, hostileBeat, deadline)
		t.tell(b)
	}
}

type hostile struct {
	b             *testing.B
	server        *instance.Server
	authorization string
	table         *table
	bare          *caller
}

func (h *hostile) run(name, does string) {
	h.b.Helper()
	address, stop := h.open(name)
	defer stop()
	body := instance.JSON(map[string]any{"endpoint": "https://" + address, "auth": map[string]any{
		"type": "basic", "username": "u", "password": "p", "tls": map[string]any{"enabled": true, "insecureSkipVerify": true}}})
	alerts := newCaller(h.b, h.server, &http.Transport{})
	clients := startPart(h.b, partStorm, "nice", "-n", "19")
	defer clients.stop()
	forgetPeak(h.b, h.server)
	used := processorTime(h.b, h.server)
	beat, bare := startBeat(h.b, alerts, h.authorization), startBeat(h.b, h.bare, "")
	said, err := clients.ask(instance.JSON(storm{h.server.URL, body, h.authorization}))
	if err != nil {
		h.b.Fatal(err)
	}
	used = processorTime(h.b, h.server) - used
	var end stormEnd
	if err := json.Unmarshal([]byte(said), &end); err != nil {
		h.b.Fatal(err)
	}
	for beat.count() < 4*beatsPerSecond { // fewer do not tell the 99th percentile
		time.Sleep(100 * time.Millisecond)
	}
	took, bad := beat.stop()
	machine, _ := bare.stop()
	alerts.http.CloseIdleConnections()
	peak, p99 := peakKiB(h.server), percentile(took, 99)
	kept := peak < hostileMiB<<10 && p99 < hostileBeat && bad == 0 && end.Slowest <= deadline && wellEnded(end.Outcomes)
	h.table.hold("", kept, does, mib(peak), milli(used/atOnce), milli(percentile(took, 50)), milli(p99), milli(took[len(took)-1]), milli(percentile(machine, 99)),
		fmt.Sprintf("%.1f s", end.Slowest.Seconds()), counted(end.Outcomes))
}

// storm is many of one validation, sent at once by a process of their own.
type storm struct{ URL, Body, Authorization string }

// stormEnd is how they ended.
type stormEnd struct {
	Slowest  time.Duration
	Outcomes map[string]int
}

// runStorm is asked with a storm and answers with its end, both JSON.
func runStorm(asked string) (string, error) {
	var s storm
	if err := json.Unmarshal([]byte(asked), &s); err != nil {
		return "", err
	}
	c := &caller{url: s.URL, http: &http.Client{Timeout: time.Minute}}
	defer c.http.CloseIdleConnections()
	end := stormEnd{Outcomes: map[string]int{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			began := time.Now()
			status, text, _ := c.send(context.Background(), http.MethodPost, pathValidate, s.Body, s.Authorization)
			took := time.Since(began)
			var said struct{ Code string }
			_ = json.Unmarshal([]byte(text), &said) // then the outcome has no code, and the row says so
			mu.Lock()
			defer mu.Unlock()
			end.Outcomes[strings.TrimSpace(fmt.Sprint(status, " ", said.Code))]++
			end.Slowest = max(end.Slowest, took)
		})
	}
	all.Wait()
	return instance.JSON(end), nil
}

// wellEnded tells that every validation ended in a verdict on the registry.
func wellEnded(outcomes map[string]int) bool {
	for outcome := range outcomes {
		if !strings.HasPrefix(outcome, "422 Registry") {
			return false
		}
	}
	return true
}

func counted(outcomes map[string]int) string {
	var all []string
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		all = append(all, fmt.Sprintf("%d × %s", outcomes[outcome], outcome))
	}
	return strings.Join(all, ", ")
}

// open starts a server that misbehaves.
func (h *hostile) open(name string) (address string, stop func()) {
	h.b.Helper()
	if name == "" {
		return swallow(h.b)
	}
	// Real ones have machines of their own: they must not take processor time from the service.
	servers := startPart(h.b, partServers, "nice", "-n", "19")
	address, err := servers.ask(name)
	if err != nil {
		h.b.Fatal(err)
	}
	return address, servers.stop
}

// swallow is an address where connecting never ends: a listener whose queue is full drops what asks for
// a connection, as a firewall does (listen(2)).
func swallow(b *testing.B) (address string, stop func()) {
	b.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	opened := []int{fd}
	stop = func() {
		for _, fd := range opened {
			_ = unix.Close(fd)
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		b.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		b.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		b.Fatal(err)
	}
	for range 4 { // one is queued, the others wait for ever
		client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			b.Fatal(err)
		}
		opened = append(opened, client)
		_ = unix.Connect(client, name) // in progress
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port), stop
}

// nothingLeft looks whether anything of the validations lives on: open files, and goroutines, which the Go
// runtime prints when it ends by SIGQUIT.
func (h *hostile) nothingLeft(before int) {
	h.b.Helper()
	after := openFiles(h.b, h.server)
	for until := time.Now().Add(10 * time.Second); after > before && time.Now().Before(until); after = openFiles(h.b, h.server) {
		time.Sleep(100 * time.Millisecond)
	}
	h.server.Stop(syscall.SIGQUIT)
	left := 0
	for _, stack := range strings.Split(h.server.Log(), "\n\n") {
		if strings.HasPrefix(stack, "goroutine ") && strings.Contains(stack, "/regcheck.") {
			left++
		}
	}
	h.table.hold(fmt.Sprint(before), after <= before, fmt.Sprintf("open files after all: %d", after))
	h.table.hold("0", left == 0 && strings.Contains(h.server.Log(), "\ngoroutine "), fmt.Sprintf("goroutines of validations after all: %d", left))
}

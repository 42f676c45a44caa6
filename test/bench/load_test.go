package bench

import (
	"context"
	"errors"
	"io"
	"net/http"
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
	pathSignIn   = "/v1/auth/authenticate"
	pathAlerts   = "/v1/projects/alerts" // answered from memory
	pathProjects = "/v1/projects"        // answered from the store
	pathValidate = "/v1/registries/oci/basic/validate"
)

// caller sends requests without holding them against the API description, which would cost more than
// the service does.
type caller struct {
	url     string
	http    *http.Client
	discard bool // bodies are read and not kept: megabytes would be the client's work, not the service's
}

// bareCaller calls a server that does nothing, in a process of its own.
func bareCaller(b *testing.B) *caller {
	b.Helper()
	url, err := startPart(b, partBare).ask("")
	if err != nil {
		b.Fatal(err)
	}
	return &caller{url: url, http: &http.Client{Timeout: time.Minute}}
}

func newCaller(b *testing.B, server *instance.Server, transport *http.Transport) *caller {
	b.Helper()
	transport.MaxIdleConnsPerHost, transport.DisableCompression = 1024, true
	b.Cleanup(transport.CloseIdleConnections)
	return &caller{url: server.URL, http: &http.Client{Transport: transport, Timeout: time.Minute}}
}

// send returns the status and the body of an answer; status 0 when there was none.
func (c *caller) send(ctx context.Context, method, path, body, authorization string) (int, string, http.Header) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error(), nil
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer response.Body.Close()
	if c.discard {
		_, err = io.Copy(io.Discard, response.Body)
	}
	text, readErr := io.ReadAll(response.Body)
	err = errors.Join(err, readErr)
	if err != nil {
		return 0, err.Error(), nil
	}
	return response.StatusCode, string(text), response.Header
}

// beat sends token-checked GETs at a fixed rate and measures each from the moment it was meant to leave,
// so that a stall is not hidden by requests that were held up behind it.
type beat struct {
	mu   sync.Mutex
	took []time.Duration
	bad  int
	end  context.CancelFunc
	done sync.WaitGroup
}

const beatsPerSecond = 50

func startBeat(b *testing.B, c *caller, authorization string) *beat {
	b.Helper()
	return startBeatOf(b, c, pathAlerts, authorization, beatsPerSecond)
}

func startBeatOf(b *testing.B, c *caller, path, authorization string, perSecond int) *beat {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	t := &beat{end: cancel}
	t.done.Go(func() {
		interval := time.Second / time.Duration(perSecond)
		for meant := time.Now().Add(interval); ctx.Err() == nil; meant = meant.Add(interval) {
			time.Sleep(time.Until(meant))
			t.done.Go(func() {
				status, _, _ := c.send(context.WithoutCancel(ctx), http.MethodGet, path, "", authorization)
				took := time.Since(meant)
				t.mu.Lock()
				defer t.mu.Unlock()
				t.took = append(t.took, took)
				if status != http.StatusOK {
					t.bad++
				}
			})
		}
	})
	return t
}

// stop ends the beat and returns what it measured, sorted, and how many were not answered 200.
func (t *beat) stop() (took []time.Duration, bad int) {
	t.end()
	t.done.Wait()
	slices.Sort(t.took)
	return t.took, t.bad
}

func (t *beat) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.took)
}

// percentile is the value that so many of the sorted ones do not exceed.
func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}

func milli(d time.Duration) string { return strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64) + " ms" }

func mib(kib int) string { return strconv.FormatFloat(float64(kib)/1024, 'f', 0, 64) + " MiB" }

// forgetPeak resets the peak of a server's resident memory (proc(5), clear_refs).
func forgetPeak(b *testing.B, server *instance.Server) {
	b.Helper()
	for _, pid := range server.PIDs() {
		if err := os.WriteFile(proc(pid, "clear_refs"), []byte("5"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// peakKiB is the most memory that the process held since, and each of its child processes.
func peakKiB(server *instance.Server) int { return server.StatusKiB("VmHWM:") }

// openFiles counts what the process has open.
func openFiles(b *testing.B, server *instance.Server) int {
	b.Helper()
	all, err := os.ReadDir(proc(server.PID(), "fd"))
	if err != nil {
		b.Fatal(err)
	}
	return len(all)
}

// processorTime is what the server and its child processes have used so far, in user and kernel mode.
func processorTime(b *testing.B, server *instance.Server) time.Duration {
	b.Helper()
	ticks := 0
	for _, pid := range server.PIDs() {
		ticks += processorTicks(b, pid)
	}
	return time.Duration(ticks) * time.Second / 100 // USER_HZ, 100 on every Linux that Go runs on
}

// processorTicks is the time of a process and of its children that have ended (proc(5), stat).
func processorTicks(b *testing.B, pid int) (ticks int) {
	b.Helper()
	text, err := os.ReadFile(proc(pid, "stat"))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may be anything
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		b.Fatal("/proc does not tell the processor time")
	}
	for _, field := range fields[11:15] {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return ticks
}

func proc(pid int, file string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + file
}

package regcheck_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// BenchmarkHostile runs 500 checks at once against one server that never ends, and prints what they
// cost: resident memory at its peak, the slowest check, and the goroutines that are left. The server
// runs in the same process, so its own memory is in the figure.
func BenchmarkHostile(b *testing.B) {
	const at = 500
	for _, server := range []string{"accept-silent", "slow", "drip-body", "drip-headers", "endless-body", "endless-headers", "flood-1xx", "gzip-bomb", "silent"} {
		b.Run(server, func(b *testing.B) {
			var peak, left int
			var slowest time.Duration
			for range b.N {
				peak, slowest, left = hostile(b, server, at)
			}
			b.ReportMetric(float64(peak), "MiB")
			b.ReportMetric(slowest.Seconds(), "s-slowest")
			b.ReportMetric(float64(left), "goroutines-left")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func hostile(b *testing.B, server string, at int) (peak int, slowest time.Duration, left int) {
	name := server
	if server == "silent" {
		name = "none" // no server: the address swallows packets
	}
	before := runtime.NumGoroutine()
	g, err := regchecktest.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	d := regcheck.Definition{Endpoint: g.Endpoint, Auth: &regcheck.Auth{Username: "u", Password: "p"}}
	if server == "silent" {
		d.Endpoint = "https://silent.test"
	}
	c := &regcheck.Checker{Resolver: g, Dialer: g, Roots: g.Roots()}
	done := make(chan struct{})
	var watch, work sync.WaitGroup
	watch.Go(func() {
		for {
			peak = max(peak, resident())
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	var mu sync.Mutex
	for range at {
		work.Go(func() {
			begin := time.Now()
			report, err := c.Check(b.Context(), d, nil)
			if err != nil || report.Valid {
				b.Errorf("%v %+v", err, report)
			}
			mu.Lock()
			defer mu.Unlock()
			slowest = max(slowest, time.Since(begin))
		})
	}
	work.Wait()
	close(done)
	watch.Wait()
	g.Close()
	return peak, slowest, goroutinesLeft(before)
}

// resident is this process's resident memory in MiB; 0 where /proc is not there.
func resident() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kib >> 10
		}
	}
	return 0
}

// Package auxiliary serves metrics and profiles on addresses of their own.
package auxiliary

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	headerTimeout = 5 * time.Second
	timeout       = 90 * time.Second // a profile takes 30 s by default

	blockProfileRate     = 100_000 // nanoseconds of blocking per sample
	mutexProfileFraction = 100     // contention events per sample
)

// PathProfiles is the path below which Profiles serves.
const PathProfiles = "/debug/pprof/"

// Listen binds the address of an auxiliary server, such as that of metrics. It returns nil for an empty address.
func Listen(address, what string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for %s: %w", address, what, err)
	}
	return listener, nil
}

// Serve serves handler until stop is called. It does nothing without a listener.
func Serve(listener net.Listener, what string, handler http.Handler, log *slog.Logger) (stop func()) {
	if listener == nil {
		return func() {}
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: timeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("auxiliary server ended", "content", what, "error", err)
		}
	})
	log.Info("serving "+what, "address", listener.Addr().String())
	return func() {
		_ = s.Close() // collectors retry
		running.Wait()
	}
}

// Profiles serves the profiles of net/http/pprof. Block and mutex profiles have a cost, so they are recorded only if profiles are
// served.
func Profiles() http.Handler {
	runtime.SetBlockProfileRate(blockProfileRate)
	runtime.SetMutexProfileFraction(mutexProfileFraction)
	mux := http.NewServeMux()
	mux.HandleFunc(PathProfiles, pprof.Index) // heap, block, mutex, goroutine
	mux.HandleFunc(PathProfiles+"profile", pprof.Profile)
	mux.HandleFunc(PathProfiles+"trace", pprof.Trace)
	return onlyLoopback(mux)
}

// onlyLoopback refuses requests whose host is a name other than localhost: a website whose name resolves to a loopback address (DNS
// rebinding) could read the responses in a browser on this machine. It also refuses those that a browser sends for another site.
func onlyLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
			http.Error(w, "Profiles are served to this machine only: use a loopback address or localhost.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether a Host header has a loopback address or localhost.
func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]") // without a port
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.IsLoopback() || strings.EqualFold(name, "localhost")
}

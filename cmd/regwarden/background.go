package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/auth"
)

const (
	asideHeaderTimeout = 5 * time.Second
	asideTimeout       = 90 * time.Second // a profile takes 30 s, or as long as is asked for

	blockProfileRate     = 100_000 // nanoseconds of waiting that one sample stands for
	mutexProfileFraction = 100     // one of so many
)

// What goes on beside the serving of requests.

// background runs the work that no request causes, until stop is called, which waits for its end: polling for changes of other
// processes, deleting what is no longer needed, and more.
func background(ctx context.Context, a *auth.Service, auditRetention time.Duration, log *slog.Logger, more ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { a.PollChanges(ctx) })
	running.Go(func() { sweepHourly(ctx, a, auditRetention, log) })
	for _, unasked := range more {
		running.Go(func() { unasked(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// sweepHourly deletes sessions that ended long ago, and audit records that are older than they are kept.
func sweepHourly(ctx context.Context, a *auth.Service, auditRetention time.Duration, log *slog.Logger) {
	for {
		err := a.Sweep(ctx)
		if auditRetention > 0 {
			err = errors.Join(err, a.SweepAudits(ctx, time.Now().Add(-auditRetention)))
		}
		if err != nil && ctx.Err() == nil {
			log.Error("old records were not deleted; trying again in an hour", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Hour):
		}
	}
}

// listenAlso binds the address of something served beside the interface, nil when there is none.
func listenAlso(address, what string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for %s: %w", address, what, err)
	}
	return listener, nil
}

// serveAlso answers with handler until stop is called. Without a listener there is nothing to do.
func serveAlso(listener net.Listener, what string, handler http.Handler, log *slog.Logger) (stop func()) {
	if listener == nil {
		return func() {}
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: asideHeaderTimeout, ReadTimeout: asideTimeout, WriteTimeout: asideTimeout, IdleTimeout: asideTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error(what+" are not served any more", "error", err)
		}
	})
	log.Info("serving "+what, "address", listener.Addr().String())
	return func() {
		_ = s.Close() // a collector asks again
		running.Wait()
	}
}

// profiles are Go's own (net/http/pprof), on a listener that only this machine reaches. What profiles of waiting
// cost is paid only where they can be asked for.
func profiles() http.Handler {
	runtime.SetBlockProfileRate(blockProfileRate)
	runtime.SetMutexProfileFraction(mutexProfileFraction)
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index) // heap, block, mutex, goroutine
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

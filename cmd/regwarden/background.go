package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/server"
)

const (
	metricsHeaderTimeout = 5 * time.Second
	metricsTimeout       = 30 * time.Second
)

// What goes on beside the serving of requests.

// background runs what the service does unasked, until stop is called, which waits for it: hearing of what
// other processes change, deleting what is not needed any more, and what more is named.
func background(ctx context.Context, a *auth.Service, auditRetention time.Duration, log *slog.Logger, more ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { a.Watch(ctx) })
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

// listenForMetrics binds the address of /metrics, nil when there is none.
func listenForMetrics(address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for metrics: %w", address, err)
	}
	return listener, nil
}

// serveMetrics answers /metrics until stop is called. Without a listener there is nothing to do.
func serveMetrics(listener net.Listener, m *server.Metrics, log *slog.Logger) (stop func()) {
	if listener == nil {
		return func() {}
	}
	s := &http.Server{Handler: m.Handler(log), ReadHeaderTimeout: metricsHeaderTimeout, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout, IdleTimeout: metricsTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are not served any more", "error", err)
		}
	})
	log.Info("serving metrics", "address", listener.Addr().String())
	return func() {
		_ = s.Close() // a collector asks again
		running.Wait()
	}
}

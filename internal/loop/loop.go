// Package loop has the waits and the loops of work that goes on in the background.
package loop

import (
	"context"
	"log/slog"
	"time"
)

// Sleep returns after d, or as soon as ctx ends, with the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}

// Every calls work, and again an interval after each end, until ctx ends. It logs failures, unless log is nil.
func Every(ctx context.Context, interval time.Duration, log *slog.Logger, failure string, work func(context.Context) error) {
	for ctx.Err() == nil {
		if err := work(ctx); err != nil && ctx.Err() == nil && log != nil {
			log.Error(failure, "retry_in", interval, "error", err)
		}
		_ = Sleep(ctx, interval)
	}
}

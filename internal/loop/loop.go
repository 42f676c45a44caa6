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

// Repeat calls work, and again an interval after each end, until ctx ends.
func Repeat(ctx context.Context, interval time.Duration, work func(context.Context)) {
	for ctx.Err() == nil {
		work(ctx)
		_ = Sleep(ctx, interval)
	}
}

// Retry is Repeat for work that may fail, which it logs with that message unless log is nil. That ctx ended is no failure.
func Retry(ctx context.Context, interval time.Duration, log *slog.Logger, message string, work func(context.Context) error) {
	Repeat(ctx, interval, func(ctx context.Context) {
		if err := work(ctx); err != nil && ctx.Err() == nil && log != nil {
			log.Error(message, "retry_in", interval, "error", err)
		}
	})
}

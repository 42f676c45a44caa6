package serve

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/sweep"
)

// background runs the work that no request causes, until stop is called, which waits for its end: polling for changes of other
// processes, deleting old records, and more.
func background(ctx context.Context, a *auth.Service, sweeper sweep.Sweeper, auditRetention time.Duration, log *slog.Logger,
	more ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { a.PollChanges(ctx) })
	running.Go(func() { sweepHourly(ctx, sweeper, auditRetention, log) })
	for _, work := range more {
		running.Go(func() { work(ctx) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

func sweepHourly(ctx context.Context, s sweep.Sweeper, auditRetention time.Duration, log *slog.Logger) {
	loop.Retry(ctx, time.Hour, log, "cleanup failed", func(ctx context.Context) error { return sweepOld(ctx, s, auditRetention) })
}

// sweepOld deletes old sessions, and audit records older than the retention time. It uses the clock that does not follow a short step
// forward, and after a long one the machine's: only that follows its correction.
func sweepOld(ctx context.Context, s sweep.Sweeper, auditRetention time.Duration) error {
	err := errors.Join(s.Sweep(ctx), s.DivideAudits(ctx))
	if auditRetention > 0 {
		now := s.WaitNow()
		if machine := time.Now(); machine.Before(now) {
			now = machine
		}
		err = errors.Join(err, s.SweepAudits(ctx, now, auditRetention))
	}
	return err
}

package loop

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Work is repeated an interval after its end, its failures are logged, and that it ended with its context is none.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began, runs := time.Now(), 0
		Retry(ctx, 10*time.Second, slog.New(slog.NewTextHandler(&log, nil)), "not done", func(ctx context.Context) error {
			if runs++; runs == 1 {
				return errors.New("broken")
			}
			return Sleep(ctx, 5*time.Second)
		})
		if took := time.Since(began); runs != 3 || took != 30*time.Second {
			t.Errorf("%d runs in %v", runs, took)
		}
		if strings.Count(log.String(), "not done") != 1 || !strings.Contains(log.String(), "retry_in=10s error=broken") {
			t.Errorf("the log: %s", log.String())
		}
	})
}

// A wait ends with its context.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute+time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

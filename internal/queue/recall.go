package queue

import (
	"context"
	"log/slog"
	"time"
)

const (
	// RecallBatch is how many rows are recalled in one step.
	RecallBatch = 1000

	recallEvery = 10 * time.Minute
)

// Recall has recall make rows due again that wait for a moment further ahead than any wait of their queue can be: a
// clock was wrong when it was written. It does so at once and then every ten minutes until ctx ends; recall returns how
// many it found, at most RecallBatch.
func Recall(ctx context.Context, name string, log *slog.Logger, recall func(context.Context) (int64, error)) {
	for {
		if found, err := recallAll(ctx, recall); log != nil && ctx.Err() == nil {
			if err != nil {
				log.Error("rows that wait for too late a moment were not looked for; trying again in some minutes", "queue", name, "error", err)
			}
			if found > 0 {
				log.Warn("rows waited for a moment further ahead than any wait is, as after a clock was wrong; they are due again", "queue", name, "rows", found)
			}
		}
		if !sleep(ctx, recallEvery) {
			return
		}
	}
}

func recallAll(ctx context.Context, recall func(context.Context) (int64, error)) (found int64, err error) {
	for n := int64(RecallBatch); n == RecallBatch && err == nil; {
		n, err = recall(ctx)
		found += n
	}
	return found, err
}

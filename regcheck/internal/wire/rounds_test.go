package wire

import (
	"context"
	"testing"
)

// Of concurrent work the longest counts, and what is sent ahead does not count.
func TestRoundsOfConcurrentWork(t *testing.T) {
	ctx, rounds := CountRounds(t.Context())
	addRounds(ctx, 2)
	Concurrently(ctx,
		func(ctx context.Context) { addRounds(ctx, 1) },
		func(ctx context.Context) { addRounds(ctx, 3); addRounds(Ahead(ctx), 9) },
		func(ctx context.Context) {
			Concurrently(ctx, func(ctx context.Context) { addRounds(ctx, 2) }, func(context.Context) {})
		})
	addRounds(Ahead(ctx), 7)
	addRounds(t.Context(), 5) // has no Rounds
	if got := rounds.Count(); got != 5 {
		t.Errorf("%d round trips, want 5", got)
	}
}

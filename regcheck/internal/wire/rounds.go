package wire

import (
	"context"
	"sync/atomic"
)

// Rounds counts round trips that follow one another: of requests, and of the connections that were opened for them. A context has the
// Rounds in which requests with it are counted.
type Rounds struct{ n atomic.Int64 }

type roundsKey struct{}

// CountRounds returns a context with new Rounds.
func CountRounds(ctx context.Context) (context.Context, *Rounds) {
	r := &Rounds{}
	return context.WithValue(ctx, roundsKey{}, r), r
}

// Ahead returns a context for requests that are sent while the check waits for others, which are counted.
func Ahead(ctx context.Context) context.Context {
	ctx, _ = CountRounds(ctx)
	return ctx
}

// Count returns the number of round trips so far.
func (r *Rounds) Count() int { return int(r.n.Load()) }

// addRounds adds round trips to the Rounds of a context, if it has any.
func addRounds(ctx context.Context, n int) {
	if r, counted := ctx.Value(roundsKey{}).(*Rounds); counted {
		r.n.Add(int64(n))
	}
}

// Concurrently runs functions whose requests do not depend on each other. The one with most round trips counts.
func Concurrently(ctx context.Context, work ...func(context.Context)) {
	var all Background
	branches := make([]*Rounds, len(work))
	for i, do := range work {
		branch, rounds := CountRounds(ctx)
		branches[i] = rounds
		all.Do(func() { do(branch) })
	}
	all.Wait()
	most := 0
	for _, rounds := range branches {
		most = max(most, rounds.Count())
	}
	addRounds(ctx, most)
}

// Package queue works through rows that the store keeps until their moment comes: so many at once, in turns
// between organizations, each row by one replica.
//
// It knows neither what a row is nor how it is taken: the store's conditional updates decide who has it, and a
// lease that ran out makes it due again. The package refuses to retry anything by itself.
package queue

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

const (
	poll      = time.Second            // how soon something is noticed that became due
	breath    = 100 * time.Millisecond // between two looks at the store, however much is due
	outage    = 2 * time.Minute        // without a look at the store: what is overdue then is an outage's
	sickPause = 5 * time.Second        // after the store could not answer
)

// Share is how many rows of an organization to take.
type Share struct {
	OrgUID string
	Count  int
}

// Queue says what to work on and how. All fields are required but Newcomers, After and Log.
type Queue[T any] struct {
	Name   string
	Places int // rows worked on at once, by this process
	// Newcomers are the last places, which only organizations get that have none. It is for rows that take long.
	Newcomers int

	// Waiting lists the organizations that have rows due, in the same order each time.
	Waiting func(ctx context.Context) ([]string, error)
	// Claim takes rows, at most as many as are shared out; OrgOf tells whose one is.
	Claim func(ctx context.Context, shares []Share) ([]T, error)
	OrgOf func(T) string
	// Work does one row and gives it back. Its ctx ends when the queue is to end.
	Work func(ctx context.Context, row T)
	// After, when set, is called before the first look at the store and after an outage.
	After func(ctx context.Context) error
	Log   *slog.Logger
}

// run is a queue at work.
type run[T any] struct {
	Queue[T]
	working sync.WaitGroup
	freed   chan struct{}

	mu    sync.Mutex
	busy  int
	byOrg map[string]int
	last  string    // the organization that was served last
	seen  time.Time // the last look at the store, or the last moment at which none was needed
}

// Run works until ctx ends, then waits for what is under way.
func (q Queue[T]) Run(ctx context.Context) {
	r := &run[T]{Queue: q, freed: make(chan struct{}, 1), byOrg: map[string]int{}}
	defer r.working.Wait()
	for ctx.Err() == nil {
		more, err := r.look(ctx)
		wait := poll
		if err != nil && ctx.Err() == nil {
			wait = sickPause
			r.log("the store did not answer; trying again", "error", err)
		}
		r.rest(ctx, more && err == nil, wait)
	}
}

// rest waits until it is worth looking again.
func (r *run[T]) rest(ctx context.Context, more bool, wait time.Duration) {
	if !sleep(ctx, breath) {
		return
	}
	var freed <-chan struct{}
	if more {
		freed = r.freed
	}
	timer := time.NewTimer(wait - breath)
	defer timer.Stop()
	select {
	case <-freed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// look fills the free places. more says that rows were left for want of one.
func (r *run[T]) look(ctx context.Context) (more bool, err error) {
	if r.free() == 0 {
		r.seen = time.Now()
		return true, nil
	}
	if r.After != nil && time.Since(r.seen) > outage {
		if err := r.After(ctx); err != nil {
			return false, err
		}
	}
	waiting, err := r.Waiting(ctx)
	if err != nil {
		return false, err
	}
	for len(waiting) > 0 {
		shares := r.share(waiting)
		if len(shares) == 0 {
			more = true
			break
		}
		rows, err := r.Claim(ctx, shares)
		if err != nil {
			return false, err
		}
		waiting = r.start(ctx, rows, shares)
	}
	r.seen = time.Now()
	return more, nil
}

func (r *run[T]) free() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Places - r.busy
}

// mostPerOrg leaves a quarter of the places to others: rows of one organization may all take long.
func (r *run[T]) mostPerOrg() int { return max(1, r.Places-r.Places/4) }

// share gives the free places to the organizations in turns, beginning after the one that was served last.
func (r *run[T]) share(waiting []string) []Share {
	r.mu.Lock()
	defer r.mu.Unlock()
	free := r.Places - r.busy
	begin := 0
	for begin < len(waiting) && waiting[begin] <= r.last {
		begin++
	}
	counts := map[string]int{}
	var order []string
	for gave := true; gave && free > 0; {
		gave = false
		for i := range waiting {
			org := waiting[(begin+i)%len(waiting)]
			has := r.byOrg[org] + counts[org]
			if free == 0 || has >= r.mostPerOrg() || has > 0 && free <= r.Newcomers {
				continue
			}
			if counts[org] == 0 {
				order = append(order, org)
			}
			counts[org]++
			free--
			gave = true
			r.last = org
		}
	}
	shares := make([]Share, len(order))
	for i, org := range order {
		shares[i] = Share{org, counts[org]}
	}
	return shares
}

// start works on the rows, and returns the organizations that may have more: those that filled their share.
func (r *run[T]) start(ctx context.Context, rows []T, shares []Share) (more []string) {
	got := map[string]int{}
	for _, row := range rows {
		org := r.OrgOf(row)
		got[org]++
		r.mu.Lock()
		r.busy++
		r.byOrg[org]++
		r.mu.Unlock()
		r.working.Go(func() {
			defer r.leave(org)
			defer r.survive()
			r.Work(ctx, row)
		})
	}
	for _, s := range shares {
		if got[s.OrgUID] == s.Count {
			more = append(more, s.OrgUID)
		}
	}
	return more
}

func (r *run[T]) leave(org string) {
	r.mu.Lock()
	r.busy--
	if r.byOrg[org]--; r.byOrg[org] == 0 {
		delete(r.byOrg, org)
	}
	r.mu.Unlock()
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// survive keeps a panic over one row from ending the others' work. Its lease runs out by itself.
func (r *run[T]) survive() {
	if cause := recover(); cause != nil {
		// The value may quote what was worked on.
		r.log("work on one row panicked", "cause", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
	}
}

func (r *run[T]) log(message string, args ...any) {
	if r.Log != nil {
		r.Log.Error(message, append([]any{"queue", r.Name}, args...)...)
	}
}

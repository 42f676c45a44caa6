// Package queue runs background jobs for rows of the store that are due. It limits how many run at once and serves
// organizations in turn; only one replica runs a row.
//
// Claims are conditional updates of the store with a lease: a row whose lease has expired is due again. The package retries
// no job itself.
package queue

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/loop"
)

const (
	pollInterval    = time.Second            // a row that becomes due is found within this time
	minPollInterval = 100 * time.Millisecond // also while more rows are due
	errorBackoff    = 5 * time.Second        // after an error of the store
)

// Share is how many rows of an organization to claim.
type Share = struct {
	OrgUID string
	Count  int
}

// Queue describes the rows and their jobs. All fields are required except ReservedWorkers, SlowWorkers and Log.
type Queue[T any] struct {
	Name    string
	Workers int // jobs of this process at once
	// ReservedWorkers is how many of the workers are reserved for organizations without a running job. It is for long jobs.
	ReservedWorkers int
	// SlowWorkers is how many slow jobs may run in addition. A slow job gives its worker back: it waits for a host that does not
	// respond, and would delay the jobs of hosts that do.
	SlowWorkers int

	// Waiting lists the organizations that have due rows, in a stable order.
	Waiting func(ctx context.Context) ([]string, error)
	// Claim claims rows, at most as many as the shares allow. OrgOf returns the organization of a row.
	Claim func(ctx context.Context, shares []Share) ([]T, error)
	OrgOf func(T) string
	// Work runs the job of one row and releases the row. Its ctx ends with that of Run.
	Work func(ctx context.Context, row T)
	Log  *slog.Logger
}

// run is a queue that is running.
type run[T any] struct {
	Queue[T]
	working sync.WaitGroup
	freed   chan struct{}

	mu   sync.Mutex
	jobs []*job // those with a worker, the oldest first
	busy load   // of them
	slow load
	last string // the organization that was served last
}

// Run runs jobs until ctx ends, then waits for the running ones.
func (q Queue[T]) Run(ctx context.Context) {
	r := &run[T]{Queue: q, freed: make(chan struct{}, 1), busy: load{byOrg: map[string]int{}}, slow: load{byOrg: map[string]int{}}}
	defer r.working.Wait()
	for ctx.Err() == nil {
		more, err := r.poll(ctx)
		wait := pollInterval
		if err != nil && ctx.Err() == nil {
			wait = errorBackoff
			r.log("store unavailable", "retry_in", errorBackoff, "error", err)
		}
		r.wait(ctx, more && err == nil, wait)
	}
}

// wait returns when the next poll is due.
func (r *run[T]) wait(ctx context.Context, more bool, wait time.Duration) {
	if loop.Sleep(ctx, minPollInterval) != nil {
		return
	}
	var freed <-chan struct{}
	if more {
		freed = r.freed
	}
	select {
	case <-freed:
	case <-time.After(wait - minPollInterval):
	case <-ctx.Done():
	}
}

// poll starts jobs for the free workers. more reports whether rows remain because all workers are busy.
func (r *run[T]) poll(ctx context.Context) (more bool, err error) {
	if r.freeSlow() == 0 {
		return true, nil
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
	return more, nil
}

// share assigns the free workers to the organizations in turn, starting after the one that was served last.
func (r *run[T]) share(waiting []string) []Share {
	r.mu.Lock()
	defer r.mu.Unlock()
	free := r.Workers - r.busy.all
	begin := 0
	for begin < len(waiting) && waiting[begin] <= r.last {
		begin++
	}
	counts := map[string]int{}
	var order []string
	for assigned := true; assigned && free > 0; {
		assigned = false
		for i := range waiting {
			org := waiting[(begin+i)%len(waiting)]
			has := r.busy.byOrg[org] + counts[org]
			if free == 0 || has >= r.maxOf(org) || has > 0 && free <= r.ReservedWorkers {
				continue
			}
			if counts[org] == 0 {
				order = append(order, org)
			}
			counts[org]++
			free--
			assigned = true
			r.last = org
		}
	}
	shares := make([]Share, len(order))
	for i, org := range order {
		shares[i] = Share{org, counts[org]}
	}
	return shares
}

// start starts the jobs and returns the organizations that may have more rows: those that used their whole share.
func (r *run[T]) start(ctx context.Context, rows []T, shares []Share) (more []string) {
	got := map[string]int{}
	for _, row := range rows {
		j := &job{org: r.OrgOf(row), began: time.Now()}
		got[j.org]++
		r.add(j)
		r.working.Go(func() {
			defer r.end(j)
			defer r.recoverPanic()
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

func (r *run[T]) end(j *job) {
	r.remove(j)
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// recoverPanic keeps a panic of one job from ending the process. The lease of its row expires.
func (r *run[T]) recoverPanic() {
	if cause := recover(); cause != nil {
		// The value may contain data of the row.
		r.log("job panicked", "cause", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
	}
}

func (r *run[T]) log(message string, args ...any) {
	if r.Log != nil {
		r.Log.Error(message, append([]any{"queue", r.Name}, args...)...)
	}
}

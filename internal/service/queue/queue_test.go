package queue

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeStore has due rows by organization.
type fakeStore struct {
	mu      sync.Mutex
	due     map[string]int
	running map[string]int
	most    map[string]int
	done    map[string]int
	takes   time.Duration
	down    bool
}

func newFakeStore(takes time.Duration, due map[string]int) *fakeStore {
	return &fakeStore{due: due, running: map[string]int{}, most: map[string]int{}, done: map[string]int{}, takes: takes}
}

func (p *fakeStore) queue(workers int) Queue[string] {
	return Queue[string]{
		Name: "test", Workers: workers, OrgOf: func(org string) string { return org },
		Waiting: func(context.Context) (orgs []string, err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.down {
				return nil, errors.New("store down")
			}
			for org, n := range p.due {
				if n > 0 {
					orgs = append(orgs, org)
				}
			}
			slices.Sort(orgs)
			return orgs, nil
		},
		Claim: func(_ context.Context, shares []Share) (rows []string, err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, s := range shares {
				for range min(s.Count, p.due[s.OrgUID]) {
					p.due[s.OrgUID]--
					rows = append(rows, s.OrgUID)
				}
			}
			return rows, nil
		},
		Work: func(ctx context.Context, org string) {
			p.mu.Lock()
			p.running[org]++
			p.most[org] = max(p.most[org], p.running[org])
			takes := p.takes
			p.mu.Unlock()
			select {
			case <-time.After(takes):
			case <-ctx.Done():
			}
			p.mu.Lock()
			p.running[org]--
			p.done[org]++
			p.mu.Unlock()
		},
	}
}

func (p *fakeStore) finished(org string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[org]
}

func TestLargeBacklogDoesNotDelayOtherOrganizations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeStore(30*time.Second, map[string]int{"a": 10_000})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.queue(16).Run(ctx)
		time.Sleep(10 * time.Second) // all of a's workers are busy for 20 s more
		p.mu.Lock()
		p.due["b"] = 1
		most := p.most["a"]
		p.mu.Unlock()
		if most != 12 {
			t.Errorf("one organization has %d of 16 workers, want 12", most)
		}
		time.Sleep(31*time.Second + pollInterval)
		if p.finished("b") != 1 {
			t.Error("the one row of b still waits")
		}
		cancel()
		synctest.Wait()
	})
}

func TestOrganizationsAreServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeStore(time.Second, map[string]int{"a": 1000, "b": 1000, "c": 1000})
		ctx, cancel := context.WithCancel(t.Context())
		go p.queue(4).Run(ctx)
		time.Sleep(2 * time.Minute)
		cancel()
		synctest.Wait()
		a, b, c := p.finished("a"), p.finished("b"), p.finished("c")
		if a < 50 || max(a, b, c)-min(a, b, c) > 12 {
			t.Errorf("done %d, %d and %d, want about the same", a, b, c)
		}
	})
}

// Two organizations with long jobs leave workers to organizations without a running job.
func TestReservedWorkersServeOtherOrganizations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeStore(time.Hour, map[string]int{"a": 1000, "b": 1000})
		q := p.queue(8)
		q.ReservedWorkers = 2
		ctx, cancel := context.WithCancel(t.Context())
		go q.Run(ctx)
		time.Sleep(10 * time.Second)
		p.mu.Lock()
		a, b := p.running["a"], p.running["b"]
		p.due["c"], p.due["d"] = 5, 5
		p.mu.Unlock()
		if a != 3 || b != 3 {
			t.Errorf("%d and %d of 8 workers are busy, want 3 each", a, b)
		}
		time.Sleep(pollInterval + minPollInterval)
		p.mu.Lock()
		if p.running["c"] != 1 || p.running["d"] != 1 {
			t.Errorf("c and d have %d and %d workers, want 1 each", p.running["c"], p.running["d"])
		}
		p.mu.Unlock()
		time.Sleep(4 * time.Hour)
		if c, a := p.finished("c"), p.finished("a"); c < 5 || a < 6 {
			t.Errorf("after four hours %d rows of c and %d of a are done", c, a)
		}
		cancel()
		synctest.Wait()
	})
}

// Slow jobs give their workers back. When as many are slow as may be, an organization with slow jobs has one worker, and others have the
// rest.
func TestSlowJobsLeaveWorkersToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeStore(time.Hour, map[string]int{"a": 1000, "b": 1000})
		q := p.queue(4)
		q.SlowWorkers = 8
		ctx, cancel := context.WithCancel(t.Context())
		go q.Run(ctx)
		time.Sleep(time.Minute)
		p.mu.Lock()
		if a, b := p.running["a"], p.running["b"]; a+b != 10 || a > 7 || b > 7 {
			t.Errorf("a and b have %d and %d jobs, want 8 slow ones and another one each", a, b)
		}
		p.takes, p.due["c"] = time.Second, 40
		p.mu.Unlock()
		time.Sleep(25 * time.Second)
		if n := p.finished("c"); n != 40 {
			t.Errorf("%d of 40 jobs of c are done: two workers do two a second", n)
		}
		cancel()
		synctest.Wait()
	})
}

func TestSingleOrganizationUsesTheOnlyWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeStore(time.Millisecond, map[string]int{"a": 300})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.queue(1).Run(ctx)
		time.Sleep(31 * time.Second)
		if p.finished("a") != 300 {
			t.Errorf("%d of 300 done with one worker", p.finished("a"))
		}
		cancel()
		synctest.Wait()
	})
}

func TestPanicDoesNotEndOtherJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeStore(0, map[string]int{"a": 1, "b": 5})
		q := p.queue(2)
		var log strings.Builder
		q.Log = slog.New(slog.NewTextHandler(&log, nil))
		work := q.Work
		q.Work = func(ctx context.Context, org string) {
			if org == "a" {
				panic("a row of a")
			}
			work(ctx, org)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go q.Run(ctx)
		time.Sleep(10 * time.Second)
		if p.finished("b") != 5 {
			t.Errorf("%d of 5 done", p.finished("b"))
		}
		cancel()
		synctest.Wait()
		if text := log.String(); strings.Count(text, "job panicked") != 1 || strings.Contains(text, "a row of a") {
			t.Errorf("the log is %s", text)
		}
	})
}

func TestOutageDelaysJobsAndEndWaitsForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeStore(time.Minute, map[string]int{"a": 1})
		p.down = true
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { p.queue(2).Run(ctx); close(ended) }()
		time.Sleep(10 * time.Minute)
		p.mu.Lock()
		p.down = false
		p.mu.Unlock()
		time.Sleep(errorBackoff + pollInterval)
		p.mu.Lock()
		if p.running["a"] != 1 {
			t.Error("the job does not run after the outage")
		}
		p.mu.Unlock()
		cancel()
		<-ended
		if p.finished("a") != 1 {
			t.Error("Run ended before its job")
		}
	})
}

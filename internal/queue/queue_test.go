package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pond is a store of rows that are due, by organization.
type pond struct {
	mu      sync.Mutex
	due     map[string]int
	running map[string]int
	most    map[string]int
	done    map[string]int
	takes   time.Duration
	sick    bool
	after   int
}

func newPond(takes time.Duration, due map[string]int) *pond {
	return &pond{due: due, running: map[string]int{}, most: map[string]int{}, done: map[string]int{}, takes: takes}
}

func (p *pond) queue(places int) Queue[string] {
	return Queue[string]{
		Name: "test", Places: places, OrgOf: func(org string) string { return org },
		Waiting: func(context.Context) (orgs []string, err error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.sick {
				return nil, errors.New("away")
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
			p.mu.Unlock()
			select {
			case <-time.After(p.takes):
			case <-ctx.Done():
			}
			p.mu.Lock()
			p.running[org]--
			p.done[org]++
			p.mu.Unlock()
		},
		After: func(context.Context) error { p.mu.Lock(); defer p.mu.Unlock(); p.after++; return nil },
	}
}

func (p *pond) finished(org string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[org]
}

func (p *pond) outages() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.after
}

func TestOneOverdueRowIsNotBehindTenThousand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(30*time.Second, map[string]int{"a": 10_000})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.queue(16).Run(ctx)
		time.Sleep(10 * time.Second) // all of a's places are taken, for 20 s to come
		p.mu.Lock()
		p.due["b"] = 1
		most := p.most["a"]
		p.mu.Unlock()
		if most != 12 {
			t.Errorf("one organization has %d of 16 places, want 12", most)
		}
		time.Sleep(31*time.Second + poll)
		if p.finished("b") != 1 {
			t.Error("the one row of b still waits")
		}
		cancel()
		synctest.Wait()
	})
}

func TestOrganizationsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(time.Second, map[string]int{"a": 1000, "b": 1000, "c": 1000})
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

// Two organizations with rows that take very long leave places to those that have none, who come at once.
func TestNewcomersDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(time.Hour, map[string]int{"a": 1000, "b": 1000})
		q := p.queue(8)
		q.Newcomers = 2
		ctx, cancel := context.WithCancel(t.Context())
		go q.Run(ctx)
		time.Sleep(10 * time.Second)
		p.mu.Lock()
		a, b := p.running["a"], p.running["b"]
		p.due["c"], p.due["d"] = 5, 5
		p.mu.Unlock()
		if a != 3 || b != 3 {
			t.Errorf("%d and %d of 8 places are taken, want 3 each", a, b)
		}
		time.Sleep(poll + breath)
		p.mu.Lock()
		if p.running["c"] != 1 || p.running["d"] != 1 {
			t.Errorf("newcomers have %d and %d places, want 1 each", p.running["c"], p.running["d"])
		}
		p.mu.Unlock()
		time.Sleep(4 * time.Hour)
		if c, a := p.finished("c"), p.finished("a"); c < 5 || a < 6 {
			t.Errorf("after four hours %d of the newcomer's rows are done, and %d of the other's", c, a)
		}
		cancel()
		synctest.Wait()
	})
}

func TestASingleOrganizationIsNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(time.Millisecond, map[string]int{"a": 300})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go p.queue(1).Run(ctx)
		time.Sleep(31 * time.Second)
		if p.finished("a") != 300 {
			t.Errorf("%d of 300 done with one place", p.finished("a"))
		}
		cancel()
		synctest.Wait()
	})
}

func TestAPanicTakesNobodyAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(0, map[string]int{"a": 1, "b": 5})
		q := p.queue(2)
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
	})
}

func TestAnOutageIsNoticedAndItsEndWaitsForWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPond(time.Minute, map[string]int{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { p.queue(2).Run(ctx); close(ended) }()
		time.Sleep(10 * time.Minute)
		if n := p.outages(); n != 1 {
			t.Errorf("After was called %d times without an outage, want once at the start", n)
		}
		p.mu.Lock()
		p.sick = true
		p.mu.Unlock()
		time.Sleep(10 * time.Minute)
		p.mu.Lock()
		p.sick, p.due["a"] = false, 1
		p.mu.Unlock()
		time.Sleep(10 * time.Second)
		if p.outages() < 2 {
			t.Error("After was not called after an outage")
		}
		cancel()
		<-ended
		if p.finished("a") != 1 {
			t.Error("Run ended before its work")
		}
	})
}

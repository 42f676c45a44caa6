package watch

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regwarden/regwarden/internal/service/queue"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// simulated is a store of registries of which some have just ended to respond. Checks take only time.
type simulated struct {
	*runner
	dead           func(registry string) bool
	mu             sync.Mutex
	orgs           map[string]*byTime
	healthy, other []time.Duration // how late checks began
}

// byTime orders rows by when they are due.
type byTime []store.Watched

func (h byTime) Len() int           { return len(h) }
func (h byTime) Less(i, j int) bool { return h[i].NextAt.Before(h[j].NextAt) }
func (h byTime) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byTime) Push(row any)      { *h = append(*h, row.(store.Watched)) }
func (h *byTime) Pop() any {
	row := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return row
}

func (s *simulated) waiting(context.Context) (orgs []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for org, rows := range s.orgs {
		if len(*rows) > 0 && !(*rows)[0].NextAt.After(time.Now()) {
			orgs = append(orgs, org)
		}
	}
	slices.Sort(orgs)
	return orgs, nil
}

func (s *simulated) claim(_ context.Context, shares []queue.Share) (claimed []store.Watched, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, share := range shares {
		rows := s.orgs[share.OrgUID]
		for n := 0; n < share.Count && len(*rows) > 0 && !(*rows)[0].NextAt.After(time.Now()); n++ {
			row := heap.Pop(rows).(store.Watched)
			if late := time.Since(row.NextAt); s.dead(row.RegistryUID) {
				s.other = append(s.other, late)
			} else {
				s.healthy = append(s.healthy, late)
			}
			claimed = append(claimed, row)
		}
	}
	return claimed, nil
}

// check takes 30 s, the timeout of a check, if the registry does not respond, and a fifth of a second otherwise.
func (s *simulated) check(ctx context.Context, row store.Watched) {
	took, found := 200*time.Millisecond, result{HealthResult: store.HealthResult{Valid: true}}
	if s.dead(row.RegistryUID) {
		took, found = 30*time.Second, result{HealthResult: store.HealthResult{Code: "RegistryUnreachable"}, retryable: true}
	}
	select {
	case <-time.After(took):
	case <-ctx.Done():
		return
	}
	d := decide(row, found, time.Now())
	d.after.LastAt, d.after.NextAt = time.Now(), s.next(d, false, time.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	heap.Push(s.orgs[row.OrgUID], d.after)
}

// simulate runs the checks of 10,000 registries for 45 minutes, in which the dead ones cause most
// work: a check, a second one that confirms it, and one more. org returns the organization of the i-th registry.
func simulate(t *testing.T, org func(i int) int, dead func(i int) bool) *simulated {
	const registries = 10_000
	s := &simulated{orgs: map[string]*byTime{}, runner: &runner{nil, Config{Interval: 15 * time.Minute, Concurrency: 16}}}
	synctest.Test(t, func(t *testing.T) {
		silent := map[string]bool{}
		s.dead = func(registry string) bool { return silent[registry] }
		for i := range registries {
			row := store.Watched{OrgUID: fmt.Sprint(org(i)), RegistryUID: fmt.Sprint(i), Since: time.Now(),
				State:  store.HealthResult{Valid: true},
				NextAt: time.Now().Add(s.Interval * time.Duration(i) / registries)}
			silent[row.RegistryUID] = dead(i)
			if s.orgs[row.OrgUID] == nil {
				s.orgs[row.OrgUID] = &byTime{}
			}
			heap.Push(s.orgs[row.OrgUID], row)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Minute)
		defer cancel()
		q := s.queue()
		q.Waiting, q.Claim, q.Work = s.waiting, s.claim, s.check
		q.Run(ctx)
	})
	return s
}

// Registries that do not respond do not delay the checks of those that do.
func TestDeadRegistriesDoNotDelayOthers(t *testing.T) {
	const tolerated = 5 * time.Second
	for _, tt := range []struct {
		name      string
		org       func(i int) int
		dead      func(i int) bool
		saturated bool // by the dead ones, which are late, too
	}{
		{"5 % of one organization", func(int) int { return 0 }, func(i int) bool { return i%20 == 0 }, false},
		{"50 of 1,000 organizations", func(i int) int { return i % 1000 }, func(i int) bool { return i%20 == 0 }, false},
		{"one of two organizations", func(i int) int { return i % 20 / 19 }, func(i int) bool { return i%20 == 19 }, false},
		{"the largest of many organizations", func(i int) int { return i % 3 * (i % 30) }, func(i int) bool { return i%3 == 0 }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := simulate(t, tt.org, tt.dead)
			healthy, other := slices.Max(s.healthy), slices.Max(s.other)
			t.Logf("latest check of a registry that responds: %v; of another one: %v", healthy, other)
			if healthy > tolerated || other > tolerated && !tt.saturated {
				t.Errorf("checks began later than after %v", tolerated)
			}
			for org, rows := range s.orgs {
				if i := slices.IndexFunc(*rows, func(row store.Watched) bool { return row.LastAt.IsZero() }); i >= 0 {
					t.Errorf("registry %s of organization %s was never checked", (*rows)[i].RegistryUID, org)
				}
			}
		})
	}
}

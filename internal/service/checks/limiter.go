package checks

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
)

// limiter limits concurrent validations, in total and per organization. Only perOrg of an organization wait for a slot in the
// common queue, so that no organization can fill it. Organizations take turns, and in each of them its users.
type limiter struct {
	concurrency, perOrg, perOrgAll int // perOrgAll includes those that wait

	mu      sync.Mutex
	running int
	waiting []*caller // in the order of arrival
	orgs    map[string]*usage
	users   map[string]*usage
	turn    int
}

// usage is what an organization or a user has of a limiter.
type usage struct {
	running, waiting int
	turn             int // of the last slot; 0 without one
}

// caller runs or waits.
type caller struct {
	org, user string
	admitted  chan error // receives nil with a slot
}

func newLimiter(limits Limits) *limiter {
	perOrg := cmp.Or(limits.PerOrg, 8)
	return &limiter{concurrency: cmp.Or(limits.Concurrency, 64), perOrg: perOrg, perOrgAll: 2 * perOrg, orgs: map[string]*usage{},
		users: map[string]*usage{}}
}

// acquire waits for a slot and returns the function that releases it. Its error is a *fault.Error, Limited if the organization has too
// many callers and Unavailable if all together have, or the error of ctx.
func (l *limiter) acquire(ctx context.Context, org, user string) (release func(), err error) {
	c := &caller{org, org + " " + user, make(chan error, 1)}
	if err := l.enqueue(c); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	select {
	case err = <-c.admitted:
	case <-timeout.C:
		err = l.withdraw(c, fault.Busy("Too many validations are running; none ended in time. Try again later.", maxWait))
	case <-ctx.Done():
		err = l.withdraw(c, ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	return func() { l.release(c) }, nil
}

// enqueue lets the caller run or wait, or refuses it at once if the queue is full. A user with fewer waiting callers displaces one of
// the user of the organization who has most.
func (l *limiter) enqueue(c *caller) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	org, user := usageOf(l.orgs, c.org), usageOf(l.users, c.user)
	defer l.forget(c)
	if org.running+org.waiting >= l.perOrgAll {
		last := l.longestQueue(c.org)
		if last == nil || l.users[last.user].waiting <= user.waiting+1 {
			return l.tooMany()
		}
		l.remove(last)
		last.admitted <- l.tooMany()
	} else if l.running+len(l.waiting) >= l.concurrency+maxWaiting {
		return fault.Busy("Too many validations are running. Try again later.", time.Second)
	}
	l.waiting = append(l.waiting, c)
	org.waiting++
	user.waiting++
	l.dispatch()
	return nil
}

func (l *limiter) tooMany() error {
	return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: time.Second,
		Message: "Too many validations of your organization are running. Retry after the time in Retry-After."}
}

// longestQueue returns the last waiting caller of the user with most of them in an organization, nil if none waits.
func (l *limiter) longestQueue(org string) (last *caller) {
	for _, c := range l.waiting {
		if c.org == org && (last == nil || l.users[c.user].waiting >= l.users[last.user].waiting) {
			last = c
		}
	}
	return last
}

// dispatch gives free slots to waiting callers.
func (l *limiter) dispatch() {
	for next := l.next(); next != nil; next = l.next() {
		l.remove(next)
		l.turn++
		l.running++
		for _, u := range []*usage{usageOf(l.orgs, next.org), usageOf(l.users, next.user)} {
			u.running++
			u.turn = l.turn
		}
		next.admitted <- nil
	}
}

// next returns the caller for a free slot, nil for none: of the organization and its user that have fewest, then those whose last turn
// was first.
func (l *limiter) next() (first *caller) {
	for _, c := range l.waiting {
		if l.mayRun(c) && (first == nil || l.compare(c, first) < 0) {
			first = c
		}
	}
	return first
}

func (l *limiter) compare(a, b *caller) int {
	orgA, orgB, userA, userB := l.orgs[a.org], l.orgs[b.org], l.users[a.user], l.users[b.user]
	return cmp.Or(cmp.Compare(orgA.running, orgB.running), cmp.Compare(orgA.turn, orgB.turn),
		cmp.Compare(userA.running, userB.running), cmp.Compare(userA.turn, userB.turn))
}

// mayRun reports whether there is a slot for a caller. A user may have three times as many as stay free for others of the organization;
// the first one always. So a user with slow validations does not make the others wait for their end.
func (l *limiter) mayRun(c *caller) bool {
	own, free := l.users[c.user].running+1, l.perOrg-l.orgs[c.org].running-1
	return l.running < l.concurrency && free >= 0 && (own == 1 || own <= 3*free)
}

// withdraw removes a waiting caller and returns err. A caller that was admitted or displaced at the same moment is so.
func (l *limiter) withdraw(c *caller, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.waiting, c) {
		return <-c.admitted
	}
	l.remove(c)
	return err
}

// remove removes a caller from the queue.
func (l *limiter) remove(c *caller) {
	l.waiting = slices.DeleteFunc(l.waiting, func(other *caller) bool { return other == c })
	l.orgs[c.org].waiting--
	l.users[c.user].waiting--
	l.forget(c)
}

func (l *limiter) release(c *caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.orgs[c.org].running--
	l.users[c.user].running--
	l.forget(c)
	l.dispatch()
}

// usageOf returns the usage of a name, which is new if it has none.
func usageOf(all map[string]*usage, name string) *usage {
	if all[name] == nil {
		all[name] = &usage{}
	}
	return all[name]
}

// forget deletes the usage of an organization and a user that have no callers.
func (l *limiter) forget(c *caller) {
	if u := l.orgs[c.org]; u != nil && u.running+u.waiting == 0 {
		delete(l.orgs, c.org)
	}
	if u := l.users[c.user]; u != nil && u.running+u.waiting == 0 {
		delete(l.users, c.user)
	}
}

// load returns how many run and how many wait.
func (l *limiter) load() (running, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running, len(l.waiting)
}

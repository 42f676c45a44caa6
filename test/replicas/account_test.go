package replicas_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// The kinds of request that the load makes.
const (
	signingIn  = "sign-in"
	refreshing = "refresh"
	exchanging = "exchange" // of an authorization token, as old clients do
	tokenUse   = "token"    // a use of one, for what needs no store
	creating   = "create"
	replacing  = "replace"
	reading    = "read"
	deleting   = "delete"
	validating = "validate"
	loggingOut = "logout"

	doneBefore = "found done when asked again"
)

// account is what the clients were told, together: the counts, what went wrong, and when each kind of request was
// answered again after a failure.
type account struct {
	mu         sync.Mutex
	answered   map[string]int // acknowledged, by kind
	unanswered int            // no answer, or half of one
	refused    int            // 503
	wrong      []string       // what an honest client must never see

	since time.Time                // of the last watch
	first map[string]time.Duration // after since, by kind: the first acknowledgement
}

func newAccount() *account {
	return &account{answered: map[string]int{}, first: map[string]time.Duration{}}
}

func (a *account) acknowledged(kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answered[kind]++
	if _, seen := a.first[kind]; !seen {
		a.first[kind] = time.Since(a.since)
	}
}

func (a *account) repeated(answered bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if answered {
		a.refused++
	} else {
		a.unanswered++
	}
}

const maxWrong = 20

// complain notes what must not be.
func (a *account) complain(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.wrong) < maxWrong {
		a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
	}
}

// watch begins to look for the first acknowledgement of each kind.
func (a *account) watch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since = time.Now()
	clear(a.first)
}

// awaitEach waits until each kind was acknowledged since watch, and returns how long the slowest took. More than within is too long
// with -long, on a machine that does nothing else.
func (a *account) awaitEach(t *testing.T, within time.Duration, kinds ...string) (slowest time.Duration) {
	t.Helper()
	instance.Await(t, "each of "+strings.Join(kinds, ", ")+" is served", func() bool {
		a.mu.Lock()
		first, wrong := maps.Clone(a.first), len(a.wrong)
		a.mu.Unlock()
		if wrong > 0 {
			a.tell(t) // a client that was wronged asks no more
			t.FailNow()
		}
		missing := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { _, seen := first[kind]; return seen })
		for _, kind := range kinds {
			slowest = max(slowest, first[kind])
		}
		return len(missing) == 0
	})
	if slowest > within/2 {
		t.Logf("the slowest kind was served after %v", slowest)
	}
	if *long && slowest > within {
		t.Errorf("service came back after %v, want %v at most", slowest, within)
	}
	return slowest
}

// tell fails the test for everything that was wrong, and prints the counts.
func (a *account) tell(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, problem := range a.wrong {
		t.Error(problem)
	}
	a.wrong = nil
	var counts []string
	for _, kind := range slices.Sorted(maps.Keys(a.answered)) {
		counts = append(counts, fmt.Sprintf("%s %d", kind, a.answered[kind]))
	}
	t.Logf("acknowledged so far: %s; asked again: %d times without an answer, %d times after 503", strings.Join(counts, ", "), a.unanswered, a.refused)
}

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
	loggingIn  = "login"
	refreshing = "refresh"
	exchanging = "exchange" // of an authorization token, as old clients do
	tokenUse   = "token"    // a use of one, for what needs no store
	creating   = "create"
	replacing  = "replace"
	reading    = "read"
	deleting   = "delete"
	validating = "validate"
	importing  = "import"
	loggingOut = "logout"

	doneBefore = "found done when asked again"
)

// account counts the responses that all clients received. It has what went wrong, and when each kind of request was
// acknowledged again after a failure.
type account struct {
	mu               sync.Mutex
	acknowledgements map[string]int // acknowledged, by kind
	unacknowledged   int            // no response, or half of one
	refused          int            // 503
	refusedLogins    int            // of these and of unacknowledged, those of logins
	wrong            []string       // what a regular client must never see

	since time.Time                // of the last watch
	first map[string]time.Duration // after since, by kind: the first acknowledgement
}

func newAccount() *account {
	return &account{acknowledgements: map[string]int{}, first: map[string]time.Duration{}}
}

func (a *account) acknowledged(kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.acknowledgements[kind]++
	if _, seen := a.first[kind]; !seen {
		a.first[kind] = time.Since(a.since)
	}
}

func (a *account) repeated(kind string, overloaded bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if kind == loggingIn {
		a.refusedLogins++
	}
	if overloaded {
		a.refused++
	} else {
		a.unacknowledged++
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
// with -long, on a machine that does nothing else. A test that failed ends here: a client that saw something wrong sends no more requests.
func (a *account) awaitEach(t *testing.T, within time.Duration, kinds ...string) (slowest time.Duration) {
	t.Helper()
	instance.Await(t, "each of "+strings.Join(kinds, ", ")+" is served", func() bool {
		a.mu.Lock()
		first, wrong := maps.Clone(a.first), len(a.wrong)
		a.mu.Unlock()
		if wrong > 0 || t.Failed() {
			a.report(t)
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

// report fails the test for everything that was wrong, and logs the counts.
func (a *account) report(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, problem := range a.wrong {
		t.Error(problem)
	}
	a.wrong = nil
	var counts []string
	for _, kind := range slices.Sorted(maps.Keys(a.acknowledgements)) {
		counts = append(counts, fmt.Sprintf("%s %d", kind, a.acknowledgements[kind]))
	}
	t.Logf("acknowledged so far: %s; asked again: %d times without a response, %d times after 503", strings.Join(counts, ", "),
		a.unacknowledged, a.refused)
}

package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// TestPollingWorksWithoutNotifications closes the connections that receive notifications from the store.
func TestPollingWorksWithoutNotifications(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	cutNotifications(t, w.dir)
	polling(t, second)
	for range 5 {
		tokens := w.mustLogin(t)
		mustUse(t, second, Presented{Authorization: tokens.Authorization})
		if err := w.Logout(t.Context(), w.mustPrincipal(t, tokens), origin); err != nil {
			t.Fatal(err)
		}
		ended := time.Now()
		second.setLastPoll(staleAfter + 1) // a poll from before the logout may end after this
		mustRefuseWithinASecond(t, second, Presented{Authorization: tokens.Authorization}, ended)
	}
	for second.db.Listening() { // until the service notices: otherwise this tests nothing
		time.Sleep(time.Millisecond)
	}
}

// cutNotifications repeatedly closes the listening connections until the test ends.
func cutNotifications(t *testing.T, dir string) {
	t.Helper()
	url := postgrestest.ReadURL(dir)
	if url == "" {
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if err := server.Exec(ctx, url, cutListeners); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

const cutListeners = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`

// TestAFailedPollIsReturnedDuringTheNext has a poll wait for an unresponsive store, after one that failed.
func TestAFailedPollIsReturnedDuringTheNext(t *testing.T) {
	w := mustWorld(t, nil)
	token := w.mustLogin(t).Authorization
	w.setLastPoll(2 * staleAfter)
	w.Service.changes.inFlight = &inFlightPoll{done: make(chan struct{})}
	later := w.Service.changes.elapsed() + time.Hour // so that a slow machine does not make it old
	w.Service.changes.failure.Store(&pollFailure{later, fault.Busy("The store does not respond.", time.Second)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // for a caller that waits anyway
	defer cancel()
	if _, err := w.Authenticate(ctx, Presented{Authorization: token}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

// A panic of a poll is the error of the requests that wait for it, and the next poll is a new one.
func TestAPollThatPanics(t *testing.T) {
	w := mustWorld(t, nil)
	token := w.mustLogin(t).Authorization
	w.setLastPoll(2 * staleAfter)
	db := w.Service.changes.db
	w.Service.changes.db = nil
	if _, err := w.Authenticate(t.Context(), Presented{Authorization: token}); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("got %v", err)
	}
	w.Service.changes.db = db
	if _, err := w.Authenticate(t.Context(), Presented{Authorization: token}); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// TestPollsForUnknownKeysAreApart: forged tokens can cause any number of calls.
func TestPollsForUnknownKeysAreApart(t *testing.T) {
	changes := mustWorld(t, nil).Service.changes
	for range 3 {
		before := changes.lastPoll.Load()
		if err := changes.pollAfter(t.Context(), unknownKeyInterval); err != nil {
			t.Fatal(err)
		}
		if apart := time.Duration(changes.lastPoll.Load() - before); apart < unknownKeyInterval {
			t.Errorf("two polls are %v apart", apart)
		}
	}
}

// TestAPollFromBeforeACallIsNotEnough: a change may have been written after it began, so the caller waits for another one.
func TestAPollFromBeforeACallIsNotEnough(t *testing.T) {
	changes := mustWorld(t, nil).Service.changes
	before, _ := changes.join()
	done := make(chan error)
	go func() { done <- changes.pollAfter(t.Context(), 0) }()
	time.Sleep(50 * time.Millisecond) // it waits for that poll; a later call starts another one anyway
	last := changes.lastPoll.Load()
	changes.mu.Lock()
	changes.inFlight = nil
	changes.mu.Unlock()
	close(before.done)
	if err := <-done; err != nil || changes.lastPoll.Load() == last {
		t.Errorf("no other poll: %v", err)
	}
}

// TestAPollReadsAllChanges also of more than one query: a session whose end is behind them is refused at once.
func TestAPollReadsAllChanges(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	token := w.mustLogin(t)
	presented := Presented{Authorization: token.Authorization}
	mustUse(t, second, presented)
	w.mustWrite(t, func(tx *store.Tx) error {
		for n := range pollBatch {
			if err := tx.Changes.Note(t.Context(), fmt.Sprint("other ", n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := w.Logout(t.Context(), w.mustPrincipal(t, token), origin); err != nil {
		t.Fatal(err)
	}
	second.setLastPoll(2 * staleAfter)
	_, err := second.Authenticate(t.Context(), presented)
	wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonRevoked)
}

func TestNewChanges(t *testing.T) {
	at := func(seq int64, subject string, second int) store.Change {
		return store.Change{Seq: seq, Subject: subject, At: start.Add(time.Duration(second) * time.Second)}
	}
	last := at(7, "u7", 7)
	for _, c := range []struct {
		name     string
		last     store.Change
		list     []store.Change
		added    int
		complete bool
	}{
		{"nothing yet", store.Change{}, nil, 0, true},
		{"the first ones", store.Change{}, []store.Change{at(1, "a", 1), at(2, "b", 2)}, 2, true},
		{"the first ones, swept", store.Change{}, []store.Change{at(3, "c", 3)}, 0, false},
		{"nothing new", last, []store.Change{last}, 0, true},
		{"two more", last, []store.Change{last, at(8, "a", 8), at(9, "b", 9)}, 2, true},
		{"swept", last, []store.Change{at(20, "a", 20)}, 0, false},
		{"gone back", last, nil, 0, false},
		{"restored to an older state, number reused", last, []store.Change{at(7, "a", 9)}, 0, false},
		{"restored to an older state, same change again", last, []store.Change{at(7, "u7", 9)}, 0, false},
		{"restored to an older state, with newer changes", last, []store.Change{at(7, "a", 9), at(8, "b", 10)}, 0, false},
	} {
		if added, complete := newChanges(c.last, c.list); len(added) != c.added || complete != c.complete {
			t.Errorf("%s: %v, %t", c.name, added, complete)
		}
	}
}

// TestTheFirstPollWaitsForItsOwnChange: without a position, every token that the server issues needs a query. It waits a second at most.
func TestTheFirstPollWaitsForItsOwnChange(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, nil)
	for numbered, wait := range map[bool]time.Duration{true: time.Minute, false: staleAfter} {
		w.Service.changes.firstWait = wait
		own := w.cache.Hold()
		var noting sync.WaitGroup
		noting.Go(func() {
			time.Sleep(3 * unknownKeyInterval)
			if !numbered {
				return
			}
			if err := w.db.InTx(t.Context(), func(tx *store.Tx) error { return tx.Changes.Note(t.Context(), own) }); err != nil {
				t.Error(err)
			}
		})
		err := w.Service.changes.readFirst(t.Context())
		if noting.Wait(); err != nil || (w.cache.Position() != 0) != numbered {
			t.Errorf("numbered %t: at %d, %v", numbered, w.cache.Position(), err)
		}
	}
}

// TestAPollOutdatesOnlyWhatChanged: a new epoch has every token looked at again, so only a change begins one.
func TestAPollOutdatesOnlyWhatChanged(t *testing.T) {
	w := mustWorld(t, nil)
	before := w.cache.Epoch()
	if err := w.Service.changes.applyQueued(t.Context(), nil); err != nil || w.cache.Epoch() != before {
		t.Errorf("without changes: epoch %d after %d, %v", w.cache.Epoch(), before, err)
	}
	if err := w.Service.changes.applyQueued(t.Context(), []store.Change{{Seq: 1, Subject: "u", At: start}}); err != nil {
		t.Fatal(err)
	}
	if w.cache.Current(before, "u") || !w.cache.Current(before, "another") {
		t.Error("a change of the queue is not known, or another one is")
	}
}

// TestARestartIsRepeatedUntilItSucceeds has the keys be unreadable while a poller has lost its place in the list, then readable.
func TestARestartIsRepeatedUntilItSucceeds(t *testing.T) {
	w := mustWorld(t, nil)
	changes := w.Service.changes
	lost := store.Change{Seq: 1 << 40, Subject: "lost", At: start}
	changes.last = lost
	reload, unreadable := changes.reloadKeys, errors.New("unreadable")
	changes.reloadKeys = func(context.Context) error { return unreadable }
	if err := changes.poll(t.Context()); !errors.Is(err, unreadable) || changes.last != lost {
		t.Errorf("got %v, and it goes on from %v", err, changes.last)
	}
	changes.reloadKeys = reload
	if mustPolled(t, w.service); changes.last == lost {
		t.Error("the next poll did not find its place")
	}
}

// TestKeysAreReadAgainAfterAFailure: a rotation that a poll could not read is not taken as known.
func TestKeysAreReadAgainAfterAFailure(t *testing.T) {
	changes := mustWorld(t, nil).Service.changes
	queued := []store.Change{{Seq: 1 << 40, Subject: store.ChangedKeys, At: start}}
	unreadable := errors.New("unreadable")
	for _, want := range []error{unreadable, nil} {
		read := false
		changes.reloadKeys = func(context.Context) error { read = true; return want }
		if err := changes.applyQueued(t.Context(), queued); !errors.Is(err, want) || !read {
			t.Errorf("got %v, want %v; read: %t", err, want, read)
		}
	}
}

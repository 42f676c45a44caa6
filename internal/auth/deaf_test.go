package auth

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store/postgrestest"
)

// TestEndsAreHeardOfWithoutListening keeps the store from telling of changes, where it does: asking has to do.
func TestEndsAreHeardOfWithoutListening(t *testing.T) {
	t.Parallel()
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	deafened(t, w.dir)
	watched(t, second)
	for range 5 {
		tokens := w.mustLogin(t)
		if _, err := second.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization}); err != nil {
			t.Fatal(err)
		}
		if err := w.Logout(t.Context(), w.mustPrincipal(t, tokens), origin); err != nil {
			t.Fatal(err)
		}
		second.lastAsked(staleAfter + 1)
		_, err := second.Authenticate(t.Context(), Presented{Authorization: tokens.Authorization})
		wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonRevoked)
	}
	for second.db.Listening() { // until the end of the connection is noticed: otherwise this test shows nothing
		time.Sleep(time.Millisecond)
	}
}

// deafened cuts the connections that listen, again and again, until the test ends.
func deafened(t *testing.T, dir string) {
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

// TestAFailedPollIsReturnedDuringTheNext has a poll for changes wait for a silent store, after one that failed.
func TestAFailedPollIsReturnedDuringTheNext(t *testing.T) {
	w := mustWorld(t, nil)
	token := w.mustLogin(t).Authorization
	w.hearing.asked.Store(int64(w.hearing.elapsed() - 2*staleAfter))
	w.hearing.under = &asking{done: make(chan struct{})}
	w.hearing.failed.Store(&pollFailure{w.hearing.elapsed(), fault.Busy("The store cannot answer now.", time.Second)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // of a caller that waits all the same
	defer cancel()
	if _, err := w.Authenticate(ctx, Presented{Authorization: token}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

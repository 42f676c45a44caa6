package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// changes notes changes concurrently, some in transactions that fail: the numbers have no gap, in the order of commits,
// and the committed changes are reported to this process.
func changes(t *testing.T, db *store.DB) {
	const writers = 60
	var reported sync.Map
	db.OnChange(func(subjects []string) {
		for _, subject := range subjects {
			reported.Store(subject, true)
		}
	})
	failed := errors.New("on purpose")
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			err := db.InTx(t.Context(), func(tx *store.Tx) error {
				if err := tx.Changes.Note(t.Context(), fmt.Sprint(i)); err != nil {
					return err
				}
				if i%3 == 0 {
					return failed
				}
				return nil
			})
			if _, known := reported.Load(fmt.Sprint(i)); known != (err == nil) || i%3 == 0 && !errors.Is(err, failed) {
				t.Errorf("%d: reported %v, %v", i, known, err)
			}
		})
	}
	wait.Wait()
	waitForNumbers(t, db)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		last, errL := tx.Changes.Last(ctx)
		list, errC := tx.Changes.From(ctx, 0, 1000)
		for i, change := range list {
			if change.Seq != int64(i+1) {
				t.Fatalf("number %d comes as %d", change.Seq, i+1)
			}
		}
		if last.Seq != writers*2/3 || len(list) != int(last.Seq) || last != list[len(list)-1] {
			t.Errorf("%d changes, the last is %v", len(list), last)
		}
		page, errP := tx.Changes.From(ctx, 10, 5)
		if len(page) != 5 || page[0] != list[9] {
			t.Errorf("from 10: %v", page)
		}
		n, errD := tx.Changes.DeleteBefore(ctx, time.Now().Add(time.Minute), 7)
		rest, errR := tx.Changes.From(ctx, 0, 1000)
		if n != 7 || len(rest) != int(last.Seq)-7 {
			t.Errorf("deleted %d, left %d", n, len(rest))
		}
		_, errA := tx.Changes.DeleteBefore(ctx, time.Now().Add(time.Minute), 1000)
		left, errN := tx.Changes.From(ctx, 0, 1000)
		if len(left) != 1 || left[0] != last { // a replica that polled it must find it
			t.Errorf("left of all: %v", left)
		}
		return errors.Join(errL, errC, errP, errD, errR, errA, errN)
	})
}

// waitForNumbers waits until every change has a number.
func waitForNumbers(t *testing.T, db *store.DB) {
	t.Helper()
	for queued := 1; queued > 0; time.Sleep(time.Millisecond) {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Changes.Queued(ctx, 1)
			queued = len(list)
			return err
		})
	}
}

func userSessionEnds(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	user, other := mustUser(t, db, org, "u@example.com"), mustUser(t, db, org, "o@example.com")
	remaining, ended, others := mustSession(t, db, user), mustSession(t, db, user), mustSession(t, db, other)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Sessions.EndOfUser(ctx, org.UID, user.UID, remaining.UID, "why", start)
	})
	live := func(user store.User, at time.Time) (uids []string) {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Sessions.OfUser(ctx, org.UID, user.UID, at)
			for _, session := range list {
				uids = append(uids, session.UID)
			}
			return err
		})
		return uids
	}
	if got := live(user, start); !slices.Equal(got, []string{remaining.UID}) {
		t.Errorf("live: %v; %s was excepted, %s was not", got, remaining.UID, ended.UID)
	}
	if got := live(other, start); !slices.Equal(got, []string{others.UID}) {
		t.Errorf("another user's: %v", got)
	}
	if got := live(other, start.Add(time.Hour)); len(got) != 0 {
		t.Errorf("past the idle end: %v", got)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		if last, err := tx.Sessions.LastEnd(ctx); !last.Equal(remaining.MaxUntil) || err != nil {
			t.Errorf("the last end is %v, %v", last, err)
		}
		return errors.Join(tx.Users.Disable(ctx, org.UID, other.UID, start), tx.Users.Enable(ctx, org.UID, other.UID))
	})
	if got := live(other, start); len(got) != 0 {
		t.Errorf("a disabled user's: %v", got)
	}
	for _, change := range []func(context.Context, *store.Tx) error{
		func(ctx context.Context, tx *store.Tx) error { return tx.Users.Enable(ctx, org.UID, other.UID) },
		func(ctx context.Context, tx *store.Tx) error {
			return tx.Users.Disable(ctx, uuid.NewString(), user.UID, start)
		},
		func(ctx context.Context, tx *store.Tx) error {
			return tx.Users.SetPassword(ctx, org.UID, "missing", "new", start)
		},
		func(ctx context.Context, tx *store.Tx) error {
			return tx.Users.ChangePassword(ctx, org.UID, user.UID, "another hash", "new", start)
		},
	} {
		wantError(t, db, store.ErrNotFound, change)
	}
}

// throttles counts concurrent failures, and lets one of many callers reserve the attempt after a wait.
func throttles(t *testing.T, db *store.DB) {
	const clients = 40
	account, source := []byte{0, 255, 1}, []byte("192.0.2.1")
	until, forget := start.Add(time.Minute), start.Add(time.Hour)
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			mustCount(t, db, account, source, start, until, forget)
		})
	}
	wait.Wait()
	read := func(at time.Time) (found store.Throttle) {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			found, err = tx.Throttling.Get(ctx, account, source, at)
			three, threeErr := tx.Throttling.Both(ctx, account, source, at)
			if three != (store.Throttles{Pair: found}) {
				t.Errorf("all counts: %+v, the pair's: %+v", three, found)
			}
			return errors.Join(err, threeErr)
		})
		return found
	}
	now := read(start)
	if want := (store.Throttle{Failures: clients, BlockedUntil: until, ForgetAt: forget}); now != want {
		t.Errorf("got %+v, want %+v", now, want)
	}
	var taken atomic.Int64
	for range clients {
		wait.Go(func() {
			if err := db.InTx(t.Context(), func(tx *store.Tx) error {
				ok, err := tx.Throttling.ReserveAttempt(t.Context(), account, source, now, until.Add(time.Minute))
				if ok {
					taken.Add(1)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if taken.Load() != 1 {
		t.Errorf("%d reserved one attempt", taken.Load())
	}
	if forgotten := read(forget); forgotten != (store.Throttle{}) {
		t.Errorf("at its end it is still %+v", forgotten)
	}
	mustCount(t, db, account, source, forget, time.Time{}, forget.Add(time.Hour))
	if again := read(forget); again.Failures != 1 || !again.BlockedUntil.IsZero() {
		t.Errorf("after its end it is %+v", again)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Throttling.NoteSuccess(ctx, account, source, forget, forget.Add(2*time.Hour)),
			tx.Throttling.ForgiveAccount(ctx, account))
	})
	if good := read(forget); good.Failures != 0 || !good.SucceededAt.Equal(forget) {
		t.Errorf("after a success it is %+v", good)
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		early, errE := tx.Throttling.DeleteBefore(ctx, forget.Add(time.Hour), 10)
		late, errL := tx.Throttling.DeleteBefore(ctx, forget.Add(3*time.Hour), 10)
		if early != 0 || late != 1 {
			t.Errorf("deleted %d early, %d late", early, late)
		}
		return errors.Join(errE, errL, tx.Throttling.Delete(ctx, account, bytes.Clone(source)))
	})
}

// throttleCounts counts failures of a pair, of its account and of its source, and reads each count separately.
func throttleCounts(t *testing.T, db *store.DB) {
	account, source, every := []byte("account"), []byte("192.0.2.1"), []byte(store.Every)
	for n, key := range [][2][]byte{{account, source}, {account, every}, {every, source}} {
		for range n + 1 {
			mustCount(t, db, key[0], key[1], start, time.Time{}, start.Add(time.Hour))
		}
	}
	for _, row := range []struct {
		account, source       string
		pair, ofAccount, from int64
	}{{"account", "192.0.2.1", 1, 2, 3}, {"account", "192.0.2.2", 0, 2, 0}, {"another", "192.0.2.1", 0, 0, 3},
		{"another", "192.0.2.2", 0, 0, 0}} {
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Throttling.Both(ctx, []byte(row.account), []byte(row.source), start)
			if got.Pair.Failures != row.pair || got.Account.Failures != row.ofAccount || got.Source.Failures != row.from {
				t.Errorf("%s from %s: %+v", row.account, row.source, got)
			}
			return err
		})
	}
}

func mustCount(t *testing.T, db *store.DB, account, source []byte, now, until, forget time.Time) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx *store.Tx) error {
		if _, err := tx.Throttling.CountFailure(t.Context(), account, source, now); err != nil {
			return err
		}
		return tx.Throttling.Delay(t.Context(), account, source, until, forget)
	}); err != nil {
		t.Error(err)
	}
}

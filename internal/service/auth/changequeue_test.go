package auth

import (
	"fmt"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// mustExec runs statements on the database as another program does. On SQLite it does nothing and returns false.
func (w *world) mustExec(t *testing.T, statements ...string) bool {
	t.Helper()
	url := postgrestest.ReadURL(w.dir)
	if url == "" {
		return false
	}
	if err := server.Exec(t.Context(), url, statements...); err != nil {
		t.Fatal(err)
	}
	return true
}

// mustRefuseWithinASecond uses a token until it is refused.
func mustRefuseWithinASecond(t *testing.T, s *service, token Presented, ended time.Time) {
	t.Helper()
	for {
		asked := time.Now()
		_, err := s.Authenticate(t.Context(), token)
		if err != nil && fault.KindOf(err) != fault.Unavailable { // a busy machine may not read the changes in time
			wantFault(t, err, fault.CodeUnauthorizedAccess, ReasonRevoked)
			return
		}
		if err == nil && asked.Sub(ended) > time.Second {
			t.Fatal("another process accepts the token a second later")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestARevocationBehindManyChanges ends a session after 50,000 other changes that no server has read: it reaches another process within a
// second, also while none of them can get a number.
func TestARevocationBehindManyChanges(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	polling(t, second)
	for i, before := range []string{
		"INSERT INTO change_queue (subject, at) SELECT 'other ' || n, 0 FROM generate_series(1, 50000) n",
		"WITH counted AS (UPDATE change_counter SET last = last + 50000 RETURNING last) INSERT INTO changes (seq, subject, at) SELECT " +
			"last - 50000 + n, 'another ' || n, 0 FROM counted, generate_series(1, 50000) n",
	} {
		tokens := w.mustLogin(t)
		token := Presented{Authorization: tokens.Authorization}
		p := mustUse(t, w.service, token)
		mustUse(t, second, token)
		if !w.mustExec(t, before) {
			w.mustWrite(t, func(tx *store.Tx) error {
				for n := range 10_000 {
					if err := tx.Changes.Note(t.Context(), fmt.Sprint(i, n)); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := w.Logout(t.Context(), p, origin); err != nil {
			t.Fatal(err)
		}
		mustRefuseWithinASecond(t, second, token, time.Now())
	}
}

// mustUse uses a token, again while a busy machine does not read all changes in time.
func mustUse(t *testing.T, s *service, token Presented) Principal {
	t.Helper()
	p, err := s.Authenticate(t.Context(), token)
	for fault.KindOf(err) == fault.Unavailable {
		time.Sleep(5 * time.Millisecond)
		p, err = s.Authenticate(t.Context(), token)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNextToAServerOfTheVersionBefore changes and reads the list with the statements of the version before, which runs during an upgrade:
// both see what the other one changes, and the numbers have no gap.
func TestNextToAServerOfTheVersionBefore(t *testing.T) {
	w := mustWorld(t, nil)
	polling(t, w.service)
	for range 3 {
		ours, theirs := w.mustLogin(t), w.mustLogin(t)
		us, them := w.mustPrincipal(t, ours), w.mustPrincipal(t, theirs)
		if err := w.Logout(t.Context(), us, origin); err != nil {
			t.Fatal(err)
		}
		if !w.mustExec(t, "BEGIN", "UPDATE sessions SET ended_at = 1, end_reason = 'test' WHERE uid = '"+them.SessionUID+"'",
			"UPDATE change_counter SET last = last + 1 WHERE id = 1",
			"INSERT INTO changes (seq, subject, at) SELECT last, '"+them.SessionUID+"', 1 FROM change_counter", "COMMIT") {
			return // a database file has one server
		}
		mustRefuseWithinASecond(t, w.service, Presented{Authorization: theirs.Authorization}, time.Now())
		for ended := time.Now(); !w.listed(t, us.SessionUID); time.Sleep(5 * time.Millisecond) {
			if time.Since(ended) > 10*time.Second { // it polls the list; a busy machine is slow
				t.Fatal("the server of the version before does not see a change")
			}
		}
	}
}

// listed reports whether the list has a change of a subject. It fails if a number is missing.
func (w *world) listed(t *testing.T, subject string) (found bool) {
	t.Helper()
	list, err := store.Read(t.Context(), w.db, func(tx *store.Tx) ([]store.Change, error) { return tx.Changes.From(t.Context(), 1, 1000) })
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range list {
		if found = found || c.Subject == subject; c.Seq != int64(i+1) {
			t.Fatalf("number %d comes as %d", c.Seq, i+1)
		}
	}
	return found
}

// TestALostChangeOfTheQueue has a process know a change that is neither in the queue nor in the list, as after a failover to a standby
// without it: what the process read since then is out of date.
func TestALostChangeOfTheQueue(t *testing.T) {
	w := mustWorld(t, nil)
	second := w.mustSecond(t)
	token := Presented{Authorization: w.mustLogin(t).Authorization}
	queued := []store.Change{{Seq: 1 << 40, Subject: "lost too", At: start}} // not in the database
	if err := second.Service.changes.applyQueued(t.Context(), queued); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Authenticate(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	before := second.cache.Epoch()
	if err := second.Service.changes.poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second.cache.Current(before) {
		t.Error("entries from before are accepted")
	}
	if _, err := second.Authenticate(t.Context(), token); err != nil {
		t.Error(err)
	}
}

// TestChangesOfAServerThatEndedAreNumbered adds changes as a server that ended before it numbered them: a server that polls does.
func TestChangesOfAServerThatEndedAreNumbered(t *testing.T) {
	w := mustWorld(t, nil)
	for i := range 4 { // what woke it at its start may number the first ones
		subject := fmt.Sprint("left ", i)
		if !w.mustExec(t, "INSERT INTO change_queue (subject, at) VALUES ('"+subject+"', 1)") {
			return // a database file has no queue
		}
		mustPolled(t, w.service)
		for polled := time.Now(); !w.listed(t, subject); time.Sleep(5 * time.Millisecond) {
			if time.Since(polled) > 10*time.Second { // a busy machine is slow
				t.Fatalf("%s has no number", subject)
			}
		}
	}
}

package auth

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// refreshRecords returns how many refreshes the records of each hour, source, session and way count.
func (w *world) refreshRecords(t *testing.T) map[string]int64 {
	t.Helper()
	counted := map[string]int64{}
	for _, r := range w.audits(t, 1000) {
		if r.Action != audit.Refresh || r.Outcome != audit.Succeeded || r.Reason != "" {
			continue
		}
		key := fmt.Sprintln(r.At.Truncate(time.Hour), r.Origin.Address, r.Object, r.Method)
		if counted[key] > 0 {
			t.Errorf("two records: %s", key)
		}
		counted[key] = 1 + r.Repeats
		if r.OrgUID != w.org.UID || r.ActorName != goodEmail {
			t.Errorf("%+v", r)
		}
	}
	return counted
}

// The first refresh of an hour has a record, which counts the others. Those write no record of their own, nor change it.
func TestRefreshesOfAnHourShareARecord(t *testing.T) {
	w := mustWorld(t, nil)
	tokens := w.mustLogin(t)
	for range 4 {
		w.clock.move(time.Minute)
		tokens = w.mustRefresh(t, tokens.Refresh)
	}
	session := w.sessionOf(t, tokens)
	if session.Refreshes != 3 || session.RefreshUID == "" {
		t.Errorf("the session counts %d refreshes of %q", session.Refreshes, session.RefreshUID)
	}
	record, err := store.Read(t.Context(), w.db,
		func(tx *store.Tx) (audit.Record, error) { return tx.Audits.Get(t.Context(), session.RefreshUID) })
	if err != nil || record.Repeats != 3 || !record.At.Equal(start.Add(time.Minute)) || record.Origin != origin {
		t.Errorf("%+v, %v", record, err)
	}
	w.clock.move(time.Hour)
	tokens = w.mustRefresh(t, tokens.Refresh)
	if session = w.sessionOf(t, tokens); session.Refreshes != 0 || session.RefreshUID == record.UID {
		t.Errorf("in the next hour the session counts %d refreshes of %q", session.Refreshes, session.RefreshUID)
	}
	if counted := w.refreshRecords(t); len(counted) != 2 {
		t.Errorf("%v", counted)
	}
}

// Refreshes of three sessions by two ways, from two sources, at servers whose clocks differ: the records of each hour count all of them,
// also after the sessions are deleted.
func TestRecordsCountEveryRefresh(t *testing.T) {
	for end, delete := range map[string]func(*world, *testing.T){
		"sessions are deleted": func(w *world, t *testing.T) {
			w.clock.move(defaultSessionMax + 48*time.Hour) // twice what the sweeper waits
			if err := w.sweeper().Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"the user is deleted": func(w *world, t *testing.T) {
			w.mustWrite(t, func(tx *store.Tx) error { return tx.Users.Delete(t.Context(), w.org.UID, w.user.UID) })
		},
		"the organization is deleted": func(w *world, t *testing.T) {
			w.mustWrite(t, func(tx *store.Tx) error { return tx.Orgs.Delete(t.Context(), w.org.UID) })
		},
	} {
		t.Run(end, func(t *testing.T) {
			w := mustWorld(t, nil)
			want := w.refreshAtRandom(t)
			compare := func(when string) {
				t.Helper()
				got := w.refreshRecords(t)
				for key, n := range want {
					if got[key] != n {
						t.Errorf("%s: %d refreshes of %s, want %d", when, got[key], key, n)
					}
				}
				if len(got) != len(want) {
					t.Errorf("%s: %d records, want %d", when, len(got), len(want))
				}
			}
			compare("while sessions last")
			delete(w, t)
			compare("later")
			if n, err := store.Read(t.Context(), w.db, func(tx *store.Tx) (int, error) {
				list, err := tx.Sessions.OfUser(t.Context(), w.org.UID, w.user.UID, start)
				return len(list), err
			}); n != 0 || err != nil {
				t.Errorf("%d sessions are left, %v", n, err)
			}
		})
	}
}

func (w *world) refreshAtRandom(t *testing.T) (want map[string]int64) {
	t.Helper()
	random, sessions, want := rand.New(rand.NewPCG(1, 2)), make([]Tokens, 3), map[string]int64{} // #nosec G404 -- the same in each run
	for i := range sessions {
		sessions[i] = w.mustLogin(t)
	}
	for range 150 {
		w.clock.move(time.Duration(random.IntN(20)-3) * time.Minute)
		i, method := random.IntN(len(sessions)), audit.MethodRefreshToken
		from := audit.Origin{RequestID: "ref", Address: fmt.Sprintf("192.0.2.%d", random.IntN(6)/5)}
		presented := sessions[i].Refresh
		if random.IntN(4) == 0 {
			presented, method = sessions[i].Authorization, audit.MethodToken
		}
		next, err := w.Refresh(t.Context(), from, presented)
		if wasExpired := method == audit.MethodToken && err != nil; wasExpired {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		want[fmt.Sprintln(w.clock.now().Truncate(time.Hour), from.Address, w.sessionOf(t, next).UID, method)]++
		sessions[i].Authorization = next.Authorization
		if next.Refresh != "" {
			sessions[i].Refresh = next.Refresh
		}
	}
	return want
}

// Without records of refreshes, refused and repeated ones still have theirs.
func TestOmitRefreshRecords(t *testing.T) {
	w := mustWorld(t, func(c *Config) { c.OmitRefreshRecords = true })
	first := w.mustLogin(t)
	w.newAudits(t)
	second := w.mustRefresh(t, first.Refresh)
	w.mustRefresh(t, w.mustRefresh(t, w.mustLogin(t).Refresh).Refresh)
	w.mustRefresh(t, second.Authorization)
	if list := w.refreshRecords(t); len(list) != 0 {
		t.Errorf("%v", list)
	}
	w.mustRefresh(t, first.Refresh)
	w.wantRecord(t, audit.Succeeded, reasonRetried)
	w.mustRefresh(t, second.Refresh)
	w.wantRefused(t, first.Refresh, ReasonReused)
	w.wantRecord(t, audit.Refused, ReasonReused)
}

package registries

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// eachDatabase runs a test on a service that allows four validations a minute, and whose clock stands.
func eachDatabase(t *testing.T, test func(*testing.T, keeping)) {
	t.Run("SQLite", func(t *testing.T) { test(t, mustLimit(mustKeep(t))) })
	t.Run("PostgreSQL", func(t *testing.T) {
		db, url := mustOpen(t, t.TempDir(), postgres.Server(t))
		k := mustKeep(t)
		k.db, k.url = db, url
		if err := db.InTx(t.Context(), func(tx *store.Tx) error {
			return tx.Orgs.Insert(t.Context(), store.Org{UID: "org-a", Name: "A", Canonical: "a", CreatedAt: recordsStart})
		}); err != nil {
			t.Fatal(err)
		}
		test(t, mustLimit(k))
	})
}

func mustLimit(k keeping) keeping {
	k.gate = newGate(Limits{PerMinute: 4}, func() time.Time { return recordsStart })
	k.checker = &regcheck.Checker{Dialer: nowhere{}}
	return k
}

func unsynced(name string) Wanted {
	w := wanted(name)
	w.SyncSupported = false
	return w
}

// checksUntil counts the kept registries that are due for a check after so long.
func (k keeping) checksUntil(t *testing.T, after time.Duration) (n int64) {
	t.Helper()
	if err := k.db.View(t.Context(), func(tx *store.Tx) (err error) {
		n, err = tx.Watch.Count(t.Context(), recordsStart.Add(after), 1000)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// However many definitions are stored at once, their first checks begin no faster than the user could have had them validated,
// as far as this is sooner than the interval of scheduled checks. All are stored, and none makes a validation fail.
func TestFirstChecksOfManyDefinitionsAreSpread(t *testing.T) {
	eachDatabase(t, func(t *testing.T, k keeping) {
		var last string
		for i := range 100 {
			last = k.mustCreate(t, unsynced(fmt.Sprint("r", i)))
		}
		for _, step := range []struct {
			after    time.Duration
			min, max int64
		}{{0, 4, 4}, {14 * time.Second, 4, 4}, {15 * time.Second, 5, 5}, {time.Minute, 8, 8}, {7 * time.Minute, 32, 32}, {store.ContactsAhead, 100, 100}} {
			if n := k.checksUntil(t, step.after); n < step.min || n > step.max {
				t.Errorf("%d checks are due after %v, want %d", n, step.after, step.min)
			}
		}
		for i := range 5 {
			_, err := k.Check(t.Context(), k.admin, audit.Origin{}, Request{AuditUID: uuid.NewString(), Purpose: Validate,
				Definition: regcheck.Definition{Endpoint: "http://192.0.2.1", Auth: &regcheck.Auth{Type: regcheck.NoAuth}}})
			if limited := fault.KindOf(err) == fault.Limited; limited != (i == 4) {
				t.Errorf("validation %d: %v", i, err)
			}
		}
		// A user who changes one definition again and again postpones its check.
		for range 5 {
			if err := k.Replace(t.Context(), k.admin, audit.Origin{}, last, unsynced("last")); err != nil {
				t.Fatal(err)
			}
			if status, _, err := k.History(t.Context(), "org-a", last, 1, VerdictRun{}); err != nil || status.NextAt.Sub(recordsStart) < store.ContactsAhead/2 {
				t.Errorf("the check of what is changed without end is due at %v, %v", status.NextAt, err)
			}
		}
	})
}

// Synchronizations contact a registry as well, whether a change or a request schedules them.
func TestSynchronizationsOfManyDefinitionsAreSpread(t *testing.T) {
	eachDatabase(t, func(t *testing.T, k keeping) {
		dueSyncs := func(after time.Duration) (n int) {
			err := k.db.InTx(t.Context(), func(tx *store.Tx) error {
				taken, err := tx.Syncs.Claim(t.Context(), "o", recordsStart.Add(after), recordsStart.Add(time.Hour), []store.Share{{OrgUID: "org-a", Count: 99}})
				n = len(taken)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		var uids []string
		for i := range 4 {
			uids = append(uids, k.mustCreate(t, wanted(fmt.Sprint("r", i))))
		}
		if checks, syncs := k.checksUntil(t, 0), dueSyncs(0); checks+int64(syncs) != 4 {
			t.Errorf("%d checks and %d synchronizations at once, want 4 in all", checks, syncs)
		}
		waiting := uids[3]
		if err := k.Sync(t.Context(), k.admin, audit.Origin{}, waiting); err != nil {
			t.Fatal(err)
		}
		if n := dueSyncs(time.Second); n != 0 {
			t.Errorf("%d synchronizations were had by asking for them", n)
		}
		if n := dueSyncs(time.Minute); n != 2 {
			t.Errorf("%d synchronizations are due a minute later, want the two that wait: asking puts none off", n)
		}
		// Its turn would come later, but who synchronizes it now goes on.
		if err := k.Sync(t.Context(), k.admin, audit.Origin{}, waiting); err != nil {
			t.Fatal(err)
		}
		if status, err := k.SyncStatus(t.Context(), k.admin, waiting); err != nil || status.Status != store.SyncInProgress {
			t.Errorf("asked for while it runs: %+v, %v", status, err)
		}
	})
}

// A check that was scheduled while the clock was wrong counts as late, and is made when it is asked for.
func TestAWrongClockShowsAndIsOvercome(t *testing.T) {
	w := mustWatch(t)
	right := w.clock
	w.clock = right.AddDate(1, 0, 0)
	uid := w.keep("r", registry(t, func() {}))
	w.turn()
	w.clock = right
	if _, late, err := w.WatchLoad(t.Context(), w.run.Interval); late != 1 || err != nil {
		t.Errorf("%d late, %v", late, err)
	}
	if _, err := w.RequestCheck(t.Context(), auth.Operator(), audit.Origin{}, "org-a", uid); err != nil {
		t.Fatal(err)
	}
	if w.turn(); w.status(uid).LastAt != right {
		t.Errorf("not checked: %+v", w.status(uid))
	}
	if _, late, err := w.WatchLoad(t.Context(), w.run.Interval); late != 0 || err != nil {
		t.Errorf("afterwards: %d late, %v", late, err)
	}
}

// One registry that comes and goes is told of some times, and then of how it is a day later. Each change is on record.
func TestARegistryThatChangesOftenIsToldOfSeldom(t *testing.T) {
	w := mustWatch(t)
	end := func(uid string, valid bool) {
		for _, row := range w.take() {
			seen := seen{Verdict: store.Verdict{Valid: valid}}
			if !valid {
				seen.Code = "RegistryAuthFailed"
			}
			if _, err := w.run.end(t.Context(), finding{record: record{UID: uid, OrgUID: "org-a", Name: "r", Version: 1}, row: row, seen: seen}); err != nil {
				t.Fatal(err)
			}
		}
	}
	raised := func() (n int64) {
		w.clock = w.clock.Add(100 * 24 * time.Hour)
		defer func() { w.clock = w.clock.Add(-100 * 24 * time.Hour) }()
		if err := w.db.InTx(t.Context(), func(tx *store.Tx) (err error) {
			n, err = tx.Outbox.DeleteBefore(t.Context(), w.clock, 1000)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	uid := w.keep("r", "https://r.example.com")
	for i := range 30 {
		end(uid, i%2 == 1)
		w.clock = w.clock.Add(20 * time.Minute)
	}
	if n := raised(); n != toldMost {
		t.Errorf("%d alerts of 30 changes, want %d", n, toldMost)
	}
	changes := 0
	for _, line := range w.recorded(t) {
		if line == "registry.watch valid by service" || line == "registry.watch notValid by service RegistryAuthFailed" {
			changes++
		}
	}
	if changes != 30 {
		t.Errorf("%d of 30 changes are on record: %v", changes, w.recorded(t))
	}
	w.clock = recordsStart.Add(toldWithin)
	for range 3 {
		end(uid, true)
		w.clock = w.clock.Add(20 * time.Minute)
	}
	if n := raised(); n != 1 {
		t.Errorf("%d alerts a day later, want one of how it ended", n)
	}
}

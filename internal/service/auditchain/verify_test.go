package auditchain_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auditchain"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/store"
)

var chainTables = []string{"audits", "audit_unlinked", "audit_batches", "audit_chain"}

// TestVerifyNamesWhatWasChanged changes the database in one way after the other, and undoes it.
func TestVerifyNamesWhatWasChanged(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		first, second, other := login("org-a", start), login("org-a", start.Add(time.Second)), login("org-b", start.Add(2*time.Second))
		check := login("org-a", start.Add(3*time.Second))
		check.Action, check.Outcome = audit.RegistryValidate, audit.Started
		refused := refusal(start.Add(5 * time.Minute))
		refused.UID = audit.SharedUID(refused)
		anonymous := login("", start.Add(10*time.Minute))
		mustWrite(t, f.DB, first, second, other, check, refused, refused, anonymous)
		mustExec(t, f, `CREATE TABLE former AS SELECT * FROM audit_unlinked`)
		complete(t, f.DB, check.UID)
		mustLink(t, f.DB, start.Add(5*time.Minute)) // all but the last two
		mustLink(t, f.DB, start.Add(20*time.Minute))
		waits, running := login("org-a", start.Add(time.Hour)), login("org-a", start.Add(time.Hour))
		running.Outcome = audit.Started
		mustWrite(t, f.DB, waits, running)
		if r := wantRecords(t, f.DB, 6, 2); r.Orgs != 2 || r.Batches < 4 || r.Before != 0 {
			t.Errorf("%+v", r)
		}
		for _, table := range chainTables {
			mustExec(t, f, fmt.Sprintf("CREATE TABLE saved_%s AS SELECT * FROM %[1]s", table))
		}
		newUID := uuid.NewString()
		row := func(r audit.Record) string { return "WHERE uid = '" + r.UID + "'" }
		set := func(r audit.Record, what string) string { return "UPDATE audits SET " + what + " " + row(r) }
		copied := func(uid string) string {
			return `INSERT INTO audits (uid, at, actor_name, means, action, object, outcome, reason, request_id, address)
				SELECT '` + uid + `', at, actor_name, means, action, object, outcome, reason, request_id, address FROM audits ` +
				row(second)
		}
		for name, row := range map[string]struct {
			script string
			kind   string
			record audit.Record // empty: not a record
		}{
			"actor":              {set(second, "actor_name = 'eve@example.com'"), auditchain.RecordChanged, second},
			"actor's uid":        {set(second, "actor_uid = NULL"), auditchain.RecordChanged, second},
			"action":             {set(second, "action = 'auth.refresh'"), auditchain.RecordChanged, second},
			"means":              {set(second, "means = 'cli'"), auditchain.RecordChanged, second},
			"object":             {set(second, "object = 'x'"), auditchain.RecordChanged, second},
			"target":             {set(second, "target = NULL"), auditchain.RecordChanged, second},
			"outcome":            {set(second, "outcome = 'refused'"), auditchain.RecordChanged, second},
			"reason":             {set(refused, "reason = ''"), auditchain.RecordChanged, refused},
			"request":            {set(second, "request_id = ''"), auditchain.RecordChanged, second},
			"address":            {set(second, "address = '192.0.2.2'"), auditchain.RecordChanged, second},
			"report":             {set(check, "report = NULL"), auditchain.RecordChanged, check},
			"back to started":    {set(check, "outcome = 'started', reason = '', report = NULL"), auditchain.RecordChanged, check},
			"repeats":            {set(refused, "repeats = 0"), auditchain.RecordChanged, refused},
			"other organization": {set(other, "org_uid = 'org-a'"), auditchain.RecordChanged, other},
			"no organization":    {set(other, "org_uid = NULL"), auditchain.RecordChanged, other},
			"time":               {set(second, "at = at + 1"), auditchain.RecordChanged, second},
			"time long ago":      {set(second, "at = 1"), auditchain.RecordChanged, second},
			"order":              {set(first, "at = at + 1000") + ";" + set(second, "at = at - 1000"), auditchain.RecordChanged, first},
			"deleted":            {"DELETE FROM audits " + row(second), auditchain.RecordDeleted, second},
			"deleted, the first": {"DELETE FROM audits " + row(first), auditchain.RecordDeleted, first},
			"deleted, the last":  {"DELETE FROM audits " + row(anonymous), auditchain.RecordDeleted, anonymous},
			"two, the older": {"DELETE FROM audits " + row(anonymous) + ";" + set(first, "object = 'x'"),
				auditchain.RecordChanged, first},
			"inserted": {copied(newUID), auditchain.RecordAdded, audit.Record{UID: newUID}},
			"inserted with the mac": {copied(newUID) + `; INSERT INTO audit_unlinked (uid, ready_at, mac) SELECT '` + newUID +
				`', 0, mac FROM former ` + row(second), auditchain.RecordChanged, audit.Record{UID: newUID}},
			"linked anew": {set(check, "report = NULL") +
				`; INSERT INTO audit_unlinked (uid, ready_at, mac) SELECT uid, 0, mac FROM former ` + row(check),
				auditchain.RecordChanged, check},
			"not linked, changed": {set(waits, "outcome = 'refused'"), auditchain.RecordChanged, waits},
			"not linked, deleted": {"DELETE FROM audits " + row(waits), auditchain.RecordDeleted, waits},
			"running, changed":    {set(running, "actor_name = 'eve@example.com'"), auditchain.RecordChanged, running},
			"replaced by another": {"DELETE FROM audits " + row(second) + "; UPDATE audits SET uid = '" + second.UID + "' " + row(first),
				auditchain.RecordDeleted, first},
			"batch deleted":       {"DELETE FROM audit_batches WHERE number = 2", auditchain.RecordAdded, other},
			"first batch deleted": {"DELETE FROM audit_batches WHERE number = 1", auditchain.RecordAdded, first},
			"batch and its records": {"DELETE FROM audit_batches WHERE number = 1; DELETE FROM audits WHERE org_uid = 'org-a' AND at < " +
				"1795262405000", auditchain.BatchDeleted, audit.Record{}},
			"batch moved": {"UPDATE audit_batches SET number = -number; UPDATE audit_batches SET number = 4 + number + 1 WHERE " +
				"number < 0", auditchain.BatchChanged, audit.Record{}},
			"batch of another": {"UPDATE audit_batches SET org_uid = 'org-b' WHERE number = 1",
				auditchain.BatchChanged, audit.Record{}},
			"batch without entries": {"UPDATE audit_batches SET entries = '' WHERE number = 1", auditchain.RecordAdded, first},
			"hash":                  {"UPDATE audit_batches SET hash = previous WHERE number = 4", auditchain.BatchChanged, audit.Record{}},
			"chain deleted":         {"DELETE FROM audit_chain", auditchain.ChainChanged, audit.Record{}},
			"chain begins later":    {"UPDATE audit_chain SET began_at = 1900000000000", auditchain.ChainChanged, audit.Record{}},
			"retention":             {"UPDATE audit_chain SET swept_before = 1900000000000", auditchain.ChainChanged, audit.Record{}},
			"retention of batches": {"DELETE FROM audit_batches WHERE number = 1; UPDATE audit_chain SET swept_batches = 1",
				auditchain.ChainChanged, audit.Record{}},
			"without a chain": {"DELETE FROM audit_chain; DELETE FROM audit_batches", auditchain.NotBegun, audit.Record{}},
		} {
			t.Run(name, func(t *testing.T) {
				mustExec(t, f, row.script)
				want := row.kind + " " + row.record.UID
				for _, when := range []string{"at once", "after servers went on"} {
					r := mustVerify(t, f.DB, nil)
					if got := r.First.Kind + " " + r.First.RecordUID; r.Problems == 0 || got != want {
						t.Errorf("%s: %d problems, the first %q at %v, want %q", when, r.Problems, got, r.First.At, want)
					}
					if row.kind == auditchain.NotBegun { // a server begins another: docs/users.md
						break
					}
					_ = linker(f.DB, start.Add(2*time.Hour)).Link(t.Context()) // fails where the chain is not its own
				}
				for _, table := range chainTables {
					mustExec(t, f, fmt.Sprintf("DELETE FROM %s; INSERT INTO %[1]s SELECT * FROM saved_%[1]s", table))
				}
			})
		}
		wantRecords(t, f.DB, 6, 2)
	})
}

func complete(t *testing.T, db *store.DB, uid string) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.Audits.Complete(t.Context(), uid, audit.NotValid, "RegistryTLSFailed", []byte(`{"valid":false}`))
	}); err != nil {
		t.Fatal(err)
	}
}

// The end of the chain can be cut off by somebody who also deletes its records. A hash that was noted outside of the database shows it.
func TestNotedHash(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		mustWrite(t, f.DB, login("org-a", start))
		mustLink(t, f.DB, later)
		former := wantRecords(t, f.DB, 1, 0).Newest.Hash
		cut := login("org-a", start.Add(time.Minute))
		mustWrite(t, f.DB, cut)
		mustLink(t, f.DB, later)
		noted := wantRecords(t, f.DB, 2, 0).Newest.Hash
		if r := mustVerify(t, f.DB, former); r.Problems != 0 {
			t.Errorf("%+v", r)
		}
		mustExec(t, f, "DELETE FROM audits WHERE uid = '"+cut.UID+"'; DELETE FROM audit_batches WHERE number = 2")
		if r := mustVerify(t, f.DB, nil); r.Problems != 0 {
			t.Errorf("docs/users.md says that this is not found, but it is: %+v", r.First)
		}
		if r := mustVerify(t, f.DB, noted); r.Problems != 1 || r.First.Kind != auditchain.HashNotFound {
			t.Errorf("%+v", r)
		}
	})
}

// No hash can be computed without the key: another store with the same records has others.
func TestHashesAreKeyed(t *testing.T) {
	record := login("org-a", start)
	var hashes []string
	for range 2 {
		db, err := store.Open(t.Context(), store.Options{DataDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		mustWrite(t, db, record)
		mustLink(t, db, later)
		hashes = append(hashes, hex.EncodeToString(wantRecords(t, db, 1, 0).Newest.Hash))
	}
	if hashes[0] == hashes[1] || len(hashes[0]) != 64 || strings.Trim(hashes[0], "0") == "" {
		t.Errorf("%v", hashes)
	}
}

// Retention deletes records and batches, and only what it deleted may be missing.
func TestRetention(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		for i := range 10 {
			mustWrite(t, f.DB, login("org-a", start.Add(time.Duration(i)*time.Hour)))
			mustLink(t, f.DB, later.Add(time.Duration(i)*time.Minute))
		}
		young, early := login("org-a", start.Add(9*time.Hour)), login("org-b", start) // in one batch: written when a clock was behind
		mustWrite(t, f.DB, young, early)
		mustLink(t, f.DB, later.Add(time.Hour))
		noted := wantRecords(t, f.DB, 12, 0).Newest.Hash
		sweep := func(before time.Time) { t.Helper(); mustSweep(t, f.DB, before) }
		deleteBefore := func(before time.Time) { t.Helper(); mustDeleteBefore(t, f.DB, before) }
		sweep(start.Add(7 * time.Hour))
		if r := mustVerify(t, f.DB, noted); r.Problems != 0 { // killed before the records were deleted
			t.Errorf("%+v", r.First)
		}
		deleteBefore(start.Add(7 * time.Hour))
		if r := wantRecords(t, f.DB, 4, 0); r.Batches != 5 {
			t.Errorf("%d batches are left, want 5", r.Batches)
		}
		sweep(start) // the clock went back, or the retention time was extended
		if r := mustVerify(t, f.DB, noted); r.Problems != 0 {
			t.Errorf("%+v", r.First)
		}
		deleteBefore(start.Add(8 * time.Hour)) // by somebody else
		if r := mustVerify(t, f.DB, noted); r.Problems != 1 || r.First.Kind != auditchain.RecordDeleted {
			t.Errorf("%d problems, %+v", r.Problems, r.First)
		}
		mustExec(t, f, "DELETE FROM audit_batches WHERE number < 9") // with its batch
		if r := mustVerify(t, f.DB, noted); r.Problems != 1 || r.First.Kind != auditchain.BatchDeleted {
			t.Errorf("%d problems, %+v", r.Problems, r.First)
		}
		sweep(start.Add(9*time.Hour + time.Minute)) // retention does not hide it
		deleteBefore(start.Add(8*time.Hour + time.Minute))
		if r := mustVerify(t, f.DB, noted); r.Problems == 0 || r.First.Kind != auditchain.BatchDeleted {
			t.Errorf("%d problems, %+v", r.Problems, r.First)
		}
	})
}

// A server whose clock is years ahead deletes all records, except those that it writes. What is deleted after it was corrected is found.
func TestRetentionAfterAClockWasAhead(t *testing.T) {
	ahead := start.AddDate(4, 0, 0)
	for left, newest := range []time.Time{start.Add(time.Hour), ahead.AddDate(1, 0, 0)} {
		registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
			write := func(at time.Time) { t.Helper(); mustWrite(t, f.DB, login("org-a", at)); mustLink(t, f.DB, at) }
			write(start)
			write(newest)
			mustSweep(t, f.DB, ahead)
			mustDeleteBefore(t, f.DB, ahead)
			wantRecords(t, f.DB, int64(left), 0)
			for i := range 3 {
				write(later.Add(time.Duration(i) * time.Hour))
			}
			mustSweep(t, f.DB, start)
			if r := wantRecords(t, f.DB, int64(left)+3, 0); r.Batches != 4 {
				t.Errorf("%d batches are left, want 4", r.Batches)
			}
			mustDeleteBefore(t, f.DB, later.Add(time.Minute)) // by somebody else
			if r := mustVerify(t, f.DB, nil); r.Problems != 1 || r.First.Kind != auditchain.RecordDeleted {
				t.Errorf("%d problems, %+v", r.Problems, r.First)
			}
		})
	}
}

// Records are added, linked and swept during a verification.
func TestVerifyWhileServersRun(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		mustLink(t, f.DB, start)
		done := make(chan error, 1)
		go func() { done <- work(t.Context(), f.DB) }()
		for verified := 1; ; verified++ {
			if r := mustVerify(t, f.DB, nil); r.Problems != 0 {
				t.Errorf("after %d records: %+v", r.Records, r.First)
			}
			select {
			case err := <-done:
				if r := mustVerify(t, f.DB, nil); err != nil || r.Problems != 0 || r.Records == 0 || verified < 3 {
					t.Errorf("%v after %d verifications of %d records, %+v", err, verified, r.Records, r.First)
				}
				return
			default:
			}
		}
	})
}

// The batch of an organization that had none left, after the retention time, does not name the one that was read before.
func TestVerifyWhileTheRetentionTimeDeletes(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		for _, c := range []struct {
			name     string
			delete   func(*store.Tx) error
			problems bool
		}{
			{"by the service", func(tx *store.Tx) error { _, err := tx.Audits.Sweep(t.Context(), later, 1); return err }, false},
			{"by somebody else", func(*store.Tx) error { return nil }, true},
		} {
			t.Run(c.name, func(t *testing.T) {
				org := "org-" + c.name
				for i, of := range []string{org, "org-b"} {
					mustWrite(t, f.DB, login(of, start.Add(time.Duration(i)*time.Second)))
					mustLink(t, f.DB, later)
				}
				r, err := auditchain.VerifyDuring(t.Context(), f.DB, func() {
					if err := f.DB.InTx(t.Context(), c.delete); err != nil {
						t.Fatal(err)
					}
					mustExec(t, f, "DELETE FROM audit_batches WHERE org_uid = '"+org+"'")
					mustExec(t, f, "DELETE FROM audits WHERE org_uid = '"+org+"'")
					mustWrite(t, f.DB, login(org, later))
					mustLink(t, f.DB, later)
				})
				if err != nil || (r.Problems > 0) != c.problems {
					t.Errorf("%v, %d problems, the first %+v", err, r.Problems, r.First)
				}
			})
		}
	})
}

const workRecords = 500

// work writes, links and sweeps.
func work(ctx context.Context, db *store.DB) error {
	for i := range workRecords {
		now := time.Now()
		r := login("org-"+string("ab"[i%2]), now)
		if err := db.InTx(ctx, func(tx *store.Tx) error { return tx.Audits.Append(ctx, r) }); err != nil {
			return err
		}
		if err := linker(db, now).Link(ctx); err != nil {
			return err
		}
		if i%20 != 19 {
			continue
		}
		before := now.Add(-100 * time.Millisecond)
		for _, step := range []func(*store.Tx) error{
			func(tx *store.Tx) error { _, err := tx.Audits.Sweep(ctx, before, 100); return err },
			func(tx *store.Tx) error { _, err := tx.Audits.DeleteBefore(ctx, before, 1000); return err },
		} {
			time.Sleep(5 * time.Millisecond)
			if err := db.InTx(ctx, step); err != nil {
				return err
			}
		}
	}
	return nil
}

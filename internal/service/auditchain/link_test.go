package auditchain_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/datamigration"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/storetest"
	"github.com/regwarden/regwarden/secret"
)

// A record is linked when it changes no more.
func TestRecordsAreLinkedWhenComplete(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		check, crashed := login("org-a", start), login("org-a", start)
		check.Outcome, crashed.Outcome = audit.Started, audit.Started
		mustWrite(t, f.DB, login("org-a", start), check, crashed, refusal(start), login("org-a", start.Add(time.Hour)))
		mustLink(t, f.DB, start)
		wantRecords(t, f.DB, 1, 4)
		mustWrite(t, f.DB, refusal(start)) // counted by the first one
		complete(t, f.DB, check.UID)
		mustLink(t, f.DB, start.Add(time.Second))
		wantRecords(t, f.DB, 2, 3)
		mustLink(t, f.DB, start.Add(3*time.Minute))
		wantRecords(t, f.DB, 3, 2)
		mustLink(t, f.DB, start.Add(2*time.Hour)) // the clock that was an hour ahead
		wantRecords(t, f.DB, 4, 1)
		mustLink(t, f.DB, start.Add(25*time.Hour))
		wantRecords(t, f.DB, 5, 0)

		mustWrite(t, f.DB, refusal(start)) // by a server whose clock is a day behind
		mustWrite(t, f.DB, login("org-a", start.Add(-time.Hour)))
		mustLink(t, f.DB, start.Add(26*time.Hour))
		wantRecords(t, f.DB, 6, 0)
	})
}

// The records of a store that is upgraded are not in the chain, nor those that servers of the former version write for an hour.
func TestUpgrade(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		mustWrite(t, f.DB, login("org-a", start), login("org-a", start))
		mustExec(t, f, "DELETE FROM audit_unlinked")
		mustLink(t, f.DB, start)
		formerVersion := login("org-a", start.Add(59*time.Minute))
		mustWrite(t, f.DB, formerVersion)
		mustExec(t, f, "DELETE FROM audit_unlinked")
		mustWrite(t, f.DB, login("org-a", start), login("org-a", start.Add(2*time.Hour)))
		mustLink(t, f.DB, later)
		if r := wantRecords(t, f.DB, 2, 0); r.Before < 3 || !r.BeganAt.Equal(start.Add(time.Hour)) {
			t.Errorf("%d records are from before %v", r.Before, r.BeganAt)
		}
		mustWrite(t, f.DB, login("org-a", start.Add(time.Hour)))
		mustExec(t, f, "DELETE FROM audit_unlinked")
		if r := mustVerify(t, f.DB, nil); r.Problems != 1 {
			t.Errorf("%d problems, want one: a record after the hour that no server linked", r.Problems)
		}
	})
}

// Several servers write and link at once. Every record is in one batch, and no server waits for another's batch.
func TestManyServers(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		const servers, records = 4, 60
		var running sync.WaitGroup
		failed := make(chan error, 2*servers)
		for server := range servers {
			running.Go(func() {
				for i := range records {
					r := login(fmt.Sprintf("org-%d", i%3), start.Add(time.Duration(i)*time.Second))
					if err := f.DB.InTx(t.Context(), func(tx *store.Tx) error { return tx.Audits.Append(t.Context(), r) }); err != nil {
						failed <- fmt.Errorf("server %d: %w", server, err)
						return
					}
				}
			})
			running.Go(func() {
				for range records {
					if err := linker(f.DB, later).Link(t.Context()); err != nil {
						failed <- fmt.Errorf("linker %d: %w", server, err)
						return
					}
				}
			})
		}
		running.Wait()
		close(failed)
		for err := range failed {
			t.Error(err)
		}
		mustLink(t, f.DB, later)
		r := wantRecords(t, f.DB, servers*records, 0)
		batches, entries := mustBatches(t, f.DB)
		if batches != r.Batches || entries != servers*records || r.Orgs != 3 {
			t.Errorf("%d batches have %d entries of %d organizations", batches, entries, r.Orgs)
		}
	})
}

func mustBatches(t *testing.T, db *store.DB) (batches, entries int64) {
	t.Helper()
	if err := db.View(t.Context(), func(tx *store.Tx) error {
		list, err := tx.Audits.Batches(t.Context(), 0, 10_000)
		for _, b := range list {
			batches++
			entries += int64(len(b.Entries))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return batches, entries
}

// More records than a transaction links are linked at once, and the lag is that of the oldest.
func TestManyRecords(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		records := make([]audit.Record, 1000)
		for i := range records {
			records[i] = login("org-a", start.Add(time.Duration(i)*time.Second))
		}
		mustWrite(t, f.DB, records...)
		l := linker(f.DB, start.Add(time.Hour))
		if newest, lag, err := l.Lag(t.Context()); newest != -1 || lag != time.Hour || err != nil {
			t.Errorf("batch %d, a lag of %v, %v", newest, lag, err)
		}
		if err := l.Link(t.Context()); err != nil {
			t.Fatal(err)
		}
		if newest, lag, err := l.Lag(t.Context()); newest != 5 || lag != 0 || err != nil {
			t.Errorf("batch %d, a lag of %v, %v", newest, lag, err)
		}
		wantRecords(t, f.DB, 1000, 0)
		mustExec(t, f, "ALTER TABLE audit_batches RENAME TO away")
		if err := l.Link(t.Context()); err == nil {
			t.Error("batches are read that are away")
		}
		if newest, _, err := l.Lag(t.Context()); newest != 5 || err != nil {
			t.Errorf("batch %d, %v, after the newest one could not be read", newest, err)
		}
	})
}

// A record that somebody inserted stops no other from being linked.
func TestForgedRecordsDoNotStopTheChain(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		forged := make([]audit.Record, 450)
		for i := range forged {
			forged[i] = login("org-b", start)
		}
		mustWrite(t, f.DB, forged...)
		mustExec(t, f, "UPDATE audits SET actor_name = 'eve@example.com'")
		mustWrite(t, f.DB, login("org-a", start))
		mustLink(t, f.DB, later)
		if r := mustVerify(t, f.DB, nil); r.Records != 1 || r.Problems != int64(len(forged)) {
			t.Errorf("%d records fit, %d problems", r.Records, r.Problems)
		}
	})
}

// A chain is the same one after its store was copied to PostgreSQL, and a server continues it there.
func TestChainIsCopiedToPostgres(t *testing.T) {
	f := registriestest.New(t, nil)
	mustWrite(t, f.DB, login("org-a", start), login("org-b", start), refusal(start))
	mustLink(t, f.DB, later)
	waits := login("org-a", later)
	mustWrite(t, f.DB, waits)
	noted := wantRecords(t, f.DB, 3, 1).Newest.Hash
	if err := f.DB.Close(); err != nil {
		t.Fatal(err)
	}
	to := store.Options{DatabaseURL: secret.String(postgres.Server(t).NewDatabase(t)), MasterKeyFile: filepath.Join(f.Dir, "master.key"),
		Timeout: storetest.LongTimeout}
	if _, err := datamigration.CopyToPostgres(t.Context(), store.Options{DataDir: f.Dir}, to, nil); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	wantRecords(t, db, 3, 1)
	mustLink(t, db, later)
	wantRecords(t, db, 4, 0)
	if r := mustVerify(t, db, noted); r.Problems != 0 {
		t.Errorf("%+v", r.First)
	}
}

// A transaction that writes a record does not wait for a lock on the chain.
func TestWritersDoNotWaitForTheChain(t *testing.T) {
	f := registriestest.New(t, postgres.Server(t))
	mustWrite(t, f.DB, login("org-a", start))
	mustLink(t, f.DB, later)
	pool, err := sql.Open("pgx", f.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	held, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.ExecContext(t.Context(),
		"LOCK TABLE audit_batches, audit_chain IN ACCESS EXCLUSIVE MODE; SELECT * FROM audit_unlinked FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	check := login("org-a", start)
	check.Outcome = audit.Started
	mustWrite(t, f.DB, login("org-a", start), refusal(start), check)
	mustWrite(t, f.DB, refusal(start))
	complete(t, f.DB, check.UID)
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	mustLink(t, f.DB, later)
	wantRecords(t, f.DB, 4, 0)
}

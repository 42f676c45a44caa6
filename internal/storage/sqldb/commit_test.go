package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// A change is acknowledged only after its commit: when the database refuses that, as here for a deferred constraint, the caller
// gets the error, and later changes succeed.
func TestRefusedCommitIsAnError(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { refusedCommit(t, mustOpen(t, Options{Dir: t.TempDir()})) })
	t.Run("PostgreSQL", func(t *testing.T) { refusedCommit(t, mustOpenURL(t, shared.Server(t).NewDatabase(t))) })
}

func refusedCommit(t *testing.T, db *DB) {
	refusedCommitOf(t, db, db.Autocommit, func(error) {}) // its commit may be part of the statement
	refusedCommitOf(t, db, db.InTx, func(err error) {
		if err != nil {
			t.Errorf("the statement was refused, not the commit: %v", err)
		}
	})
}

func refusedCommitOf(t *testing.T, db *DB, inTx func(context.Context, func(Querier) error) error, check func(error)) {
	err := inTx(t.Context(), func(q Querier) error {
		_, err := q.Exec(t.Context(), "INSERT INTO aliases (name) VALUES ('missing')", nil)
		check(err)
		return err
	})
	if err == nil {
		t.Error("a change that was not committed was acknowledged")
	}
	if err := insertSingle(t, db, uuid.NewString()); err != nil {
		t.Errorf("the next change: %v", err)
	}
}

// insertSingle inserts a name with a statement that commits itself.
func insertSingle(t *testing.T, db *DB, name string) error {
	return db.Autocommit(t.Context(), func(q Querier) error { return insertName(t.Context(), q, name) })
}

// TestAutocommit stores what one statement changes, and refuses work with several on PostgreSQL, where each would commit on its own.
func TestAutocommit(t *testing.T) {
	for name, db := range map[string]*DB{"SQLite": mustOpen(t, Options{Dir: t.TempDir()}),
		"PostgreSQL": mustOpenURL(t, shared.Server(t).NewDatabase(t))} {
		if err := insertSingle(t, db, "one"); err != nil || !nameExists(t, db, "one") {
			t.Errorf("%s: not stored, %v", name, err)
		}
		if err := insertSingle(t, db, "one"); !errors.Is(err, ErrExists) {
			t.Errorf("%s: again: %v", name, err)
		}
		returned := ""
		if err := db.Autocommit(t.Context(), func(q Querier) (err error) {
			returned, err = queryText(t.Context(), q, "UPDATE names SET name = 'two' WHERE name = 'one' RETURNING name")
			return err
		}); err != nil || returned != "two" || !nameExists(t, db, "two") {
			t.Errorf("%s: returned %q, %v", name, returned, err)
		}
	}
	db := mustOpenURL(t, shared.Server(t).NewDatabase(t))
	for _, second := range []func(Querier) error{
		func(q Querier) error { return insertName(t.Context(), q, "second") },
		func(q Querier) error {
			return q.ExecDeferred(t.Context(), "INSERT INTO names (name) VALUES ('second')", nil)
		},
	} {
		err := db.Autocommit(t.Context(), func(q Querier) error {
			return errors.Join(insertName(t.Context(), q, uuid.NewString()), second(q))
		})
		if !errors.Is(err, errSeveral) || nameExists(t, db, "second") {
			t.Errorf("two statements: %v", err)
		}
	}
}

func TestSingleStatementIsRepeatedAfterADeadlock(t *testing.T) {
	url := shared.Server(t).NewDatabase(t)
	db := mustOpenURL(t, url)
	runs := 0
	err := db.Autocommit(t.Context(), func(q Querier) error {
		runs++
		_, err := q.Exec(t.Context(), `DO $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '40P01'; END $$`, nil)
		return err
	})
	if err == nil || runs != 1+maxTries { // shared, then alone
		t.Errorf("%d runs, %v", runs, err)
	}
}

// Statements that arrive while others are run share a transaction. One that fails does not affect the others.
func TestStatementsShareATransaction(t *testing.T) {
	const statements = 40
	db := mustOpenURL(t, shared.Server(t).NewDatabase(t))
	if err := insertSingle(t, db, "there"); err != nil {
		t.Fatal(err)
	}
	for _, failing := range []bool{false, true} {
		var running sync.WaitGroup
		held, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, sharers)
		for range sharers { // each runs a statement until all others wait
			running.Go(func() {
				ended <- db.Autocommit(t.Context(), func(q Querier) error {
					return q.Each(t.Context(), "SELECT 1", nil, func(Scanner) error {
						held <- struct{}{}
						<-release
						return nil
					})
				})
			})
			select {
			case <-held:
			case err := <-ended:
				close(release)
				t.Fatalf("a statement that waits: %v", err)
			}
		}
		transactions := make([]string, statements)
		for i := range statements {
			running.Go(func() {
				name := fmt.Sprintf("%v %d", failing, i)
				if failing && i == 7 {
					name = "there"
				}
				err := db.Autocommit(t.Context(), func(q Querier) (err error) {
					transactions[i], err = queryText(t.Context(), q,
						"INSERT INTO names (name) VALUES ('"+name+"') RETURNING CAST(pg_current_xact_id() AS TEXT)")
					return err
				})
				if wrong := name == "there"; wrong != errors.Is(err, ErrExists) || !wrong && (err != nil || !nameExists(t, db, name)) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		for len(db.engine.(*postgres).sharer.queue) < statements && len(ended) == 0 {
			time.Sleep(time.Millisecond)
		}
		close(release)
		running.Wait()
		for range sharers {
			if err := <-ended; err != nil {
				t.Errorf("a statement that waits: %v", err)
			}
		}
		slices.Sort(transactions)
		if n := len(slices.Compact(transactions)); !failing && n > 2*sharers {
			t.Errorf("%d statements took %d transactions", statements, n)
		}
	}
}

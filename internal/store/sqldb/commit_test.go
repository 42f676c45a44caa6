package sqldb

import "testing"

// A change is acknowledged only after its commit: when the database refuses that, as here for a deferred constraint, the caller
// gets the error, and later changes succeed.
func TestRefusedCommitIsAnError(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { refusedCommit(t, mustOpen(t, Options{Dir: t.TempDir()})) })
	t.Run("PostgreSQL", func(t *testing.T) { refusedCommit(t, mustOpenURL(t, shared.Server(t).NewDatabase(t))) })
}

func refusedCommit(t *testing.T, db *DB) {
	err := db.InTx(t.Context(), func(q Querier) error {
		_, err := q.Exec(t.Context(), "INSERT INTO aliases (name) VALUES ('missing')", nil)
		if err != nil {
			t.Errorf("the statement was refused, not the commit: %v", err)
		}
		return err
	})
	if err == nil {
		t.Error("a change that was not committed was acknowledged")
	}
	if err := insertAlone(t, db, "after"); err != nil {
		t.Errorf("the next change: %v", err)
	}
}

package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// TestLeaverHarmsNoNeighbour has a caller go away while its statement runs, in one commit with another's change.
func TestLeaverHarmsNoNeighbour(t *testing.T) {
	db, err := Open(t.Context(), Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	const long = `INSERT INTO changes (seq, subject, at) WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT i, 'x', 1 FROM n`
	hold, leaving := make(chan struct{}), make(chan struct{})
	gone, leave := context.WithCancel(t.Context())
	queue := db.database.(*sqliteDB).writer.queue
	var all sync.WaitGroup
	var neighbour, leaver error
	queued := func(jobs int) {
		for len(queue) < jobs {
			time.Sleep(time.Millisecond)
		}
	}
	begun := make(chan struct{})
	all.Go(func() {
		_ = db.InTx(t.Context(), func(*Tx) error {
			close(begun)
			<-hold
			return nil
		})
	})
	<-begun // the next ones share a commit
	all.Go(func() {
		neighbour = db.InTx(t.Context(), func(tx *Tx) error { return tx.Changes.Note(t.Context(), "neighbour") })
	})
	queued(1)
	all.Go(func() {
		leaver = db.InTx(gone, func(tx *Tx) error {
			close(leaving)
			_, err := tx.change(gone, long)
			return err
		})
	})
	queued(2)
	all.Go(func() {
		<-leaving
		time.Sleep(20 * time.Millisecond)
		leave()
	})
	close(hold)
	all.Wait()
	if neighbour != nil {
		t.Errorf("the neighbour was told %v", neighbour)
	}
	if leaver != nil && !errors.Is(leaver, context.Canceled) {
		t.Errorf("who left was told %v", leaver)
	}
}

package sqldb

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// TestCanceledCallerDoesNotAffectOthers cancels a caller while its statement runs, in one commit with another transaction.
func TestCanceledCallerDoesNotAffectOthers(t *testing.T) {
	db := mustOpen(t, Options{Dir: t.TempDir()})
	const long = `INSERT INTO names (name) WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT ` +
		`i FROM n`
	hold, leaving := make(chan struct{}), make(chan struct{})
	gone, leave := context.WithCancel(t.Context())
	queue := db.engine.(*sqliteDB).writer.queue
	var all sync.WaitGroup
	var other, leaver error
	queued := func(jobs int) {
		for len(queue) < jobs {
			time.Sleep(time.Millisecond)
		}
	}
	begun := make(chan struct{})
	all.Go(func() {
		_ = db.InTx(t.Context(), func(Querier) error {
			close(begun)
			<-hold
			return nil
		})
	})
	<-begun // the next ones share a commit
	all.Go(func() {
		other = db.InTx(t.Context(), func(q Querier) error { return insertName(t.Context(), q, "other") })
	})
	queued(1)
	all.Go(func() {
		leaver = db.InTx(gone, func(q Querier) error {
			close(leaving)
			_, err := q.Exec(gone, long, nil)
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
	if other != nil {
		t.Errorf("the other transaction: %v", other)
	}
	if leaver != nil && !errors.Is(leaver, context.Canceled) {
		t.Errorf("the caller that left: %v", leaver)
	}
}

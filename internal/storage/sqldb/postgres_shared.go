package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	sharers   = 2  // shared transactions at the same time: statements that arrive in the meantime share the next one
	maxShared = 64 // statements in one
)

var (
	// errAlone is returned for a statement that has to run in a transaction of its own: another one of the shared transaction failed, and
	// nothing of it was stored.
	errAlone   = errors.New("the shared transaction was rolled back")
	errSeveral = errors.New("a transaction of a single statement has several, or a deferred one")
)

// sharer runs single statements. Those that wait at the same time share a transaction of one round trip, and so one flush of the
// write-ahead log and few system calls, as transactions share the commits of SQLite's writer. Each is acknowledged after the commit.
type sharer struct {
	db      *postgres
	queue   chan *single
	stop    chan struct{}
	once    sync.Once
	running sync.WaitGroup
}

// single is a statement in the queue. Its state decides once whether it is sent or its caller leaves.
type single struct {
	statement
	until   time.Time
	scan    func(Scanner) error // nil for one that returns no rows
	changed int64
	err     error
	state   atomic.Int32 // jobWaiting, jobTaken or jobAbandoned
	done    chan struct{}
}

func newSharer(db *postgres) *sharer {
	h := &sharer{db: db, queue: make(chan *single, maxAcquiring), stop: make(chan struct{})}
	for range sharers {
		h.running.Go(h.loop)
	}
	return h
}

func (h *sharer) close() {
	h.once.Do(func() { close(h.stop) })
	h.running.Wait()
}

func (h *sharer) loop() {
	for {
		select {
		case <-h.stop:
			return
		case first := <-h.queue:
			if batch := h.take(first); len(batch) > 0 {
				h.run(batch)
			}
		}
	}
}

// take returns the statements that wait, except those whose callers left.
func (h *sharer) take(next *single) (batch []*single) {
	for {
		if next.state.CompareAndSwap(jobWaiting, jobTaken) {
			batch = append(batch, next)
		}
		if len(batch) == maxShared {
			return batch
		}
		select {
		case next = <-h.queue:
		default:
			return batch
		}
	}
}

func (h *sharer) run(batch []*single) {
	t := &pgTx{db: h.db, begun: !h.db.pooling.Load().transactions} // without BEGIN the round trip is the transaction
	err := h.db.attempt(context.Background(), batch[0].until, t, func(Querier) error { return t.runShared(batch) })
	for _, s := range batch {
		s.err = cmp.Or(err, s.err)
		close(s.done)
	}
}

// runShared sends the statements and their commit in one round trip.
func (t *pgTx) runShared(batch []*single) error {
	statements, explicit, before := make([]statement, 0, len(batch)+1), !t.begun, warnings(t.conn.PgConn())
	for _, s := range batch {
		statements = append(statements, s.statement)
	}
	if explicit {
		statements = append(statements, statement{query: sqlCommit})
	}
	t.commitSent, t.committed = true, true
	results := t.send(statements...)
	var err error
	for i := 0; i < len(batch) && err == nil; i++ {
		err = batch[i].read(results)
	}
	if explicit && err == nil {
		var tag pgconn.CommandTag
		if tag, err = results.Exec(); err == nil && tag.String() != sqlCommit {
			err = fmt.Errorf("the database returned %s for a commit", tag)
		}
	}
	err = cmp.Or(err, results.Close())
	switch {
	case err == nil && warnings(t.conn.PgConn()) != before:
		return unavailable(errWarned)
	case err == nil:
		return nil
	}
	_ = t.note(err) // also resets the pool if the connection is lost
	if provesRollback(codeOf(err)) || pgconn.SafeToRetry(err) {
		return errAlone
	}
	return outcomeUnknown(err)
}

// read reads the result of a statement, which is not committed yet. It returns the error of the database.
func (s *single) read(results pgx.BatchResults) (err error) {
	if s.scan == nil {
		var tag pgconn.CommandTag
		tag, err = results.Exec()
		s.changed = tag.RowsAffected()
		return err
	}
	rows, err := results.Query()
	_, err, s.err = scanAll(rows, err, s.scan)
	return err
}

// sharedTx is a transaction for one statement, which those of other callers share.
type sharedTx struct {
	*sharer
	until time.Time
	used  bool
}

// Exec is described at Querier.
func (t *sharedTx) Exec(ctx context.Context, query string, args []any) (int64, error) {
	s := &single{statement: statement{query, args}}
	err := t.wait(ctx, s)
	return s.changed, err
}

// Each is described at Querier.
func (t *sharedTx) Each(ctx context.Context, query string, args []any, scan func(Scanner) error) error {
	return noRowsIfUnstorable(query, t.wait(ctx, &single{statement: statement{query, args}, scan: scan}))
}

// ExecDeferred is not possible.
func (t *sharedTx) ExecDeferred(context.Context, string, []any) error { return errSeveral }

// Notify is not possible.
func (t *sharedTx) Notify() {}

// wait queues a statement and returns after its commit. A caller whose context ends while it is queued leaves.
func (t *sharedTx) wait(ctx context.Context, s *single) error {
	if err := checkArgs(ctx, s.args); err != nil {
		return err
	}
	if t.used {
		return errSeveral
	}
	t.used, s.until, s.done = true, t.until, make(chan struct{})
	select {
	case t.queue <- s:
	default:
		return unavailable(errTooMany)
	}
	bound, cancel := context.WithDeadline(ctx, t.until)
	defer cancel()
	select {
	case <-s.done:
	case <-bound.Done():
		if s.state.CompareAndSwap(jobWaiting, jobAbandoned) {
			return cmp.Or(ctx.Err(), unavailable(errNoConn))
		}
		<-s.done
	}
	return s.err
}

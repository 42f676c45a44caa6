package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// writer runs write transactions on one connection, first come, first served. Those that wait while another one commits
// share the next commit (group commit): one flush of the disk serves them all, and each is still acknowledged only after
// that commit is durable. A savepoint around each of them confines the failure of one.
type writer struct {
	conn       *sql.Conn
	statements *statements
	queue      chan *job
	stop       chan struct{} // closed to stop the loop
	done       chan struct{} // closed when the loop has ended
	once       sync.Once
}

const (
	maxBatch = 64 // bounds how long the first of a batch waits for the last

	beginWrite      = "BEGIN IMMEDIATE" // takes the write lock at once: a later upgrade could deadlock
	savepoint       = "SAVEPOINT part"
	rollbackToPoint = "ROLLBACK TO part"
	releasePoint    = "RELEASE part"
)

// job is one transaction. Its state decides once whether the writer runs it or its caller leaves.
type job struct {
	ctx   context.Context // read once, before the job starts
	work  func(Querier) error
	state atomic.Int32
	err   error
	done  chan struct{}
}

const (
	jobWaiting int32 = iota
	jobTaken
	jobAbandoned
)

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{
		conn:       conn,
		statements: newStatements(conn),
		queue:      make(chan *job, maxBatch),
		stop:       make(chan struct{}),
		done:       make(chan struct{}),
	}
	go w.loop()
	return w, nil
}

// do runs work in a transaction and waits for its commit. A caller whose context ends while the job
// still waits returns at once; later it waits for the outcome.
func (w *writer) do(ctx context.Context, work func(Querier) error) error {
	j := &job{ctx: ctx, work: work, done: make(chan struct{})}
	select {
	case <-w.stop:
		return unavailable(errClosed)
	case <-ctx.Done():
		return ctx.Err()
	case w.queue <- j:
	}
	select {
	case <-j.done:
		return j.err
	case <-w.done: // the job may have been queued after the loop ended
		return j.abandon(unavailable(errClosed))
	case <-ctx.Done():
		return j.abandon(ctx.Err())
	}
}

// abandon returns cause if the job waits, which then never runs, else its outcome.
func (j *job) abandon(cause error) error {
	if j.state.CompareAndSwap(jobWaiting, jobAbandoned) {
		return cause
	}
	<-j.done
	return j.err
}

func (w *writer) stopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

func (w *writer) close() error {
	w.once.Do(func() { close(w.stop) })
	<-w.done
	return errors.Join(w.statements.close(), w.conn.Close())
}

func (w *writer) loop() {
	defer close(w.done)
	for {
		select {
		case <-w.stop:
			return
		case first := <-w.queue:
			w.commit(w.collect(first))
		}
	}
}

// collect returns the jobs that wait now, first included, without those whose caller has left.
func (w *writer) collect(first *job) []*job {
	var batch []*job
	for next := first; ; {
		if next.state.CompareAndSwap(jobWaiting, jobTaken) {
			if next.err = next.ctx.Err(); next.err == nil {
				batch = append(batch, next)
			} else {
				close(next.done)
			}
		}
		if len(batch) == maxBatch {
			return batch
		}
		select {
		case next = <-w.queue:
		default:
			return batch
		}
	}
}

// commit runs a batch in one transaction and returns the outcomes to the callers after the commit, since a result may
// depend on what another job of the batch wrote.
func (w *writer) commit(batch []*job) {
	if len(batch) == 0 {
		return
	}
	failure := w.transact(batch)
	for _, j := range batch {
		if failure != nil {
			j.err = failure
		}
		close(j.done)
	}
}

// transact returns an error when nothing of the batch was committed.
func (w *writer) transact(batch []*job) (err error) {
	if err := w.exec(beginWrite); err != nil {
		return fmt.Errorf("begin: %w", Translate(err))
	}
	defer func() {
		if err != nil {
			_ = w.exec("ROLLBACK") // the database may have rolled back by itself
			err = Translate(err)
		}
	}()
	succeeded := 0
	for _, j := range batch {
		if err := w.runJob(j); err != nil {
			return unavailable(fmt.Errorf("undo one of several changes: %w", err)) // the error of another job is irrelevant
		}
		if j.err == nil {
			succeeded++
		}
	}
	if succeeded == 0 {
		return w.exec("ROLLBACK")
	}
	if err := w.exec("COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// runJob runs one job after a savepoint and stores its outcome in it. It returns an error when the whole transaction is
// lost: the database rolled it back (disk full), or cannot roll back to the savepoint.
func (w *writer) runJob(j *job) error {
	if err := w.exec(savepoint); err != nil {
		return err
	}
	if j.err = recoverPanic(j.work, uninterrupted{w.statements}); j.err != nil {
		if err := w.exec(rollbackToPoint); err != nil {
			return errors.Join(j.err, err) // the first one is the cause
		}
	}
	return w.exec(releasePoint)
}

// uninterrupted runs a statement to its end when its caller leaves. The driver would interrupt the statement, and SQLite
// then rolls back the whole transaction, with the other jobs of the batch.
type uninterrupted struct{ *statements }

func (u uninterrupted) Exec(ctx context.Context, query string, args []any) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return u.statements.Exec(context.WithoutCancel(ctx), query, args)
}

func (u uninterrupted) ExecDeferred(ctx context.Context, query string, args []any) error {
	_, err := u.Exec(ctx, query, args)
	return err
}

func (u uninterrupted) Each(ctx context.Context, query string, args []any, scan func(Scanner) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return u.statements.Each(context.WithoutCancel(ctx), query, args, scan)
}

// recoverPanic returns a panic of work as an error: it must not end the writer.
func recoverPanic(work func(Querier) error, q Querier) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("a transaction panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return work(q)
}

func (w *writer) exec(command string) error {
	_, err := w.statements.Exec(context.Background(), command, nil)
	return err
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// writer runs write transactions on one connection, in the order they come. Those that wait while
// another commits are committed together: one flush of the disk serves them all, and each of them is
// still acknowledged only after its own commit is durable. A savepoint around each keeps one that
// fails from touching its neighbours.
type writer struct {
	conn  *sql.Conn
	run   *statements
	queue chan *job
	stop  chan struct{} // closed to ask for the end
	done  chan struct{} // closed when the loop has ended
	once  sync.Once
}

const maxBatch = 64 // bounds how long the first of a batch waits for the last

var errClosed = errors.New("the store is closed")

// job is one transaction. Its state decides once whether the writer runs it or its caller leaves.
type job struct {
	ctx   context.Context // only its end is looked at, before the job starts
	work  func(querier) error
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
		conn:  conn,
		run:   newStatements(conn),
		queue: make(chan *job, maxBatch),
		stop:  make(chan struct{}),
		done:  make(chan struct{}),
	}
	go w.loop()
	return w, nil
}

// do runs work in a transaction and waits for its commit. A caller whose context ends while the job
// still waits leaves at once; afterwards it waits, since the outcome is already being decided.
func (w *writer) do(ctx context.Context, work func(querier) error) error {
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
	case <-w.done:
		return w.afterEnd(j)
	case <-ctx.Done():
	}
	if j.state.CompareAndSwap(jobWaiting, jobAbandoned) {
		return ctx.Err()
	}
	<-j.done
	return j.err
}

// afterEnd answers a job that may have been queued behind the writer's last look at its queue.
func (w *writer) afterEnd(j *job) error {
	if j.state.CompareAndSwap(jobWaiting, jobAbandoned) {
		return unavailable(errClosed)
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
	return errors.Join(w.run.close(), w.conn.Close())
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

// collect takes what is waiting now, first included, and leaves out whose caller has gone.
func (w *writer) collect(first *job) []*job {
	var batch []*job
	for next := first; ; {
		if next.ctx.Err() == nil && next.state.CompareAndSwap(jobWaiting, jobTaken) {
			batch = append(batch, next)
		} else if next.state.CompareAndSwap(jobWaiting, jobTaken) {
			next.err = next.ctx.Err()
			close(next.done)
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

// commit runs a batch in one transaction and tells every caller its outcome after the commit, since
// an answer may rest on what a neighbour wrote.
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

// transact returns an error when nothing of the batch was kept.
func (w *writer) transact(batch []*job) (err error) {
	if err := w.tell(beginWrite); err != nil {
		return fmt.Errorf("begin: %w", translate(err))
	}
	defer func() {
		if err != nil {
			_ = w.tell(revertWrite) // the database may have rolled back by itself
			err = translate(err)
		}
	}()
	kept := 0
	for _, j := range batch {
		if err := w.part(j); err != nil {
			return unavailable(fmt.Errorf("undo one of several changes: %w", err)) // whatever kind of error a neighbour's was
		}
		if j.err == nil {
			kept++
		}
	}
	if kept == 0 {
		return w.tell(revertWrite)
	}
	if err := w.tell(commitWrite); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// part runs one job between savepoints and leaves its outcome in it. The error it returns says that
// the transaction as a whole is lost: the database gave it up (disk full), or cannot undo a part.
func (w *writer) part(j *job) error {
	if err := w.tell(savePart); err != nil {
		return err
	}
	if j.err = protect(j.work, unhurried{w.run}); j.err != nil {
		if err := w.tell(revertPart); err != nil {
			return errors.Join(j.err, err) // the first tells what happened
		}
	}
	return w.tell(keepPart)
}

// unhurried asks on for a caller that goes away while its statement runs. The driver would interrupt the statement, and
// SQLite then undoes the whole transaction, that of the neighbours too.
type unhurried struct{ querier }

func (u unhurried) exec(ctx context.Context, query string, args []any) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return u.querier.exec(context.WithoutCancel(ctx), query, args)
}

func (u unhurried) later(ctx context.Context, query string, args []any) error {
	_, err := u.exec(ctx, query, args)
	return err
}

func (u unhurried) each(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return u.querier.each(context.WithoutCancel(ctx), query, args, scan)
}

// protect turns a panic of the caller's function into an error: it must not end the writer.
func protect(work func(querier) error, q querier) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("a transaction panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	return work(q)
}

func (w *writer) tell(command string) error {
	_, err := w.run.exec(context.Background(), command, nil)
	return err
}

package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/regwarden/regwarden/internal/loop"
)

const sqlCommit = "COMMIT"

const (
	txTimeout  = 4500 * time.Millisecond // callers get 503 within 5 s from an unresponsive database
	maxTries   = 10                      // of a transaction that the database asks to repeat
	maxBackoff = 100 * time.Millisecond
	lostTries  = 2 // of a transaction whose connection was lost before its commit was sent
)

// write runs work in its own transaction. Nothing of it is stored before the commit, so it is run again when the
// database asks for it (serialization failure, deadlock), or when the connection was lost before the commit was sent.
func (p *postgres) write(ctx context.Context, single bool, work func(Querier) error) error {
	until := time.Now().Add(p.limit)
	if single {
		if err := work(&sharedTx{sharer: p.sharer, until: until}); !errors.Is(err, errAlone) {
			return err
		}
	}
	for try := 1; ; try++ {
		t := &pgTx{db: p}
		err := p.attempt(ctx, until, t, work)
		if err == nil || !t.retryable(try) {
			return err
		}
		if loop.Sleep(ctx, backoff(try)) != nil {
			return err
		}
	}
}

// backoff grows with the tries, and is random, so that transactions that conflicted do not conflict again.
func backoff(try int) time.Duration {
	return rand.N(min(time.Millisecond<<try, maxBackoff)) // #nosec G404 -- spreads, and guards nothing
}

func (p *postgres) attempt(ctx context.Context, until time.Time, t *pgTx, work func(Querier) error) error {
	conn, err := p.pool.acquire(ctx, until, &p.pool.writers)
	if err != nil {
		return err
	}
	defer conn.Release()
	t.conn, t.begin = conn.Conn.Conn(), p.pooling.Load().beginWrite(p.begin)
	var cancel context.CancelFunc
	t.bound, cancel = p.detach(ctx, until)
	defer cancel()
	err = recoverPanic(work, t)
	if err == nil && t.failure != nil {
		err = fmt.Errorf("a transaction went on after a failed statement: %w", t.failure)
	}
	if err == nil {
		err = t.commit()
	}
	t.end()
	return err
}

// detach bounds the use of a connection, by until and by the caller's own deadline. A caller that leaves before does not
// cancel it, since that would close the connection, and opening another costs the database a process; Options.Cancel is for those that
// must.
func (p *postgres) detach(ctx context.Context, until time.Time) (context.Context, context.CancelFunc) {
	cause := context.DeadlineExceeded
	if own, has := ctx.Deadline(); has && own.Before(until) {
		until, cause = own, errCallersDeadline
	}
	if !p.cancels {
		ctx = context.WithoutCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, until, cause)
}

var errCallersDeadline = errors.New("the caller's own time is over")

// isCallersDeadline reports whether a connection was lost at the caller's own deadline, which says nothing about the
// other connections.
func isCallersDeadline(bound context.Context) bool {
	return context.Cause(bound) == errCallersDeadline //nolint:errorlint // it is set as it is
}

// pgTx is one transaction on one connection. It begins with its first statement, in the same round trip. Deferred
// statements are sent with the next one, or with the commit.
type pgTx struct {
	db         *postgres
	conn       *pgx.Conn
	bound      context.Context // cancels statements that take too long
	begin      []string        // statements
	begun      bool
	unsent     []statement
	notifying  bool  // the commit is sent with a notification
	failure    error // of the first statement that failed, as pgx returned it
	lost       bool  // the connection is closed, or leads to a server that takes no writes
	commitSent bool
	committed  bool // the work committed itself
}

// statement is a query with its arguments.
type statement struct {
	query string
	args  []any
}

// Notify is described at Querier.
func (t *pgTx) Notify() { t.notifying = t.db.notifies }

// retryable reports whether the transaction may be run once more: it is certain that nothing of it was committed.
func (t *pgTx) retryable(try int) bool {
	switch codeOf(t.failure) {
	case codeSerialization, codeDeadlock:
		return try < maxTries
	case codeNameExists, codeNoName: // of a statement that was not run, nor was what was sent with it
		return try < lostTries
	}
	return t.lost && !t.commitSent && try < lostTries
}

// Exec is described at Querier.
func (t *pgTx) Exec(ctx context.Context, query string, args []any) (int64, error) {
	if err := checkArgs(ctx, args); err != nil {
		return 0, err
	}
	var tag pgconn.CommandTag
	var err error
	if t.begun && len(t.unsent) == 0 {
		tag, err = t.conn.Exec(t.bound, query, args...)
	} else {
		results := t.send(statement{query, args})
		tag, err = results.Exec()
		err = cmp.Or(err, results.Close())
	}
	return tag.RowsAffected(), t.note(err)
}

// Each is described at Querier.
func (t *pgTx) Each(ctx context.Context, query string, args []any, scan func(Scanner) error) error {
	if err := checkArgs(ctx, args); err != nil {
		return noRowsIfUnstorable(query, err)
	}
	if t.begun && len(t.unsent) == 0 {
		rows, err := t.conn.Query(t.bound, query, args...)
		_, err, scanErr := scanAll(rows, err, scan)
		return cmp.Or(t.note(err), scanErr)
	}
	results := t.send(statement{query, args})
	rows, err := results.Query()
	_, err, scanErr := scanAll(rows, err, scan)
	return cmp.Or(t.note(cmp.Or(err, results.Close())), scanErr)
}

// ExecDeferred queues a statement for the next round trip.
func (t *pgTx) ExecDeferred(ctx context.Context, query string, args []any) error {
	if err := checkArgs(ctx, args); err != nil {
		return err
	}
	t.unsent = append(t.unsent, statement{query, args})
	return nil
}

// send sends BEGIN if needed, the deferred statements and the last ones in one round trip. It returns the results of the
// last ones: when one statement fails, so do those after it, which the database does not run then.
func (t *pgTx) send(last ...statement) pgx.BatchResults {
	batch := &pgx.Batch{}
	if !t.begun {
		for _, query := range t.begin {
			batch.Queue(query)
		}
	}
	for _, s := range t.unsent {
		batch.Queue(s.query, s.args...)
	}
	before := batch.Len()
	for _, s := range last {
		batch.Queue(s.query, s.args...)
	}
	t.begun, t.unsent = true, nil
	results := t.conn.SendBatch(t.bound, batch)
	for range before {
		if _, err := results.Exec(); err != nil && t.failure == nil {
			t.failure = err
		}
	}
	return results
}

// note stores the error of a statement, and returns its meaning.
func (t *pgTx) note(err error) error {
	if err == nil {
		return nil
	}
	if t.failure == nil {
		t.failure = err
	}
	t.lost = t.lost || isLost(t.conn, err) || t.db.lostName(err)
	return translateOn(t.conn, err)
}

// errWarned is of a commit whose wait for a standby was canceled: it is committed, but a failover could lose it.
var errWarned = errors.New("the database warned about a commit")

// outcomeUnknown is the fault of a commit whose response is missing.
func outcomeUnknown(err error) error {
	return unavailable(fmt.Errorf("the outcome of a commit is not known: %s", err.Error()))
}

// commit makes the transaction durable. When the connection is lost during the commit, the outcome is unknown: the error is of kind
// Unavailable, and the transaction is not run again.
func (t *pgTx) commit() error {
	if t.committed || !t.begun && len(t.unsent) == 0 {
		return nil
	}
	before := warnings(t.conn.PgConn())
	t.commitSent = true
	tag, err := t.sendCommit()
	if codeOf(t.failure) != "" { // of a statement that was sent with the commit, which was not run then
		return t.note(t.failure)
	}
	if err == nil && tag.String() != "COMMIT" {
		return fmt.Errorf("the database returned %s for a commit", tag)
	}
	switch {
	case err == nil && warnings(t.conn.PgConn()) != before:
		return unavailable(errWarned)
	case err == nil:
		return nil
	case provesRollback(codeOf(err)):
		return t.note(err)
	}
	t.lost = true
	return outcomeUnknown(err)
}

func (t *pgTx) sendCommit() (tag pgconn.CommandTag, err error) {
	if !t.notifying && len(t.unsent) == 0 {
		return t.conn.Exec(t.bound, sqlCommit)
	}
	last := []statement{{query: sqlCommit}}
	if t.notifying {
		last = append([]statement{{query: sqlNotify}}, last...)
	}
	results := t.send(last...)
	for range last {
		tag, err = results.Exec()
	}
	return tag, cmp.Or(err, results.Close())
}

// end rolls back what was not committed. When the connection was lost, those of the pool are likely lost too.
func (t *pgTx) end() {
	if !t.conn.IsClosed() && t.conn.PgConn().TxStatus() != 'I' {
		if _, err := t.conn.Exec(t.bound, "ROLLBACK"); err != nil {
			t.lost = t.lost || isLost(t.conn, err)
		}
	}
	if t.lost && !isCallersDeadline(t.bound) {
		t.db.pool.conns.Reset()
	}
}

// isLost reports whether an error closed the connection, or means that it leads to a server that takes no writes.
func isLost(conn *pgx.Conn, err error) bool { return conn.IsClosed() || codeOf(err) == codeReadOnly }

// translateOn is Translate for an error of a statement on a connection. A statement is not sent when the time of its transaction is
// over: the connection stays open then.
func translateOn(conn *pgx.Conn, err error) error {
	if codeOf(err) == "" && (conn.IsClosed() || errors.Is(err, context.DeadlineExceeded)) {
		return unreachable(err)
	}
	return Translate(err)
}

const warningsKey = "warnings"

// warnings returns the number of warnings on a connection.
func warnings(conn *pgconn.PgConn) int {
	count, _ := conn.CustomData()[warningsKey].(int)
	return count
}

// countWarning is for pgconn.Config.OnNotice.
func countWarning(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warningsKey] = warnings(conn) + 1
	}
}

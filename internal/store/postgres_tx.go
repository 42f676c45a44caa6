package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	txTimeout = 4500 * time.Millisecond // a silent database is answered 503 within 5 s
	maxTries  = 10                      // of a transaction that the database asks to repeat
	maxPause  = 100 * time.Millisecond
	lostTries = 2 // of a transaction whose connection was lost before its commit was sent
)

// write runs work in a transaction of its own. Nothing of it is kept before the commit, so that it is run again when
// the database asks for it (serialization failure, deadlock), or when the connection was lost before the commit was sent.
func (p *postgres) write(ctx context.Context, work func(querier) error) error {
	until := time.Now().Add(p.limit)
	for try := 1; ; try++ {
		t := &pgTx{db: p}
		err := p.attempt(ctx, until, t, work)
		if err == nil || !t.repeatable(try) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause(try)):
		}
	}
}

// pause grows, and is random, so that those who met do not meet again.
func pause(try int) time.Duration {
	return rand.N(min(time.Millisecond<<try, maxPause)) // #nosec G404 -- spreads, and guards nothing
}

func (p *postgres) attempt(ctx context.Context, until time.Time, t *pgTx, work func(querier) error) error {
	conn, err := p.writers.acquire(ctx, until)
	if err != nil {
		return err
	}
	defer conn.Release() // which closes one that is not as it was
	t.conn = conn.Conn()
	var cancel context.CancelFunc
	t.bound, cancel = detach(ctx, until)
	defer cancel()
	err = protect(work, t)
	if err == nil && t.failure != nil {
		err = fmt.Errorf("a transaction went on after a failed statement: %w", t.failure)
	}
	if err == nil {
		err = t.commit()
	}
	if err != nil {
		t.revert()
	}
	if t.lost && !impatient(t.bound) {
		p.distrust()
	}
	return err
}

// detach bounds what is done on a connection, by until and by the caller's own time limit. A caller that goes away before does
// not end it, since that would cost the connection, and opening another costs the database a process.
func detach(ctx context.Context, until time.Time) (context.Context, context.CancelFunc) {
	cause := context.DeadlineExceeded
	if own, has := ctx.Deadline(); has && own.Before(until) {
		until, cause = own, errImpatient
	}
	return context.WithDeadlineCause(context.WithoutCancel(ctx), until, cause)
}

var errImpatient = errors.New("the caller's own time is over")

// impatient reports whether a connection was lost because the caller had less patience than we have, which says nothing of
// the other connections.
func impatient(bound context.Context) bool { return context.Cause(bound) == errImpatient } //nolint:errorlint // it is set as it is

// pgTx is one transaction on one connection. It begins with its first statement, in the same round trip. What nobody
// waits for the result of goes with the next statement, or with the commit.
type pgTx struct {
	db      *postgres
	conn    *pgx.Conn
	bound   context.Context // ends what takes too long
	begun   bool
	unsent  []statement
	waking  bool  // others are to look at the list of changes
	failure error // the first statement that failed, as pgx says it
	lost    bool  // the connection was
	sent    bool  // the commit was
}

// statement is a query with its arguments.
type statement struct {
	query string
	args  []any
}

func (t *pgTx) wake() { t.waking = t.db.notify }

// repeatable reports whether the transaction may be run once more: it is certain that nothing of it was kept.
func (t *pgTx) repeatable(try int) bool {
	switch codeOf(t.failure) {
	case codeSerialization, codeDeadlock:
		return try < maxTries
	}
	return t.lost && !t.sent && try < lostTries
}

func (t *pgTx) exec(ctx context.Context, query string, args []any) (int64, error) {
	if err := ready(ctx, args); err != nil {
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
	return tag.RowsAffected(), t.ended(err)
}

func (t *pgTx) each(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	if err := ready(ctx, args); err != nil {
		return noneIfUnstorable(query, err)
	}
	if t.begun && len(t.unsent) == 0 {
		rows, err := t.conn.Query(t.bound, query, args...)
		_, err, wrong := scanAll(rows, err, scan)
		return cmp.Or(t.ended(err), wrong)
	}
	results := t.send(statement{query, args})
	rows, err := results.Query()
	_, err, wrong := scanAll(rows, err, scan)
	return cmp.Or(t.ended(cmp.Or(err, results.Close())), wrong)
}

// later keeps a statement for the next round trip.
func (t *pgTx) later(ctx context.Context, query string, args []any) error {
	if err := ready(ctx, args); err != nil {
		return err
	}
	t.unsent = append(t.unsent, statement{query, args})
	return nil
}

// send sends what has to go before some statements, and them, in one round trip. The results are those of the statements:
// when one fails, so do those behind it, which the database does not run then.
func (t *pgTx) send(last ...statement) pgx.BatchResults {
	batch := &pgx.Batch{}
	if !t.begun {
		batch.Queue(t.db.begin)
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

// ended notes how a statement ended.
func (t *pgTx) ended(err error) error {
	if err == nil {
		return nil
	}
	if t.failure == nil {
		t.failure = err
	}
	t.lost = t.lost || isLost(t.conn, err)
	return meaning(t.conn, err)
}

// commit makes the transaction durable. When the connection is lost on the way, nobody knows whether it was: that is
// Unavailable, and the transaction is not run again.
func (t *pgTx) commit() error {
	if !t.begun && len(t.unsent) == 0 {
		return nil
	}
	before := warned(t.conn.PgConn())
	t.sent = true
	tag, err := t.sendCommit()
	if codeOf(t.failure) != "" { // of a statement that went with the commit, which was not run then
		return t.ended(t.failure)
	}
	if err == nil && tag.String() != "COMMIT" {
		return fmt.Errorf("the database answered %s to a commit", tag)
	}
	switch {
	case err == nil && warned(t.conn.PgConn()) != before:
		// Somebody cut off the wait for a standby: it is committed, but a failover could take it back.
		return unavailable(errors.New("the database warned about a commit"))
	case err == nil:
		return nil
	case settles(codeOf(err)):
		return t.ended(err)
	}
	t.lost = true
	return unavailable(fmt.Errorf("the outcome of a commit is not known: %s", err.Error()))
}

func (t *pgTx) sendCommit() (tag pgconn.CommandTag, err error) {
	if !t.waking && len(t.unsent) == 0 {
		return t.conn.Exec(t.bound, "COMMIT")
	}
	last := []statement{{query: "COMMIT"}}
	if t.waking {
		last = append([]statement{{query: sqlNotify}}, last...)
	}
	results := t.send(last...)
	for range last {
		tag, err = results.Exec()
	}
	return tag, cmp.Or(err, results.Close())
}

func (t *pgTx) revert() {
	if !t.begun || t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := t.conn.Exec(t.bound, "ROLLBACK"); err != nil {
		t.lost = t.lost || isLost(t.conn, err)
	}
}

// isLost reports whether an error cost the connection, or says that it leads to a server that takes no writes.
func isLost(conn *pgx.Conn, err error) bool { return conn.IsClosed() || codeOf(err) == codeReadOnly }

// meaning translates an error of a statement on a connection.
func meaning(conn *pgx.Conn, err error) error {
	if codeOf(err) == "" && conn.IsClosed() {
		return away(err)
	}
	return translate(err)
}

// warned counts the warnings that a connection had.
func warned(conn *pgconn.PgConn) int {
	count, _ := conn.CustomData()[warnings].(int)
	return count
}

// noteWarning is for pgconn.Config.OnNotice.
func noteWarning(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warnings] = warned(conn) + 1
	}
}

const warnings = "warnings"

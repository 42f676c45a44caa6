package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// pooling is what a pooler between us and the database, such as pgbouncer, does to our connections.
type pooling struct {
	// transactions: the next transaction of a connection may run on another connection of the database, which other clients use too. Then
	// settings are those of one transaction, and the database cannot notify us.
	transactions bool
	unnamed      bool     // prepared statements must have no name: the next transaction would not find it, or that of another client
	limits       []string // statements for the limits of a transaction; those of the role and the database stay
	durable      []string // further ones for a transaction that writes
}

const (
	sqlBeginRead = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"

	// Where the role or the database has no limits of its own, each transaction through a pooler sets these.
	sqlLockLimit      = "SET LOCAL lock_timeout = '2s'"
	sqlStatementLimit = "SET LOCAL statement_timeout = '4s'"
	sqlIdleLimit      = "SET LOCAL idle_in_transaction_session_timeout = '10s'"
	sqlDurable        = "SET LOCAL synchronous_commit = on"
)

func (p *pooling) execMode() pgx.QueryExecMode {
	if p.unnamed {
		return pgx.QueryExecModeCacheDescribe
	}
	return pgx.QueryExecModeCacheStatement
}

// beginRead returns the statements that begin a transaction that only reads.
func (p *pooling) beginRead() []string {
	begin := []string{sqlBeginRead}
	if p.transactions {
		begin = append(begin, p.limits...)
	}
	return begin
}

// beginWrite returns begin, and the statements that must follow it.
func (p *pooling) beginWrite(begin string) []string {
	if !p.transactions {
		return []string{begin}
	}
	return slices.Concat([]string{begin}, p.limits, p.durable)
}

// lostName reports whether an error means that a pooler lost a prepared statement, such as one that was put between us and the
// database later. From then on statements have no names.
func (p *postgres) lostName(err error) bool {
	if code := codeOf(err); code != codeNameExists && code != codeNoName {
		return false
	}
	changed := *p.pooling.Load()
	changed.transactions, changed.unnamed = true, true
	p.pooling.Store(&changed)
	p.listener.stop()
	return true
}

const sqlBackend = `SELECT pg_backend_pid(), current_setting('lock_timeout'), current_setting('statement_timeout'),
	current_setting('idle_in_transaction_session_timeout'), current_setting('synchronous_commit')`

// probes is how often a connection is asked for its process. While other servers start too, a pooler of two connections may give each of
// ours its own several times in a row.
const probes = 16

// detectPooling compares the processes of the database for two connections that are open at the same time. Directly, and through a pooler
// of sessions, each has its own. A pooler of transactions takes the process that was used last, or used least recently: then both have the
// same, or one of them has two.
func detectPooling(ctx context.Context, db *sql.DB) (*pooling, error) {
	found := &pooling{}
	var conns [2]*sql.Conn
	for i := range conns {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, fmt.Errorf("open the database: %w", Translate(err))
		}
		defer func() { _ = conn.Close() }()
		conns[i] = conn
	}
	var pids [2]int64
	for probe := range probes {
		i := probe / 2 % 2 // the first two are of one connection, the next two of the other
		if probe >= 4 {
			i = rand.IntN(2) // #nosec G404 -- differs from what other servers do at the same time, and guards nothing
		}
		pid, err := found.read(ctx, conns[i])
		if err != nil {
			return nil, err
		}
		if pids[i] != 0 && pids[i] != pid || pid == pids[1-i] {
			found.transactions = true
			return found, found.detectNames(ctx, conns[0])
		}
		pids[i] = pid
	}
	return found, errors.Join(prepareSetup(ctx, conns[0]), prepareSetup(ctx, conns[1]))
}

// read returns the process of the database, and stores what its defaults require of a transaction.
func (p *pooling) read(ctx context.Context, conn *sql.Conn) (pid int64, err error) {
	var lock, statement, idle, commit string
	if err := conn.QueryRowContext(ctx, sqlBackend).Scan(&pid, &lock, &statement, &idle, &commit); err != nil {
		return 0, fmt.Errorf("open the database: %w", Translate(err))
	}
	p.limits, p.durable = nil, nil
	if lock == "0" {
		p.limits = append(p.limits, sqlLockLimit)
	}
	if statement == "0" {
		p.limits = append(p.limits, sqlStatementLimit)
	}
	if idle != "10s" {
		p.durable = append(p.durable, sqlIdleLimit)
	}
	if commit != "on" && commit != "remote_apply" {
		p.durable = append(p.durable, sqlDurable)
	}
	return pid, nil
}

// errStatementPooling is returned for a pooler that allows no transaction of several statements.
var errStatementPooling = errors.New("the connection pooler of the database allows no transactions (pgbouncer: pool_mode = statement): " +
	"set its pool_mode to transaction or session, or connect to the database itself")

// detectNames prepares a statement in a transaction, and looks whether the database has it under the same name. A pooler that gives it
// another name, as pgbouncer does with max_prepared_statements since 1.21, finds it in any transaction.
func (p *pooling) detectNames(ctx context.Context, on *sql.Conn) error {
	const name = "regwarden_probe"
	return on.Raw(func(driver any) error {
		conn := driver.(*stdlib.Conn).Conn()
		if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
			return fmt.Errorf("%w (%s)", errStatementPooling, err.Error())
		}
		_, err := conn.Prepare(ctx, name, "SELECT 1")
		if err == nil {
			err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_prepared_statements WHERE name = $1)", pgx.QueryExecModeExec,
				name).Scan(&p.unnamed)
			err = errors.Join(err, conn.Deallocate(ctx, name))
		} else if p.unnamed = codeOf(err) == codeNameExists; p.unnamed { // of another server that is starting
			err = nil
		}
		_, rollback := conn.Exec(ctx, "ROLLBACK")
		if err = errors.Join(err, rollback); err != nil {
			return fmt.Errorf("open the database: %w", Translate(err))
		}
		return nil
	})
}

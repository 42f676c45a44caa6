// Package datamigration copies a store from SQLite to PostgreSQL.
package datamigration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// CopiedTable is a table that was copied: the number of its rows, and a digest of them that both databases have in common.
type CopiedTable struct {
	Table  string
	Rows   int64
	Digest string // sum of the SHA-256 of the rows, in hexadecimal; it does not depend on their order
}

// Result is what was copied. LeftOut are tables that regwarden did not create, such as those of a tool for replication.
type Result struct {
	Tables  []CopiedTable
	LeftOut []string
}

// Progress is called with the number of rows of a table that were copied so far.
type Progress func(table string, rows int64)

const progressInterval = 20_000 // rows

// CopyToPostgres copies a store from its data directory to an empty PostgreSQL database: all tables in one transaction, which
// is committed only when every table has the same rows on both sides. No server may run on the directory, and
// nothing else can write to it during the copy. Encrypted values stay as they are, under the same master key, so the
// new servers need that key. The store in the directory is migrated as by a start of a server, and not changed otherwise.
//
// Errors: sqldb.ErrEmpty for a directory without a store; sqldb.ErrLocked; store.ErrNotEmpty; seal.ErrWrongKey; faults of kind
// Unavailable.
func CopyToPostgres(ctx context.Context, from, to store.Options, progress Progress) (copied Result, err error) {
	if err := sqldb.CheckExists(from.DataDir); err != nil { // before the lock, which creates the directory
		return copied, err
	}
	server, err := sqldb.LockServer(from.DataDir)
	if err != nil {
		return copied, err
	}
	defer func() { err = errors.Join(err, server.Release()) }()
	source, err := openSource(ctx, from)
	if err != nil {
		return copied, err
	}
	defer func() { err = errors.Join(err, source.close()) }()
	target, closeTarget, err := openTarget(ctx, to)
	if err != nil {
		return copied, err
	}
	defer func() { err = errors.Join(err, closeTarget()) }()
	copied.LeftOut = source.foreign
	copied.Tables, err = copyTables(ctx, source, target, progress)
	return copied, err
}

// source is a database file that is read, and its tables that regwarden did not create.
type source struct {
	*sql.Conn
	foreign []string
	close   func() error
}

// openSource migrates the tables of the store, which also verifies the master key, and takes its write lock.
func openSource(ctx context.Context, o store.Options) (s source, err error) {
	o.Existing = true
	db, err := store.Open(ctx, o)
	if err != nil {
		return s, err
	}
	if err := db.Close(); err != nil {
		return s, err
	}
	file, err := sqldb.OpenFile(filepath.Join(o.DataDir, sqldb.FileName), false)
	if err != nil {
		return s, fmt.Errorf("open the database to copy it: %w", err)
	}
	if s.foreign, err = file.ForeignTables(ctx, store.Migrations); err == nil {
		s.Conn, err = file.Conn(ctx)
	}
	if err == nil {
		_, err = s.ExecContext(ctx, "BEGIN IMMEDIATE")
	}
	if err != nil {
		return s, errors.Join(fmt.Errorf("lock the database to copy it: %w", sqldb.Translate(err)), file.Close())
	}
	s.close = func() error {
		_, err := s.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(sqldb.Translate(err), s.Conn.Close(), file.Close())
	}
	return s, nil
}

// openTarget creates the tables of an empty database, and prevents that another process opens it.
func openTarget(ctx context.Context, o store.Options) (*sql.Conn, func() error, error) {
	db, err := sqldb.OpenRaw(ctx, sqldb.Options{URL: o.DatabaseURL})
	if err != nil {
		return nil, nil, err
	}
	var conn *sql.Conn
	if err = store.CreateTables(ctx, db); err == nil {
		conn, err = db.Conn(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return conn, func() error { return errors.Join(conn.Close(), db.Close()) }, nil
}

func copyTables(ctx context.Context, source source, target *sql.Conn, progress Progress) ([]CopiedTable, error) {
	tables, err := tablesOf(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", sqldb.Translate(err))
	}
	var copied []CopiedTable
	err = target.Raw(func(driver any) error {
		conn := driver.(*stdlib.Conn).Conn() // the driver of the pool
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sqldb.LongTransaction); err != nil {
				return sqldb.Translate(err)
			}
			for _, t := range tables {
				one, err := copyTable(ctx, source.Conn, tx, t, progress)
				if err != nil {
					return fmt.Errorf("copy the table %s: %w", t.name, sqldb.Translate(err))
				}
				copied = append(copied, one)
			}
			return nil
		})
	})
	return copied, err
}

// table is one of the store's tables, with the tables that its rows refer to.
type table struct {
	name    string
	columns []column
	needs   []string
}

type column struct{ name, kind string }

func (t table) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

const (
	sqlTables = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		AND name <> 'goose_db_version' ORDER BY name`
	sqlColumns = `SELECT name, type FROM pragma_table_info($1) ORDER BY cid`
	sqlNeeds   = `SELECT DISTINCT "table" FROM pragma_foreign_key_list($1)`
)

// tablesOf lists the tables of the database, so that none can be forgotten, each after those it refers to. It leaves out foreign ones.
func tablesOf(ctx context.Context, source source) ([]table, error) {
	names, err := rowsOf(ctx, source.Conn, scanName, sqlTables)
	if err != nil {
		return nil, err
	}
	var waiting, ordered []table
	for _, name := range names {
		if slices.Contains(source.foreign, name) {
			continue
		}
		t := table{name: name}
		if t.columns, err = rowsOf(ctx, source.Conn, func(row *sql.Rows, c *column) error { return row.Scan(&c.name, &c.kind) }, sqlColumns,
			name); err != nil {
			return nil, err
		}
		if t.needs, err = rowsOf(ctx, source.Conn, scanName, sqlNeeds, name); err != nil {
			return nil, err
		}
		waiting = append(waiting, t)
	}
	for len(waiting) > 0 {
		ready := slices.IndexFunc(waiting, func(t table) bool {
			return !slices.ContainsFunc(t.needs, func(needed string) bool {
				return needed != t.name && slices.ContainsFunc(waiting, func(w table) bool { return w.name == needed })
			})
		})
		if ready < 0 {
			return nil, errors.New("the tables refer to each other in a circle")
		}
		ordered = append(ordered, waiting[ready])
		waiting = slices.Delete(waiting, ready, ready+1)
	}
	return ordered, nil
}

func scanName(row *sql.Rows, name *string) error { return row.Scan(name) }

func rowsOf[T any](ctx context.Context, conn *sql.Conn, scan func(*sql.Rows, *T) error, query string, args ...any) ([]T, error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []T
	for rows.Next() {
		var record T
		if err := scan(rows, &record); err != nil {
			return nil, err
		}
		list = append(list, record)
	}
	return list, rows.Err()
}

// copyTable copies a table, reads it back and compares.
func copyTable(ctx context.Context, source *sql.Conn, tx pgx.Tx, t table, progress Progress) (CopiedTable, error) {
	columns := `"` + strings.Join(t.names(), `", "`) + `"` // names from our own migrations
	quoted := pgx.Identifier{t.name}.Sanitize()
	if _, err := tx.Exec(ctx, "DELETE FROM "+quoted); err != nil { // rows of the migrations
		return CopiedTable{}, err
	}
	rows, err := source.QueryContext(ctx, "SELECT "+columns+" FROM "+quoted) // #nosec G202 -- names from our own migrations
	if err != nil {
		return CopiedTable{}, err
	}
	defer func() { _ = rows.Close() }()
	reading := &tableReader{rows: rows, table: t, progress: progress}
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{t.name}, t.names(), reading); err != nil {
		return CopiedTable{}, err
	}
	written, err := digestOf(ctx, tx, "SELECT "+columns+" FROM "+quoted)
	if err != nil {
		return CopiedTable{}, err
	}
	if written != reading.digest {
		return CopiedTable{}, fmt.Errorf("%d rows were read, and %d others are in the new database", reading.digest.rows, written.rows)
	}
	return CopiedTable{Table: t.name, Rows: written.rows, Digest: written.text()}, nil
}

// tableReader passes the rows of a table to PostgreSQL's COPY. SQLite stores values of any kind in any column, so each
// value is checked against its column's kind.
type tableReader struct {
	rows     *sql.Rows
	table    table
	progress Progress
	digest   tableDigest
}

func (r *tableReader) Next() bool {
	if r.progress != nil && r.digest.rows%progressInterval == 0 {
		r.progress(r.table.name, r.digest.rows)
	}
	return r.rows.Next()
}

func (r *tableReader) Err() error { return r.rows.Err() }

func (r *tableReader) Values() ([]any, error) {
	values, into := make([]any, len(r.table.columns)), make([]any, len(r.table.columns))
	for i := range values {
		into[i] = &values[i]
	}
	if err := r.rows.Scan(into...); err != nil {
		return nil, err
	}
	for i, c := range r.table.columns {
		if !ofKind(values[i], c.kind) {
			return nil, fmt.Errorf("column %s of a row holds a %T", c.name, values[i])
		}
	}
	r.digest.add(values)
	return values, nil
}

func ofKind(value any, kind string) bool {
	switch value.(type) {
	case nil:
		return true
	case int64:
		return kind == "BIGINT"
	case string:
		return kind == "TEXT"
	case []byte:
		return kind == "BYTEA"
	}
	return false
}

package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// ErrNotEmpty is returned for a database that something is kept in already.
var ErrNotEmpty = errors.New("the database is not empty")

// Moved is what became of one table: how many rows, and a digest of them that is the same on both sides.
type Moved struct {
	Table  string
	Rows   int64
	Digest string // sum of the SHA-256 of the rows, in hexadecimal; it does not depend on their order
}

// Progress is told of a table's rows as they are copied.
type Progress func(table string, rows int64)

const progressEvery = 20_000 // rows

// Move copies a store from its data folder into an empty PostgreSQL database: all of it in one transaction, which
// is committed only when every table has the same rows on both sides. No server may run on the folder (ErrLocked),
// and nothing else can write to it meanwhile. Sealed values stay sealed as they are, under the same master key, so the
// new servers need that key. The folder is left as it was.
//
// Errors: ErrEmpty for a directory without a store; ErrLocked; ErrNotEmpty; seal.ErrWrongKey; faults of kind Unavailable.
func Move(ctx context.Context, from, to Options, progress Progress) (moved []Moved, err error) {
	if from.DataDir, err = filepath.Abs(from.DataDir); err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	if err := checkExists(from.DataDir); err != nil { // before the lock, which creates the directory
		return nil, err
	}
	server, err := LockServer(from.DataDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Release()) }()
	source, unlock, err := movingFrom(ctx, from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	target, open, err := movingTo(ctx, to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, open()) }()
	return moveAll(ctx, source, target, progress)
}

// movingFrom brings the store in a folder up to date, which also proves the master key, and holds its write lock.
func movingFrom(ctx context.Context, o Options) (*sql.Conn, func() error, error) {
	o.Existing = true
	db, err := Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	if err := db.Close(); err != nil {
		return nil, nil, err
	}
	pool, err := openSQLite(filepath.Join(o.DataDir, databaseName), 1, false)
	if err != nil {
		return nil, nil, fmt.Errorf("open the database to copy it: %w", err)
	}
	conn, err := pool.Conn(ctx)
	if err == nil {
		_, err = conn.ExecContext(ctx, beginWrite)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("lock the database to copy it: %w", translate(err)), pool.Close())
	}
	return conn, func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), revertWrite)
		return errors.Join(translate(err), conn.Close(), pool.Close())
	}, nil
}

// movingTo makes the tables of an empty database and keeps every other process from opening it.
func movingTo(ctx context.Context, o Options) (*sql.Conn, func() error, error) {
	config, err := parseDatabaseURL(o.DatabaseURL)
	if err != nil {
		return nil, nil, err
	}
	db := (&postgres{config: config}).openingPool()
	unlock, err := lockStore(ctx, db)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	release := func() error { return errors.Join(unlock(), db.Close()) }
	dialect := postgresDialect()
	there, err := exists(ctx, db, dialect.keysetExists)
	if err == nil && there {
		err = empty(ctx, db)
	}
	if err == nil {
		err = migrate(ctx, db, dialect)
	}
	var conn *sql.Conn
	if err == nil {
		conn, err = db.Conn(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return conn, func() error { return errors.Join(conn.Close(), release()) }, nil
}

// empty returns ErrNotEmpty when a server was started on the database: its first deed is the keyring.
func empty(ctx context.Context, db *sql.DB) error {
	wrapped, err := wrappedKeyring(ctx, db)
	if err == nil && wrapped != nil {
		err = fmt.Errorf("%w: a regwarden was started on it; make another one, or drop its tables", ErrNotEmpty)
	}
	return err
}

func moveAll(ctx context.Context, source, target *sql.Conn, progress Progress) ([]Moved, error) {
	tables, err := tablesOf(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", translate(err))
	}
	var moved []Moved
	err = target.Raw(func(driver any) error {
		conn := driver.(*stdlib.Conn).Conn() // what the pool was made of
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for _, t := range tables {
				one, err := moveTable(ctx, source, tx, t, progress)
				if err != nil {
					return fmt.Errorf("copy the table %s: %w", t.name, translate(err))
				}
				moved = append(moved, one)
			}
			return nil
		})
	})
	return moved, err
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
	sqlTables  = `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name <> 'goose_db_version' ORDER BY name`
	sqlColumns = `SELECT name, type FROM pragma_table_info($1) ORDER BY cid`
	sqlNeeds   = `SELECT DISTINCT "table" FROM pragma_foreign_key_list($1)`
)

// tablesOf lists the tables as the database has them, so that none can be forgotten, each after those it refers to.
func tablesOf(ctx context.Context, source *sql.Conn) ([]table, error) {
	names, err := rowsOf(ctx, source, func(row scanner, name *string) error { return row.Scan(name) }, sqlTables)
	if err != nil {
		return nil, err
	}
	var waiting, ordered []table
	for _, name := range names {
		t := table{name: name}
		if t.columns, err = rowsOf(ctx, source, func(row scanner, c *column) error { return row.Scan(&c.name, &c.kind) }, sqlColumns, name); err != nil {
			return nil, err
		}
		if t.needs, err = rowsOf(ctx, source, func(row scanner, name *string) error { return row.Scan(name) }, sqlNeeds, name); err != nil {
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

func rowsOf[T any](ctx context.Context, conn *sql.Conn, scan func(scanner, *T) error, query string, args ...any) ([]T, error) {
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

// moveTable copies a table, reads it back and compares.
func moveTable(ctx context.Context, source *sql.Conn, tx pgx.Tx, t table, progress Progress) (Moved, error) {
	columns := `"` + strings.Join(t.names(), `", "`) + `"` // names from our own migrations
	quoted := pgx.Identifier{t.name}.Sanitize()
	if _, err := tx.Exec(ctx, "DELETE FROM "+quoted); err != nil { // what the migrations put in
		return Moved{}, err
	}
	rows, err := source.QueryContext(ctx, "SELECT "+columns+" FROM "+quoted) // #nosec G202 -- names from our own migrations
	if err != nil {
		return Moved{}, err
	}
	defer func() { _ = rows.Close() }()
	reading := &tableReader{rows: rows, table: t, progress: progress}
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{t.name}, t.names(), reading); err != nil {
		return Moved{}, err
	}
	written, err := digestOf(ctx, tx, "SELECT "+columns+" FROM "+quoted)
	if err != nil {
		return Moved{}, err
	}
	if written != reading.digest {
		return Moved{}, fmt.Errorf("%d rows were read, and %d others are in the new database", reading.digest.rows, written.rows)
	}
	return Moved{Table: t.name, Rows: written.rows, Digest: written.text()}, nil
}

// tableReader gives the rows of a table to PostgreSQL's COPY. SQLite keeps any kind of value in any column, so each is
// demanded to be of its column's kind.
type tableReader struct {
	rows     *sql.Rows
	table    table
	progress Progress
	digest   tableDigest
}

func (r *tableReader) Next() bool {
	if r.progress != nil && r.digest.rows%progressEvery == 0 {
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

func digestOf(ctx context.Context, tx pgx.Tx, query string) (tableDigest, error) {
	var digest tableDigest
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return digest, err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return digest, err
		}
		digest.add(values)
	}
	return digest, rows.Err()
}

// tableDigest is a digest of rows in any order: the two databases give them in different ones. Each row's SHA-256 is
// added to a sum of 256 bits.
type tableDigest struct {
	rows int64
	sum  [4]uint64 // the last is the most significant
}

func (d *tableDigest) add(values []any) {
	hash := sha256.New()
	write := func(kind byte, content []byte) {
		hash.Write([]byte{kind})
		hash.Write([]byte(strconv.Itoa(len(content)) + ":"))
		hash.Write(content)
	}
	for _, value := range values {
		switch v := value.(type) {
		case nil:
			write('n', nil)
		case int64:
			write('i', strconv.AppendInt(nil, v, 10))
		case string:
			write('t', []byte(v))
		case []byte:
			write('b', v)
		default:
			write('?', fmt.Append(nil, v)) // no column of ours; it will differ from what was read
		}
	}
	row := hash.Sum(nil)
	var carry uint64
	for i := range d.sum {
		d.sum[i], carry = bits.Add64(d.sum[i], binary.LittleEndian.Uint64(row[8*i:]), carry)
	}
	d.rows++
}

func (d *tableDigest) text() string {
	var out []byte
	for i := len(d.sum) - 1; i >= 0; i-- {
		out = binary.BigEndian.AppendUint64(out, d.sum[i])
	}
	return hex.EncodeToString(out)
}

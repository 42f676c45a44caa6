package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/regwarden/regwarden/internal/storage/changelist"
	"github.com/regwarden/regwarden/internal/storage/keyset"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sortkeys"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// Migrations create the tables of both databases.
//
//go:embed migrations
var Migrations embed.FS

// Open opens the store and creates what is missing: directory, database file, master key file and keyring at the
// first start, tables after an upgrade. With Options.Existing it creates no store and returns sqldb.ErrEmpty instead. With the
// wrong master key it returns seal.ErrWrongKey and has changed nothing. Any number of processes may open the same
// store at once.
func Open(ctx context.Context, o Options) (*DB, error) {
	o, err := o.absolute()
	if err != nil {
		return nil, err
	}
	return open(ctx, o, o.database())
}

// absolute makes the data directory of a database file independent of the working directory.
func (o Options) absolute() (Options, error) {
	if o.DatabaseURL != "" {
		return o, nil
	}
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return o, fmt.Errorf("find the data directory: %w", err)
	}
	o.DataDir = dir
	return o, nil
}

func open(ctx context.Context, o Options, d sqldb.Options) (*DB, error) {
	var ring *seal.Keyring
	db, err := sqldb.Open(ctx, d, func(ctx context.Context, raw *sqldb.Raw) (err error) {
		ring, err = setUp(ctx, o, raw)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &DB{DB: db, ring: ring, options: o, numberer: changelist.NewNumberer(db)}, nil
}

// setUp verifies the master key first, then migrates the tables, and creates the key of a new store.
func setUp(ctx context.Context, o Options, db *sqldb.Raw) (*seal.Keyring, error) {
	ring, err := o.keySource().Open(ctx, db)
	if err != nil {
		return nil, err
	}
	if ring == nil && o.Existing {
		return nil, sqldb.ErrEmpty
	}
	if err := db.Migrate(ctx, Migrations, o.AllowNewer); err != nil {
		return nil, err
	}
	if err := sortkeys.Fill(ctx, db); err != nil {
		return nil, err
	}
	if ring == nil {
		ring, err = o.keySource().Create(ctx, db)
	}
	return ring, err
}

// ErrNotEmpty is returned for a database that already holds a store.
var ErrNotEmpty = errors.New("the database is not empty")

// CreateTables creates the tables of a store, and no key, in a database on which no server was started: ErrNotEmpty.
func CreateTables(ctx context.Context, db *sqldb.Raw) error {
	wrapped, err := keyset.Wrapped(ctx, db) // the first row that a server writes
	if err != nil {
		return err
	}
	if wrapped != nil {
		return fmt.Errorf("%w: a regwarden server was started on it; create another database, or drop its tables", ErrNotEmpty)
	}
	return db.Migrate(ctx, Migrations, false)
}

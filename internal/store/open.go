package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pressly/goose/v3"

	"github.com/regwarden/regwarden/internal/seal"
)

//go:embed migrations
var migrations embed.FS

// Open opens the store and creates what is missing: directory, database file, master key file and keyring at the
// first start, tables after an upgrade. With Options.Existing it creates no store and returns ErrEmpty instead. With the
// wrong master key it returns seal.ErrWrongKey and has changed nothing. Any number of processes may open the same
// store at once.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.DatabaseURL != "" {
		return openPostgres(ctx, o)
	}
	return openFolder(ctx, o)
}

// dialect is what opening a store has to know of its database.
type dialect struct {
	goose        goose.Dialect
	migrations   string // their folder
	execSimply   []any  // arguments with which Exec runs several statements at once
	keysetExists string // gives a row when the table data_keyset is there
	floorExists  string // gives a row when the table schema_floor is there
}

// bringUp prepares an opened database: key first, then tables. Its caller holds the lock of opening.
func bringUp(ctx context.Context, o Options, db *sql.DB, d dialect) (*seal.Keyring, error) {
	ring, err := keyringOf(ctx, o, db, d)
	if err != nil {
		return nil, err
	}
	if ring == nil && o.Existing {
		return nil, ErrEmpty
	}
	if err := migrate(ctx, db, d); err != nil {
		return nil, err
	}
	if ring == nil {
		ring, err = newKeyring(ctx, o, db)
	}
	return ring, err
}

// migrate brings the tables up to date. A store that is newer than this program is taken as it is, since
// migrations only add: while servers are upgraded one after the other, the old ones go on, and may be started
// again. A migration that breaks with this says so in schema_floor.
func migrate(ctx context.Context, db *sql.DB, d dialect) error {
	steps, err := migrationSteps(d)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	provider, err := goose.NewProvider(d.goose, db, nil, goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(steps...))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	sources := provider.ListSources()
	if err := checkFloor(ctx, db, d, sources[len(sources)-1].Version); err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("bring the tables up to date: %w", translate(err))
	}
	return nil
}

// migrationSteps returns one step for each file. The database takes a file as a whole: goose would split it into
// statements, with 4 MiB of memory for each of them, which was a quarter of the time of the tests.
func migrationSteps(d dialect) ([]*goose.Migration, error) {
	names, err := fs.Glob(migrations, d.migrations+"/*.sql")
	if err != nil {
		return nil, err
	}
	var steps []*goose.Migration
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		run := func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, string(text), d.execSimply...)
			return err
		}
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{RunTx: run}, nil))
	}
	return steps, nil
}

// ErrTooNew is returned for a store that a newer program changed in a way that this one cannot work with.
var ErrTooNew = errors.New("the store was changed by a newer regwarden and cannot be used by this one; start the newer one")

// checkFloor compares the newest migration that this program knows with the oldest that the store can be used with.
func checkFloor(ctx context.Context, db *sql.DB, d dialect, newest int64) error {
	there, err := exists(ctx, db, d.floorExists)
	if err != nil || !there {
		return err
	}
	var least int64
	if err := db.QueryRowContext(ctx, "SELECT least FROM schema_floor WHERE id = 1").Scan(&least); err != nil {
		return fmt.Errorf("read which programs may use the store: %w", translate(err))
	}
	if least > newest {
		return fmt.Errorf("%w (it needs migration %d, this one ends at %d)", ErrTooNew, least, newest)
	}
	return nil
}

// exists reports whether a query gives a row.
func exists(ctx context.Context, db *sql.DB, query string) (bool, error) {
	var name string
	err := db.QueryRowContext(ctx, query).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look which tables there are: %w", translate(err))
	}
	return true, nil
}

// keyringOf opens the keyring of a store that has one. A new store gives nil. It only reads, so
// that a wrong key leaves the store as it was; a missing key file is never made anew here.
func keyringOf(ctx context.Context, o Options, db *sql.DB, d dialect) (*seal.Keyring, error) {
	there, err := exists(ctx, db, d.keysetExists)
	if err != nil || !there {
		return nil, err
	}
	wrapped, err := wrappedKeyring(ctx, db)
	if wrapped == nil || err != nil {
		return nil, err
	}
	if !o.MasterKey.IsZero() {
		return unwrap(o.MasterKey, wrapped, o)
	}
	return fromKeyFiles(wrapped, o)
}

// fromKeyFiles opens the keyring with the key file. When it is the older of two, because a rotation was
// killed after its commit, the newer one beside it opens the keyring and takes its place.
func fromKeyFiles(wrapped []byte, o Options) (*seal.Keyring, error) {
	master, err := seal.LoadMasterKey(o.keyFile())
	if err != nil {
		return nil, fmt.Errorf("the store is sealed with a master key that is not here: %w", err)
	}
	ring, err := unwrap(master, wrapped, o)
	if !errors.Is(err, seal.ErrWrongKey) {
		return ring, err
	}
	next, nextErr := seal.NextMasterKey(o.keyFile())
	if nextErr != nil {
		return nil, err
	}
	ring, nextErr = seal.Unwrap(next, wrapped)
	if nextErr != nil {
		return nil, err
	}
	_, err = seal.AdoptNextMasterKey(o.keyFile(), o.now())
	return ring, err
}

// wrappedKeyring returns nil when the row was never written.
func wrappedKeyring(ctx context.Context, db *sql.DB) ([]byte, error) {
	var wrapped []byte
	err := db.QueryRowContext(ctx, "SELECT wrapped FROM data_keyset WHERE id = 1").Scan(&wrapped)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read the keyring: %w", translate(err))
	}
	return wrapped, nil
}

// newKeyring makes master key file and keyring of a new store. The key file is durable before the row
// is: a row without its key would be a store that nobody can open.
func newKeyring(ctx context.Context, o Options, db *sql.DB) (*seal.Keyring, error) {
	master := o.MasterKey
	if master.IsZero() {
		if err := makeDataDir(filepath.Dir(o.keyFile())); err != nil {
			return nil, err
		}
		var err error
		if master, err = seal.LoadOrCreateMasterKey(o.keyFile()); err != nil {
			return nil, err
		}
	}
	ring, err := seal.NewKeyring()
	if err != nil {
		return nil, err
	}
	wrapped, err := ring.Wrap(master)
	if err != nil {
		return nil, err
	}
	const query = `INSERT INTO data_keyset (id, wrapped, created_at, wrapped_at) VALUES (1, $1, $2, $2) ON CONFLICT DO NOTHING`
	if _, err := db.ExecContext(ctx, query, wrapped, millis(o.now())); err != nil {
		return nil, fmt.Errorf("keep the keyring: %w", translate(err))
	}
	if wrapped, err = wrappedKeyring(ctx, db); err != nil {
		return nil, err
	}
	return unwrap(master, wrapped, o) // what was stored, also when another process was first
}

func unwrap(master seal.MasterKey, wrapped []byte, o Options) (*seal.Keyring, error) {
	ring, err := seal.Unwrap(master, wrapped)
	if err != nil {
		source := o.keyFile()
		if !o.MasterKey.IsZero() {
			source = "the key that was given"
		}
		return nil, fmt.Errorf("%w (tried %s; nothing was changed)", err, source)
	}
	return ring, nil
}

package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/regwarden/regwarden/internal/loop"
)

// Raw is a database by database/sql, for what is done once: migrations, keys, copies.
type Raw struct {
	*sql.DB
	dialect dialect
	pooling *pooling // nil for SQLite
	unlock  func() error
}

// dialect is what the setup of a database depends on.
type dialect struct {
	goose      goose.Dialect
	migrations string // their directory
	script     string // runs before a script in its transaction
	limitLocks string // runs before a migration, after that
	scriptArgs []any  // arguments with which Exec runs several statements at once
	hasTable   string // query for a table's name; returns a row when there is that table
}

// OpenRaw opens a database while no other process opens it, until Raw is closed.
func OpenRaw(ctx context.Context, o Options) (*Raw, error) {
	if o.URL == "" {
		return openRawSQLite(ctx, o)
	}
	config, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	return openRawPostgres(ctx, config, o.MustHave)
}

// Close closes the database and lets other processes open it.
func (r *Raw) Close() error { return errors.Join(r.unlock(), r.DB.Close()) }

// ExecDurably runs one statement and returns when its change survives a crash.
func (r *Raw) ExecDurably(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tx, err := r.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	if _, err := tx.ExecContext(ctx, r.dialect.script, r.dialect.scriptArgs...); err != nil {
		return nil, err
	}
	result, err := tx.ExecContext(ctx, query, args...)
	return result, cmp.Or(err, tx.Commit())
}

// HasTable reports whether there is a table of that name.
func (r *Raw) HasTable(ctx context.Context, name string) (bool, error) {
	err := r.QueryRowContext(ctx, r.dialect.hasTable, name).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if isDamaged(err) {
		return false, errDamaged
	}
	if err != nil {
		return false, fmt.Errorf("list the tables: %w", Translate(err))
	}
	return true, nil
}

// Migrate runs the migrations that did not run yet, of files in migrations/sqlite or migrations/postgres. ErrTooNew: a newer program
// has changed the database. With allowNewer such a database is used as it is, since migrations only add; a migration that breaks with
// this records that in schema_floor.
func (r *Raw) Migrate(ctx context.Context, files fs.FS, allowNewer bool) error {
	provider, err := r.provider(files)
	if err != nil {
		return err
	}
	if err := r.checkFloor(ctx, newestOf(provider)); err != nil {
		return err
	}
	there, err := r.HasTable(ctx, versionTable)
	if err != nil {
		return err
	}
	if there && !allowNewer {
		version, err := r.newestVersion(ctx)
		if err != nil {
			return err
		}
		if err := checkVersion(version, provider); err != nil {
			return fmt.Errorf("%w; to go back to this one as docs/upgrades.md describes, add --allow-newer-database", err)
		}
	}
	if err := runMigrations(ctx, provider); err != nil {
		return fmt.Errorf("migrate the tables: %w", Translate(err))
	}
	return nil
}

// runMigrations runs migrations. While another transaction, such as that of pg_dump, reads a table, the migration of the table waits, and
// all queries of the table wait for the migration. So it waits only for a short time, and is tried again.
func runMigrations(ctx context.Context, provider *goose.Provider) error {
	for began := time.Now(); ; {
		_, err := provider.Up(ctx)
		switch {
		case codeOf(err) != codeLockTimeout:
			return err
		case time.Since(began) > setupWait:
			return errors.Join(errors.New("a long transaction, such as that of pg_dump, reads a table that changes; start again "+
				"when it has ended"), err)
		}
		if err := loop.Sleep(ctx, migrationPause); err != nil {
			return err
		}
	}
}

func (r *Raw) provider(files fs.FS) (*goose.Provider, error) {
	migrations, err := r.migrationsOf(files)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	provider, err := goose.NewProvider(r.dialect.goose, r.DB, nil, goose.WithDisableGlobalRegistry(true),
		goose.WithGoMigrations(migrations...))
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return provider, nil
}

// newestOf returns the newest migration that this program has.
func newestOf(provider *goose.Provider) int64 {
	sources := provider.ListSources()
	return sources[len(sources)-1].Version
}

// newestVersion returns the newest migration that ran on the database.
func (r *Raw) newestVersion(ctx context.Context) (version int64, err error) {
	err = r.QueryRowContext(ctx, sqlNewestVersion).Scan(&version)
	if err != nil {
		err = fmt.Errorf("read the version of the tables: %w", Translate(err))
	}
	return version, err
}

const (
	versionTable     = "goose_db_version"
	sqlNewestVersion = `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`
)

func checkVersion(version int64, provider *goose.Provider) error {
	if newest := newestOf(provider); version > newest {
		return fmt.Errorf("%w (its schema has version %d, this regwarden knows versions up to %d)", ErrTooNew, version, newest)
	}
	return nil
}

// migrationsOf returns one migration for each file. The database runs a file as a whole: goose would split it into
// statements, with 4 MiB of memory for each of them, which was a quarter of the time of the tests.
func (r *Raw) migrationsOf(files fs.FS) ([]*goose.Migration, error) {
	names, err := fs.Glob(files, r.dialect.migrations+"/*.sql")
	if err != nil {
		return nil, err
	}
	var migrations []*goose.Migration
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		run := func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, r.dialect.script+r.dialect.limitLocks+string(text), r.dialect.scriptArgs...)
			return err
		}
		migrations = append(migrations, goose.NewGoMigration(version, &goose.GoFunc{RunTx: run}, nil))
	}
	return migrations, nil
}

// ErrTooNew is returned for a database that a newer program changed.
var ErrTooNew = errors.New("the database was changed by a newer regwarden: start that one, or restore the backup from before the upgrade")

// checkFloor compares the newest migration that this program has with the oldest that the database can be used with.
func (r *Raw) checkFloor(ctx context.Context, newest int64) error {
	there, err := r.HasTable(ctx, "schema_floor")
	if err != nil || !there {
		return err
	}
	var least int64
	if err := r.QueryRowContext(ctx, "SELECT least FROM schema_floor WHERE id = 1").Scan(&least); err != nil {
		return fmt.Errorf("read which programs may use the store: %w", Translate(err))
	}
	if least > newest {
		return fmt.Errorf("%w (it needs migration %d, this one ends at %d)", ErrTooNew, least, newest)
	}
	return nil
}

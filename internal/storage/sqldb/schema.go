package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

// ErrOtherSchema is returned for a database file whose tables, indexes, views or triggers are not those of its migrations.
var ErrOtherSchema = errors.New("the database has other tables than regwarden created")

const (
	sqlVersions = `SELECT DISTINCT version_id FROM goose_db_version WHERE is_applied ORDER BY version_id`
	sqlObjects  = `SELECT type || ' ' || name, tbl_name || ': ' || coalesce(sql, '') FROM sqlite_master`

	maxShownObjects = 5
)

// statistics are tables that SQLite's ANALYZE creates.
var statistics = map[string]string{
	"table sqlite_stat1": "sqlite_stat1: CREATE TABLE sqlite_stat1(tbl,idx,stat)",
	"table sqlite_stat4": "sqlite_stat4: CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
}

// CheckSchema compares the tables, indexes, views and triggers of a database file with those that its migrations create, byte by byte:
// ErrOtherSchema. SQLite runs triggers and views of a file, so nothing else may be read from an untrusted file before. ErrTooNew: this
// program does not have all of its migrations.
func (r *Raw) CheckSchema(ctx context.Context, files fs.FS) error {
	return r.withKnown(ctx, files, func(known *Raw, found, wanted map[string]string) error {
		if problems := compareObjects(found, wanted); len(problems) > 0 {
			return fmt.Errorf("%w: %s", ErrOtherSchema, strings.Join(problems, ", "))
		}
		return r.compareVersions(ctx, known)
	})
}

// withKnown calls use with a database that the same migrations created, and the definitions of both.
func (r *Raw) withKnown(ctx context.Context, files fs.FS, use func(known *Raw, found, wanted map[string]string) error) error {
	found, err := objectsOf(ctx, r)
	if err != nil {
		return err
	}
	known, err := openMemory()
	if err != nil {
		return err
	}
	defer func() { _ = known.DB.Close() }()
	provider, err := known.provider(files)
	if err != nil {
		return err
	}
	version, err := r.knownVersion(ctx, known, provider, found)
	if err != nil {
		return err
	}
	if _, err := provider.UpTo(ctx, version); err != nil {
		return fmt.Errorf("create the tables to compare with: %w", err)
	}
	wanted, err := objectsOf(ctx, known)
	if err != nil {
		return err
	}
	return use(known, found, wanted)
}

// ForeignTables returns the tables that the migrations of a database did not create. It returns none if those are not known, which
// CheckSchema reports.
func (r *Raw) ForeignTables(ctx context.Context, files fs.FS) (names []string, err error) {
	err = r.withKnown(ctx, files, func(_ *Raw, found, wanted map[string]string) error {
		for _, object := range slices.Sorted(maps.Keys(found)) {
			name, isTable := strings.CutPrefix(object, "table ")
			if _, known := wanted[object]; isTable && !known && !strings.HasPrefix(name, "sqlite_") { // SQLite's own cannot be dropped
				names = append(names, name)
			}
		}
		return nil
	})
	if errors.Is(err, ErrTooNew) || errors.Is(err, ErrOtherSchema) {
		return nil, nil
	}
	return names, err
}

// knownVersion returns the newest migration of the database, after comparing the table that has it.
func (r *Raw) knownVersion(ctx context.Context, known *Raw, provider *goose.Provider, found map[string]string) (int64, error) {
	if _, err := provider.GetDBVersion(ctx); err != nil { // creates the table
		return 0, fmt.Errorf("create the tables to compare with: %w", err)
	}
	wanted, err := objectsOf(ctx, known)
	if err != nil {
		return 0, err
	}
	name := "table " + versionTable
	if found[name] != wanted[name] {
		return 0, fmt.Errorf("%w: %s is missing or different", ErrOtherSchema, name)
	}
	version, err := r.newestVersion(ctx)
	if err == nil {
		err = checkVersion(version, provider)
	}
	return version, err
}

// compareVersions compares which migrations ran: goose would refuse to start, or run one again.
func (r *Raw) compareVersions(ctx context.Context, known *Raw) error {
	found, err := listOf[int64](ctx, r, sqlVersions)
	if err != nil {
		return err
	}
	wanted, err := listOf[int64](ctx, known, sqlVersions)
	if err == nil && !slices.Equal(found, wanted) {
		err = fmt.Errorf("%w: its list of migrations is not complete", ErrOtherSchema)
	}
	return err
}

// objectsOf returns the definitions of tables, indexes, views and triggers by kind and name.
func objectsOf(ctx context.Context, r *Raw) (map[string]string, error) {
	rows, err := r.QueryContext(ctx, sqlObjects)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	objects := map[string]string{}
	for rows.Next() {
		var name, definition sql.NullString // any value may be in a file that was changed
		if err := rows.Scan(&name, &definition); err != nil {
			return nil, err
		}
		objects[name.String] += definition.String // so that two rows of one name differ from one
	}
	return objects, rows.Err()
}

func listOf[T any](ctx context.Context, r *Raw, query string) (list []T, err error) {
	rows, err := r.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value T
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, rows.Err()
}

// compareObjects describes what differs. Names come from a file that was perhaps changed, so they are quoted.
func compareObjects(found, wanted map[string]string) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		definition, known := wanted[name]
		switch {
		case !known && found[name] != statistics[name]:
			problems = append(problems, fmt.Sprintf("%q is unknown", name))
		case known && found[name] != definition:
			problems = append(problems, fmt.Sprintf("%q is different", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if _, there := found[name]; !there {
			problems = append(problems, fmt.Sprintf("%q is missing", name))
		}
	}
	if more := len(problems) - maxShownObjects; more > 0 {
		problems = append(problems[:maxShownObjects], fmt.Sprintf("and %d more", more))
	}
	return problems
}

package store

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/regwarden/regwarden/internal/storage/partitions"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

// The query for both databases: it returns a line for each column and each index.
const (
	sqliteSchema = `SELECT concat_ws(' ', t.name, c.name, c.type, CASE WHEN c."notnull" OR c.pk > 0 THEN 'NOT NULL' END, 'DEFAULT ' ||
		c.dflt_value)
			FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name <> 'goose_db_version' AND t.name NOT LIKE
			'sqlite%'
		UNION ALL SELECT concat_ws(' ', tbl_name, 'INDEX', name) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`
	// What is divided has the same columns and indexes as the parts.
	noPartition    = ` NOT IN (SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid)`
	postgresSchema = `SELECT concat_ws(' ', table_name, column_name, upper(data_type), CASE WHEN is_nullable = 'NO' THEN 'NOT NULL' END,
		'DEFAULT ' || split_part(column_default, '::', 1))
			FROM information_schema.columns WHERE table_schema = current_schema()
			AND table_name NOT IN ('goose_db_version', 'opening_lock') AND table_name` + noPartition + `
		UNION ALL SELECT concat_ws(' ', tablename, 'INDEX', indexname) FROM pg_indexes WHERE schemaname = current_schema() AND tablename <>
			'goose_db_version'
			AND indexname NOT IN (SELECT conname FROM pg_constraint) AND tablename` + noPartition
)

// schemasAgree compares the tables that the two directories of migrations create.
func schemasAgree(t *testing.T, server *postgrestest.Server) {
	if diff := cmp.Diff(migrationNames(t, "migrations/sqlite"), migrationNames(t, "migrations/postgres")); diff != "" {
		t.Errorf("the directories have different migrations:\n%s", diff)
	}
	url, dir := server.NewDatabase(t), t.TempDir()
	db := mustOpenURL(t, url, Options{})
	if diff := cmp.Diff(schemaOfDir(t, dir), schemaOfURL(t, url)); diff != "" {
		t.Errorf("SQLite (-) and PostgreSQL (+) have different tables:\n%s", diff)
	}
	if err := partitions.Divide(t.Context(), db.DB, noon,
		func() (*sqldb.DB, error) { return db.OpenLonger(t.Context(), time.Minute) }); err != nil {
		t.Fatal(err)
	}
	if kind := lookUp(t, url, "SELECT relkind::text FROM pg_class WHERE oid = to_regclass('audits')"); kind != "p" {
		t.Errorf("audits is a relation of kind %s", kind)
	}
	if diff := cmp.Diff(schemaOfDir(t, dir), schemaOfURL(t, url)); diff != "" {
		t.Errorf("SQLite (-) and divided PostgreSQL (+) have different tables:\n%s", diff)
	}
}

func migrationNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := Migrations.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, file.Name())
	}
	return names
}

func schemaOfDir(t *testing.T, dir string) []string {
	t.Helper()
	db, err := Open(t.Context(), Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := sqldb.OpenFile(filepath.Join(dir, sqldb.FileName), true)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := file.QueryContext(t.Context(), sqliteSchema)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

func schemaOfURL(t *testing.T, url string) []string {
	t.Helper()
	rows, err := mustConnect(t, url).Query(t.Context(), postgresSchema)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(lines) < 150 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	slices.Sort(lines)
	return lines
}

package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/postgrestest"
)

var numbered = []string{"a", "a-1", "a-2", "a-10", "a-011", "b"} // in their natural order

func insertNumbered(ctx context.Context, tx *Tx) error {
	err := tx.Orgs.Insert(ctx, Org{UID: "o", Name: "o", Canonical: "o", CreatedAt: time.Now()})
	for _, name := range numbered {
		err = errors.Join(err, tx.Registries.Insert(ctx, Registry{UID: name, OrgUID: "o", Name: name, Canonical: name, Version: 1,
			CreatedAt: time.Now(), UpdatedAt: time.Now()}))
	}
	return err
}

// listNumbered reads both directions in pages of two.
func listNumbered(ctx context.Context, tx *Tx, sort RegistrySort) (got []string, err error) {
	f := RegistryFilter{OrgUID: "o", Sort: sort}
	for after := (RegistryCursor{}); ; {
		page, err := tx.Registries.Search(ctx, f, after, 2)
		if err != nil || len(page) == 0 {
			return got, err
		}
		for _, r := range page {
			got, after = append(got, r.Name), f.Cursor(r)
		}
	}
}

// Registries of a store of an older version are in the natural order when it is migrated, in both directions.
func TestMigrationOrdersNames(t *testing.T) {
	upgrade{file: "00054_name_order.sql", before: insertNumbered,
		undo: "DROP INDEX registries_by_name; DROP INDEX registries_without_sort_key; ALTER TABLE registries DROP COLUMN sort_key",
		after: func(t *testing.T, tx *Tx) error {
			first, errF := listNumbered(t.Context(), tx, SortByName)
			last, errL := listNumbered(t.Context(), tx, SortByName.Opposite())
			slices.Reverse(last)
			if !slices.Equal(first, numbered) || !slices.Equal(last, numbered) {
				t.Errorf("%q, and from the end %q", first, last)
			}
			return errors.Join(errF, errL)
		}}.run(t)
}

// During an upgrade of several servers, one of the version before adds registries. All are listed, before the next start sorts them.
func TestRegistriesOfTheVersionBeforeAreListed(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(t.Context(), Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	err = db.InTx(t.Context(), func(tx *Tx) error {
		return errors.Join(insertNumbered(t.Context(), tx),
			tx.db.ChangeAny(t.Context(), "UPDATE registries SET sort_key = NULL WHERE uid <> 'a-2'"))
	})
	if err != nil {
		t.Fatal(err)
	}
	mustList := func(want ...string) {
		t.Helper()
		got, err := Read(t.Context(), db, func(tx *Tx) ([]string, error) { return listNumbered(t.Context(), tx, SortByName) })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("listed %q, %v; want %q", got, err, want)
		}
	}
	mustList("a", "a-011", "a-1", "a-10", "a-2", "b")
	_ = db.Close()
	if db, err = Open(t.Context(), Options{DataDir: dir}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	mustList(numbered...)
}

// namesAreInOrder reads a page in the middle of a long list, in both directions, without sorting it.
func namesAreInOrder(t *testing.T, server *postgrestest.Server) {
	url := server.NewDatabase(t)
	mustOpenURL(t, url, Options{MasterKey: testKey})
	conn := mustConnect(t, url)
	mustExec(t, conn, "SET session_replication_role = replica") // no foreign keys
	mustExec(t, conn, `INSERT INTO registries (`+registryColumns+`) SELECT gen_random_uuid(), 'o' || n % 2, n, 'a-' || n, 1, 0, 0, '', '',
		'', 0, 0, 0, '', '', '', '', 0, 0, 0, 0, 0, 0, NULL, NULL, '', 'a-' || n, 1 FROM generate_series(1, 20000) n`)
	mustExec(t, conn, "ANALYZE registries")
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		mustExec(t, conn, "SET plan_cache_mode = "+mode)
		for _, query := range []string{sqlRegistriesOfOrg, sqlLastNamesFirst} {
			const most = 1200 // 101 registries with joins of empty tables; the organization has 10,000
			plan := planOn(t, conn, query, "'o1', 'a-5', 101")
			if n := pages(plan); n > most || !strings.Contains(plan, "registries_by_name") || strings.Contains(plan, "Sort Key") {
				t.Errorf("%s: %d pages for %.60s\n%s", mode, n, query, plan)
			}
		}
	}
}

package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/seal"
)

// A sealed value opens in its own row of its own organization and nowhere else, and one that does not open
// disturbs nothing but what needs it.
func TestSealedValuesStayInPlace(t *testing.T) {
	db, err := Open(t.Context(), Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	at := time.UnixMilli(1)
	record := func(uid, org string) Registry {
		return Registry{UID: uid, OrgUID: org, Name: uid, Canonical: uid, Version: 1, CreatedAt: at, UpdatedAt: at, Endpoint: "h",
			AuthType: "basic", Username: "ada", Secrets: RegistrySecrets{Password: "of " + "registry"}}
	}
	mustChange(t, db, func(ctx context.Context, tx *Tx) error {
		return errors.Join(
			tx.InsertOrg(ctx, Org{UID: "a", Name: "a", Canonical: "a", CreatedAt: at}), tx.InsertOrg(ctx, Org{UID: "b", Name: "b", Canonical: "b", CreatedAt: at}),
			tx.InsertRegistry(ctx, record("one", "a")), tx.InsertRegistry(ctx, record("two", "a")), tx.InsertRegistry(ctx, record("three", "a")))
	})
	wantOpen := func(org, uid string, wanted error) {
		t.Helper()
		r, err := readRegistry(t, db, org, uid)
		if !errors.Is(err, wanted) || (err == nil) != (r.Secrets.Password != "") || r.Username != "ada" || !r.HasPassword {
			t.Errorf("%s of %s: %v with password %t, want %v", uid, org, err, r.Secrets.Password != "", wanted)
		}
	}
	wantOpen("a", "one", nil)
	for name, tamper := range map[string]struct{ spoil, mend string }{
		"another row's":           {`UPDATE registries SET sealed = (SELECT r.sealed FROM registries r WHERE r.uid = 'two') WHERE uid = 'one'`, ""},
		"in another row":          {`UPDATE registries SET uid = 'moved' WHERE uid = 'one'`, `UPDATE registries SET uid = 'one' WHERE uid = 'moved'`},
		"in another organization": {`UPDATE registries SET org_uid = 'b' WHERE uid = 'one'`, `UPDATE registries SET org_uid = 'a' WHERE uid = 'one'`},
		"taken away":              {`UPDATE registries SET sealed = NULL WHERE uid = 'one'`, ""},
		"not ours":                {`UPDATE registries SET sealed = CAST('garbage that is long enough to be one' AS BLOB) WHERE uid = 'one'`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mustTamper(t, db, tamper.spoil)
			org, uid := "a", "one"
			switch name {
			case "in another row":
				uid = "moved"
			case "in another organization":
				org = "b"
			}
			wantOpen(org, uid, seal.ErrDamaged)
			wantOpen("a", "two", nil)
			mustChange(t, db, func(ctx context.Context, tx *Tx) error {
				list, errL := tx.RegistriesOfOrg(ctx, org)
				plain, errP := tx.RegistryPlain(ctx, org, uid)
				if len(list) == 0 || !plain.HasPassword {
					t.Errorf("listed %d, shown %+v", len(list), plain)
				}
				return errors.Join(errL, errP)
			})
			if tamper.mend != "" {
				mustTamper(t, db, tamper.mend)
			} else { // what the user is told to do
				current, err := readRegistry(t, db, "a", "one")
				if !errors.Is(err, seal.ErrDamaged) {
					t.Fatal(err)
				}
				next := record("one", "a")
				next.Version = current.Version
				mustChange(t, db, func(ctx context.Context, tx *Tx) error { return tx.ReplaceRegistry(ctx, next) })
			}
			wantOpen("a", "one", nil)
		})
	}
}

func readRegistry(t *testing.T, db *DB, org, uid string) (r Registry, err error) {
	t.Helper()
	_ = db.View(t.Context(), func(tx *Tx) error { r, err = tx.Registry(t.Context(), org, uid); return nil })
	return r, err
}

func mustChange(t *testing.T, db *DB, fn func(context.Context, *Tx) error) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx *Tx) error { return fn(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}

// mustTamper changes rows as somebody does who has the database file.
func mustTamper(t *testing.T, db *DB, query string) {
	t.Helper()
	mustChange(t, db, func(ctx context.Context, tx *Tx) error { return tx.changeOne(ctx, query) })
}

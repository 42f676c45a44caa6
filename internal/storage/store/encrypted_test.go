package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/seal"
)

// TestEncryptedValuesAreBoundToTheirLocation: a value is decrypted only in its own row of its own organization, and one that is not
// decrypted fails only for the callers that need it.
func TestEncryptedValuesAreBoundToTheirLocation(t *testing.T) {
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
			tx.Orgs.Insert(ctx, Org{UID: "a", Name: "a", Canonical: "a", CreatedAt: at}),
			tx.Orgs.Insert(ctx, Org{UID: "b", Name: "b", Canonical: "b", CreatedAt: at}),
			tx.Registries.Insert(ctx, record("one", "a")), tx.Registries.Insert(ctx, record("two", "a")))
	})
	wantOpen := func(org, uid string, wanted error) {
		t.Helper()
		r, err := readRegistry(t, db, org, uid)
		if !errors.Is(err, wanted) || (err == nil) != (r.Secrets.Password != "") || r.Username != "ada" || !r.HasPassword {
			t.Errorf("%s of %s: %v with password %t, want %v", uid, org, err, r.Secrets.Password != "", wanted)
		}
	}
	wantOpen("a", "one", nil)
	for name, query := range map[string]string{
		"another row's": `UPDATE registry_details SET sealed = (SELECT d.sealed FROM registry_details d WHERE d.registry_uid = 'two') ` +
			`WHERE registry_uid = 'one'`,
		"taken away": `UPDATE registry_details SET sealed = NULL WHERE registry_uid = 'one'`,
		"not ours": `UPDATE registry_details SET sealed = CAST('garbage that is long enough to be one' AS BLOB) WHERE registry_uid ` +
			`= 'one'`,
		"cut off": `UPDATE registry_details SET sealed = substr(sealed, 1, 20) WHERE registry_uid = 'one'`,
	} {
		t.Run(name, func(t *testing.T) {
			mustTamper(t, db, query)
			wantOpen("a", "one", seal.ErrDamaged)
			wantOpen("a", "two", nil)
			wantShown(t, db, "a", "one")
			broken, _ := readRegistry(t, db, "a", "one")
			replaced := record("one", "a") // the fix in the hint
			replaced.Version = broken.Version
			mustChange(t, db, func(ctx context.Context, tx *Tx) error { return tx.Registries.Replace(ctx, replaced) })
			wantOpen("a", "one", nil)
		})
	}
	move := func(to string) {
		mustTamper(t, db, `PRAGMA defer_foreign_keys = ON`, `UPDATE registries SET org_uid = '`+to+`' WHERE uid = 'one'`,
			`UPDATE registry_details SET org_uid = '`+to+`' WHERE registry_uid = 'one'`)
	}
	move("b")
	wantOpen("b", "one", seal.ErrDamaged)
	wantShown(t, db, "b", "one")
	move("a")
	wantOpen("a", "one", nil)
}

// wantShown requires that a registry is shown and listed without decrypting its secrets.
func wantShown(t *testing.T, db *DB, org, uid string) {
	t.Helper()
	mustChange(t, db, func(ctx context.Context, tx *Tx) error {
		list, _, errL := tx.Registries.OfOrg(ctx, org, ListedRegistry{}, nil)
		plain, errP := tx.Registries.GetPlain(ctx, org, uid)
		if len(list) == 0 || !plain.HasPassword {
			t.Errorf("listed %d, shown %+v", len(list), plain)
		}
		return errors.Join(errL, errP)
	})
}

func readRegistry(t *testing.T, db *DB, org, uid string) (r Registry, err error) {
	t.Helper()
	_ = db.View(t.Context(), func(tx *Tx) error { r, err = tx.Registries.Get(t.Context(), org, uid); return nil })
	return r, err
}

func mustChange(t *testing.T, db *DB, fn func(context.Context, *Tx) error) {
	t.Helper()
	if err := db.InTx(t.Context(), func(tx *Tx) error { return fn(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}

// mustTamper changes rows as an attacker with the database file does.
func mustTamper(t *testing.T, db *DB, queries ...string) {
	t.Helper()
	mustChange(t, db, func(ctx context.Context, tx *Tx) (err error) {
		for _, query := range queries {
			_, failed := tx.db.Change(ctx, query)
			err = errors.Join(err, failed)
		}
		return err
	})
}

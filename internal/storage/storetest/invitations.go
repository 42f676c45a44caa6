package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/invitations"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// invited stores one invitation per user, which is used once and deleted with its user.
func invited(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "acme")
	user := store.User{UID: "u", OrgUID: org.UID, Email: "ada@acme.example", Canonical: "ada@acme.example", PasswordChangedAt: start,
		CreatedAt: start}
	i := invitations.Invitation{OrgUID: org.UID, UserUID: user.UID, Hash: []byte("first"), CreatedAt: start,
		ExpiresAt: start.Add(time.Hour)}
	put := func(i invitations.Invitation) {
		t.Helper()
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Invitations.Put(ctx, i) })
	}
	use := func(ctx context.Context, tx *store.Tx) error { return tx.Invitations.Use(ctx, []byte("second")) }
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Insert(ctx, user) })
	put(i)
	i.Hash, i.CreatedAt, i.ExpiresAt = []byte("second"), start.Add(time.Second), start.Add(2*time.Hour)
	put(i)
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Invitations.Get(ctx, []byte("first")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the replaced invitation: %v", err)
		}
		got, err := tx.Invitations.Get(ctx, i.Hash)
		if diff := cmp.Diff(i, got); diff != "" || err != nil {
			t.Errorf("%s %v", diff, err)
		}
		return nil
	})
	mustWrite(t, db, use)
	wantError(t, db, store.ErrNotFound, use)
	put(i)
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Delete(ctx, org.UID, user.UID) })
	wantError(t, db, store.ErrNotFound, use)
}

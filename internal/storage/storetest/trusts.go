package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/trusts"
)

// trustRules stores rules with their users, and deletes them together.
func trustRules(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "acme"), mustOrg(t, db, "other")
	insert := func(in store.Org, name, issuer string) trusts.Rule {
		rule := trusts.Rule{UID: uuid.NewString(), OrgUID: in.UID, Name: name, Canonical: name, Issuer: issuer, Audience: "a",
			Claims: map[string]string{"sub": "x/*"}, CA: "ca", Keys: "keys", Reusable: true, CreatedAt: start, Role: "admin"}
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.Users.Insert(ctx, store.User{UID: rule.UID, OrgUID: in.UID, Email: name, Canonical: "workload " + rule.UID,
				Role: rule.Role, Workload: true, PasswordChangedAt: start, CreatedAt: start}); err != nil {
				return err
			}
			return tx.Trusts.Insert(ctx, rule)
		})
		return rule
	}
	first, second := insert(org, "b", "https://one"), insert(org, "a", "https://two")
	insert(other, "a", "https://one")
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		list, errL := tx.Trusts.OfOrg(ctx, org.UID)
		of, errI := tx.Trusts.OfIssuer(ctx, org.UID, "https://one")
		diff := cmp.Diff([][]trusts.Rule{{second, first}, {first}}, [][]trusts.Rule{list, of})
		if diff != "" || errL != nil || errI != nil {
			t.Errorf("%v, %v\n%s", errL, errI, diff)
		}
		if users, _, err := tx.Users.List(ctx, org.UID, store.User{}); len(users) != 0 || err != nil {
			t.Errorf("listed as users: %+v, %v", users, err)
		}
		return nil
	})
	same := first
	same.UID = mustUser(t, db, org, "ada").UID
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error { return tx.Trusts.Insert(ctx, same) })
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Trusts.Get(ctx, other.UID, first.UID)
		return err
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Users.Delete(ctx, org.UID, first.UID) })
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Trusts.Get(ctx, org.UID, first.UID)
		return err
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Users.Disable(ctx, org.UID, second.UID, start)
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		of, err := tx.Trusts.OfIssuer(ctx, org.UID, "https://two")
		if len(of) != 0 {
			t.Errorf("the rule of a disabled user: %+v", of)
		}
		return err
	})
}

// usedTokens uses each token once, and forgets it after its end.
func usedTokens(t *testing.T, db *store.DB) {
	use := func(hash string) (first bool) {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			first, err = tx.Trusts.Use(ctx, []byte(hash), start.Add(time.Minute))
			return err
		})
		return first
	}
	if !use("one") || use("one") || !use("two") {
		t.Error("a token was used twice, or another was not")
	}
	for _, row := range []struct {
		after time.Duration
		want  int64
	}{{time.Minute, 0}, {2 * time.Minute, 2}} {
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.Trusts.DeleteUsed(ctx, start.Add(row.after), 10)
			if n != row.want {
				t.Errorf("%d tokens deleted after %v, want %d", n, row.after, row.want)
			}
			return err
		})
	}
	if !use("one") {
		t.Error("a forgotten token is still known")
	}
}

package storetest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/internal/storage/tenants"
)

// orgSettings stores settings by organization and name, the last value of each.
func orgSettings(t *testing.T, db *store.DB) {
	type setting struct{ Names []string }
	acme, rival := mustOrg(t, db, "acme"), mustOrg(t, db, "rival")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		for _, names := range [][]string{{"a"}, {"b", "ä"}} {
			if err := tx.Settings.Put(ctx, acme.UID, "domains", setting{names}); err != nil {
				return err
			}
		}
		if err := tx.Orgs.SetPasswordPolicy(ctx, acme.UID, `{"minLength":20}`); err != nil {
			return err
		}
		return tx.Settings.Put(ctx, rival.UID, "domains", setting{})
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		for uid, want := range map[string]string{acme.UID: `{"minLength":20}`, rival.UID: ""} {
			if org, err := tx.Orgs.Get(ctx, uid); err != nil || org.PasswordPolicy != want {
				t.Errorf("password policy %q: %v", org.PasswordPolicy, err)
			}
		}
		for _, tt := range []struct {
			org, name string
			want      setting
		}{{acme.UID, "domains", setting{[]string{"b", "ä"}}}, {acme.UID, "saml", setting{}}, {rival.UID, "domains", setting{}}} {
			got, err := tenants.Get[setting](ctx, tx.Settings, tt.org, tt.name)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%s of %s: %s %v", tt.name, tt.org, diff, err)
			}
		}
		return nil
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Orgs.Delete(ctx, acme.UID) })
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		if got, err := tenants.Get[setting](ctx, tx.Settings, acme.UID, "domains"); got.Names != nil || err != nil {
			t.Errorf("of a deleted organization: %v %v", got, err)
		}
		return nil
	})
}

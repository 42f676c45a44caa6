package registries

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// A replacement of credentials that was interrupted finds the registries that still have the old ones when it is repeated.
func TestSameCredentialsAfterInterruption(t *testing.T) {
	k := mustNew(t)
	uids := []string{k.mustCreate(t, input("a")), k.mustCreate(t, input("b")), k.mustCreate(t, input("c"))}
	named := uids[1]
	want := []string{uids[0], uids[2], named}
	for len(want) > 0 {
		got, err := k.SameCredentials(t.Context(), k.Admin, named)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
		if err := k.Change(t.Context(), k.Admin, audit.Origin{}, want[0], func(r *RegistryInput) {
			ReplaceCredentials(r, &regcheck.Auth{Type: regcheck.Basic, Username: "ada", Password: "replaced"})
		}); err != nil {
			t.Fatal(err)
		}
		want = want[1:]
	}
}

// mustInsert stores n registries with the credentials of make and returns their uids.
func (k fixture) mustInsert(t *testing.T, prefix string, n int, make func(i int) regcheck.Auth) (uids []string) {
	t.Helper()
	err := k.DB.InTx(t.Context(), func(tx *store.Tx) error {
		uids = nil
		for i := range n {
			w := input(fmt.Sprintf("%s-%04d", prefix, i))
			auth := make(i)
			w.Definition.Auth = &auth
			r := w.row()
			r.UID, r.OrgUID, r.Version, r.CreatedAt, r.UpdatedAt = uuid.NewString(), k.Admin.OrgUID, 1, k.Now(), k.Now()
			if err := tx.Registries.Insert(t.Context(), r); err != nil {
				return err
			}
			if err := tx.Watch.Schedule(t.Context(), r.OrgUID, r.UID, k.Now()); err != nil {
				return err
			}
			uids = append(uids, r.UID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return uids
}

// Registries without credentials have the empty username of registries with a token, and are not compared with them. What is more than
// can be compared is refused.
func TestSameCredentialsOfMany(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		k.mustInsert(t, "open", maxSame/2+1, func(int) regcheck.Auth { return regcheck.Auth{} })
		k.mustInsert(t, "public", maxSame/2+1, func(int) regcheck.Auth { return regcheck.Auth{Type: regcheck.NoAuth} })
		same := k.mustInsert(t, "token", 3, func(i int) regcheck.Auth {
			return regcheck.Auth{Type: []regcheck.AuthType{regcheck.Token, "", regcheck.Token}[i], Token: "same"}
		})
		got, err := k.SameCredentials(t.Context(), k.Admin, same[2])
		if err != nil || !slices.Equal(got, same) {
			t.Errorf("%q, %v; want %q", got, err, same)
		}
		k.mustInsert(t, "other", maxSame, func(i int) regcheck.Auth {
			return regcheck.Auth{Type: regcheck.Token, Token: secret.String(fmt.Sprint("other ", i))}
		})
		if got, err := k.SameCredentials(t.Context(), k.Admin, same[2]); fault.KindOf(err) != fault.Invalid {
			t.Errorf("beyond the limit: %d, %v", len(got), err)
		}
	})
}

package registries

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/postgrestest"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Changes of definitions and the checks of these definitions lock the same rows in the same order. On PostgreSQL, two transactions
// with different orders would wait for each other for a second, and all other changes of the organization for them.
func TestNoDeadlock(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		now := registriestest.Start
		claim := func(claimed *[]store.Watched) func() error {
			now = now.Add(time.Hour)
			at := now
			return func() error {
				return k.DB.InTx(t.Context(), func(tx *store.Tx) (err error) {
					*claimed, err = tx.Watch.Claim(t.Context(), "owner", at, at.Add(time.Minute),
						[]store.Share{{OrgUID: k.Admin.OrgUID, Count: 2}})
					return err
				})
			}
		}
		replace := func(uid, name string) func() error {
			return func() error { return k.Replace(t.Context(), k.Admin, audit.Origin{}, uid, input(name)) }
		}
		remove := func(uid string) func() error {
			return func() error { return k.Delete(t.Context(), k.Admin, audit.Origin{}, uid) }
		}
		end := func(w store.Watched) func() error {
			version := k.mustGet(t, w.RegistryUID).Version
			return func() error {
				err := k.DB.InTxDetached(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					w.State.Code, w.LastAt, w.NextAt = "RegistryAuthFailed", registriestest.Start, registriestest.Start
					return tx.Watch.End(ctx, w, version, store.HealthPeriod{Counted: true, Result: w.State})
				})
				if errors.Is(err, store.ErrNotFound) { // the definition was changed first
					err = nil
				}
				return err
			}
		}

		const checks, usage = "SELECT 1 FROM registry_watch FOR UPDATE", "SELECT 1 FROM org_usage FOR UPDATE"
		var claimed []store.Watched
		for i := range 2 { // one of the two is the first that a claim locks
			uids := []string{k.mustCreate(t, input("One")), k.mustCreate(t, input("Two"))}
			postgrestest.Concurrently(t, k.URL, usage, replace(uids[i], "Renamed"), remove(uids[1-i]), claim(&claimed))
			for _, change := range []func() error{replace(uids[i], "Renamed again"), replace(uids[i], "Renamed twice"), remove(uids[i])} {
				if err := claim(&claimed)(); err != nil || len(claimed) != 1 {
					t.Fatalf("claimed %d: %v", len(claimed), err)
				}
				postgrestest.Concurrently(t, k.URL, checks, end(claimed[0]), change)
			}
		}
	})
}

package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/listdetails"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// listDetails reads details and changes of health of the chosen registries of an organization alone.
func listDetails(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	chosen, rest := mustWatched(t, db, org, "chosen"), mustWatched(t, db, org, "rest")
	foreign := mustWatched(t, db, other, "foreign")
	for i, valid := range []bool{true, false} {
		reason := []string{"", "providerUnavailable"}[i]
		for _, row := range mustClaim(t, db, start.Add(time.Duration(i)*time.Hour), store.Share{OrgUID: org.UID, Count: 10}) {
			after, period := ending(row, store.HealthResult{Valid: valid, Reason: reason}, start.Add(time.Duration(i)*time.Hour))
			after.Certificates = listdetails.Certificates{{Role: "server", Subject: "r \"s\"", Fingerprint: "AB:CD",
				NotAfter: start.Add(time.Duration(i) * time.Hour).UTC()}}
			if row.RegistryUID == rest.UID {
				after.Certificates = nil
			}
			mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Watch.End(ctx, after, 1, period) })
		}
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		uids := []string{chosen.UID, foreign.UID, "none"}
		details, errD := tx.Lists.Of(ctx, org.UID, uids)
		changes, errC := tx.Lists.Changes(ctx, org.UID, uids)
		none, errN := tx.Lists.Of(ctx, org.UID, nil)
		if len(details) != 1 || details[chosen.UID].AuthType != chosen.AuthType || len(none) != 0 {
			t.Errorf("details of %s, and not of %s: %+v, %+v", chosen.UID, rest.UID, details, none)
		}
		want := map[string][]listdetails.Change{chosen.UID: {{At: start.Add(time.Hour).UTC(), Reason: "providerUnavailable"},
			{At: start.UTC(), Valid: true}}}
		if diff := cmp.Diff(want, changes); diff != "" {
			t.Error(diff)
		}
		certificates, err := tx.Lists.Certificates(ctx, org.UID, append(uids, rest.UID))
		row, errW := tx.Watch.Get(ctx, org.UID, chosen.UID)
		if got := certificates[chosen.UID]; len(got) != 1 || got[0].Subject != "r \"s\"" || !got[0].NotAfter.Equal(start.Add(time.Hour)) ||
			len(certificates) != 2 || len(certificates[rest.UID]) != 0 || !slices.Equal(row.Certificates, got) {
			t.Errorf("certificates: %+v, and in the row %+v", certificates, row.Certificates)
		}
		return errors.Join(errD, errC, errN, err, errW)
	})
}

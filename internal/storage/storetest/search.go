package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// mustHealth stores registries with each health status, in another order than that of their names, and returns them by name.
func mustHealth(t *testing.T, db *store.DB, org store.Org, count int) (list []store.ListedRegistry) {
	t.Helper()
	for i := range count {
		number := (i * 7) % count
		mustWatched(t, db, org, fmt.Sprintf("%s-%d", []string{"harbor", "50%_off", `back\slash`, "größe"}[number%4], number))
	}
	for i, row := range mustClaim(t, db, start, store.Share{OrgUID: org.UID, Count: count}) {
		if i%3 == 0 {
			continue
		}
		at := start.Add(time.Duration(i/4) * time.Minute) // some at the same time
		result := store.HealthResult{Valid: i%3 == 1, Code: "C", CertificateExpiresSoon: i%5 == 1, CredentialsExpireSoon: i%7 == 1}
		if i%5 == 2 && !result.Valid {
			result.Reason = []string{"providerUnavailable", "providerUnreachable"}[i%2] // says nothing about the registry
		}
		if i > 10 {
			result.CertificateNotAfter = start.Add(time.Duration(100-i) * time.Hour)
			result.CredentialsNotAfter = start.Add(time.Duration(i) * time.Hour)
		}
		after, run := ending(row, result, at)
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Watch.End(ctx, after, 1, run) })
	}
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		var err error
		list, _, err = tx.Registries.OfOrg(ctx, org.UID, store.ListedRegistry{}, nil)
		return err
	})
	return list
}

// searched returns what a filter selects of a list by name.
func searched(list []store.ListedRegistry, f store.RegistryFilter) []store.ListedRegistry {
	list = slices.DeleteFunc(slices.Clone(list), func(r store.ListedRegistry) bool {
		state := r.Health.State
		return !strings.Contains(names.Canonical(r.Name), f.Name) || f.Health != "" && r.Health.Word() != f.Health ||
			f.ExpiresSoon && !state.CertificateExpiresSoon && !state.CredentialsExpireSoon
	})
	order := []store.HealthState{store.Failing, store.Unknown, store.Healthy}
	by, opposite := strings.CutPrefix(string(f.Sort), "-")
	slices.SortStableFunc(list, func(a, b store.ListedRegistry) int {
		compared := 0
		switch store.RegistrySort(by) {
		case store.SortByHealth:
			compared = cmp.Compare(slices.Index(order, a.Health.Word()), slices.Index(order, b.Health.Word()))
		case store.SortBySince:
			return compareKnown(a.Health.Since, b.Health.Since, !opposite)
		case store.SortByExpiry:
			return compareKnown(a.Health.State.FirstExpiry(), b.Health.State.FirstExpiry(), opposite)
		case store.SortByName:
			compared = cmp.Compare(a.SortKey, b.SortKey)
		}
		if opposite {
			return -compared
		}
		return compared
	})
	return list
}

// compareKnown compares times in an order in which unknown ones are last.
func compareKnown(a, b time.Time, newestFirst bool) int {
	switch {
	case a.IsZero() != b.IsZero():
		return cmp.Compare(b.UnixMilli(), a.UnixMilli()) // zero is before all others
	case newestFirst:
		return b.Compare(a)
	}
	return a.Compare(b)
}

// searches list the selected registries in pages, each once and in the order of the list.
func searches(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	mustWatched(t, db, other, "harbor of another organization")
	list := mustHealth(t, db, org, 40)
	var counts store.HealthCounts
	for _, name := range []string{"", "har", "%", "_", `\`, "ö", "0", "none"} {
		for _, health := range []store.HealthState{"", store.Healthy, store.Failing, store.Unknown} {
			for _, sort := range []store.RegistrySort{"", store.SortByName, store.SortByHealth, store.SortBySince,
				store.SortByExpiry, "-name", "-health", "-since", "-expiry"} {
				f := store.RegistryFilter{OrgUID: org.UID, Name: name, Health: health, Sort: sort, ExpiresSoon: name == "0"}
				want := searched(list, f)
				mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
					var got []store.ListedRegistry
					var after store.RegistryCursor
					for page := []store.ListedRegistry{{}}; len(page) > 0; {
						var err error
						if page, err = tx.Registries.Search(ctx, f, after, 7); err != nil {
							return err
						}
						if got = append(got, page...); len(page) > 0 {
							after = f.Cursor(page[len(page)-1])
						}
					}
					if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("%+v: %s", f, diff)
					}
					all, errA := tx.Registries.CountSearch(ctx, f, 100)
					some, errS := tx.Registries.CountSearch(ctx, f, 3)
					if all != int64(len(want)) || some != int64(min(len(want), 3)) {
						t.Errorf("%+v: counted %d, and %d up to 3, want %d", f, all, some, len(want))
					}
					var errH error
					counts, errH = tx.Registries.CountHealth(ctx, org.UID)
					return errors.Join(errA, errS, errH)
				})
			}
		}
	}
	expiring := searched(list, store.RegistryFilter{ExpiresSoon: true, Sort: store.SortByExpiry})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		all, errA := tx.Registries.Expiring(ctx, org.UID, 100)
		some, errS := tx.Registries.Expiring(ctx, org.UID, 3)
		if diff := gocmp.Diff(append(slices.Clone(expiring), expiring[:3]...), append(all, some...)); diff != "" || len(all) < 4 ||
			len(all) == len(list) {
			t.Errorf("%d of %d expire: %s", len(all), len(list), diff)
		}
		name, errN := tx.Registries.Name(ctx, org.UID, list[0].UID)
		foreign, errF := tx.Registries.Name(ctx, other.UID, list[0].UID)
		if name != list[0].Name || foreign != "" {
			t.Errorf("named %q, for another organization %q", name, foreign)
		}
		return errors.Join(errA, errS, errN, errF)
	})
	if want := (store.HealthCounts{Healthy: 13, Failing: 10, Unknown: 17, CertificateNotAfter: start.Add(62 * time.Hour),
		CredentialsNotAfter: start.Add(11 * time.Hour)}); counts != want {
		t.Errorf("counted %+v, want %+v", counts, want)
	}
}

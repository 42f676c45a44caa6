// Package healthhistory stores results of checks in the past, so that pages have a history to show.
package healthhistory

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/listdetails"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/test/instance"
)

// nextCheck is how long no check is due after Add.
const nextCheck = 12 * time.Minute

// Add stores one check of each registry of the first organization at each moment, the oldest first. The service must not run on
// the data directory.
func Add(t testing.TB, dataDir string, moments []time.Time, result func(uid string, i int) (r store.HealthResult, checked bool)) {
	t.Helper()
	ctx := t.Context()
	db, err := store.Open(ctx, store.Options{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	latest := time.Now().AddDate(0, 0, 1)
	for i, at := range moments {
		err := db.InTx(ctx, func(tx *store.Tx) error {
			org, err := tx.Orgs.ByName(ctx, strings.ToLower(instance.Org))
			if err != nil {
				return err
			}
			rows, err := tx.Watch.Claim(ctx, "history", latest, latest, []store.Share{{OrgUID: org.UID, Count: 100_000}})
			for _, row := range rows {
				next := time.Now().Add(nextCheck)
				r, checked := result(row.RegistryUID, i)
				if !checked {
					err = errors.Join(err, tx.Watch.Release(ctx, row.RegistryUID, "history", next))
					continue
				}
				if row.Since.IsZero() || r != row.State {
					row.Since = at
				}
				row.State, row.LastAt, row.NextAt, row.LeaseOwner = r, at, next, "history"
				row.Certificates = certificates(row.RegistryUID, r.CertificateNotAfter)
				err = errors.Join(err, tx.Watch.End(ctx, row, 1, store.HealthPeriod{Since: at, LastAt: at, Counted: true, Result: r}))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// certificates returns that of a registry's server, and that of a CA that issued all of them.
func certificates(uid string, notAfter time.Time) listdetails.Certificates {
	if notAfter.IsZero() {
		return nil
	}
	return listdetails.Certificates{{Role: "server", Subject: uid, Fingerprint: uid, NotAfter: notAfter},
		{Role: "ca", Subject: "Example <b>CA", Fingerprint: "CA", NotAfter: time.Now().AddDate(0, 0, 399)}}
}

// Days returns so many moments between that number of days ago and now.
func Days(days, count int) (moments []time.Time) {
	for i := range count {
		moments = append(moments, time.Now().Add(-time.Duration(i+1)*time.Duration(days)*24*time.Hour/time.Duration(count)))
	}
	slices.Reverse(moments)
	return moments
}

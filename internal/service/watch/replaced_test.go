package watch

import (
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/mutes"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
)

// A certificate or token that expires soon raises an alert, also if the one of the definition before did, and nothing of that one is shown.
func TestExpiryOfAChangedDefinition(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		w := newFixture(t, f, &regcheck.Checker{})
		definition := input("r")
		words, err := regchecktest.Start(t, "open-http").Words()
		if err != nil {
			t.Fatal(err)
		}
		definition.Definition.Auth.Type = "" // as a command stores it
		uid, version, expires := w.mustCreate(definition), int64(1), registriestest.Start.AddDate(0, 0, 5)
		seen := registries.Certificates{{Role: string(regcheck.RoleServer), NotAfter: expires}}
		found := result{HealthResult: store.HealthResult{Valid: true, CertificateExpiresSoon: true, CredentialsExpireSoon: true,
			CertificateNotAfter: expires, CredentialsNotAfter: expires}, certificates: seen}
		check := func(found result, want int64) {
			t.Helper()
			of := registries.Registry{UID: uid, OrgUID: "org-a", Name: "r", Version: version}
			for _, row := range w.mustClaim(1) {
				if _, err := w.end(t.Context(), finishedCheck{registry: of, row: row, result: found}); err != nil {
					t.Fatal(err)
				}
			}
			w.clock = w.clock.Add(40 * time.Minute)
			n, err := store.Write(t.Context(), w.DB, func(tx *store.Tx) (int64, error) {
				return tx.Outbox.DeleteBefore(t.Context(), w.clock, 1000)
			})
			if n != want || err != nil {
				t.Errorf("version %d: %d alerts, want %d; %v", version, n, want, err)
			}
		}
		replace := func(certificate, credentials bool) {
			t.Helper()
			if err := w.stored.Replace(t.Context(), w.Admin, audit.Origin{}, uid, definition); err != nil {
				t.Fatal(err)
			}
			version++
			row, err := store.Read(t.Context(), w.DB, func(tx *store.Tx) (store.Watched, error) {
				return tx.Watch.Get(t.Context(), "org-a", uid)
			})
			s := row.State
			if err != nil || s.CertificateExpiresSoon != certificate || s.CertificateNotAfter.IsZero() == certificate ||
				(len(row.Certificates) > 0) != certificate || s.CredentialsExpireSoon != credentials ||
				s.CredentialsNotAfter.IsZero() == credentials {
				t.Errorf("version %d: %+v, %v", version, row, err)
			}
		}
		check(found, 2)
		definition.Name = "renamed"
		definition.Definition.Auth.Type = regcheck.Basic // as the console sends it
		replace(true, true)
		check(found, 0)
		definition.Definition.Endpoint = "https://new.example.com"
		replace(false, true)
		check(found, 1)
		definition.Definition.Auth.Password += "2"
		replace(true, false)
		check(found, 1)
		definition.Definition.Auth.TLS.InsecureSkipVerify, definition.Definition.Auth.TLS.Enabled = true, true
		replace(true, true)
		check(found, 0)
		for _, client := range []string{"client", "soonClient"} { // renewed, as each day
			definition.Definition.Auth.TLS = regcheck.TLS{Enabled: true, CA: words["ca"], Certificate: words[client+"Certificate"],
				Key: secret.String(words[client+"Key"])}
			replace(true, true)
			check(found, 0)
		}
		definition.Definition.Endpoint = "https://newer.example.com"
		replace(false, true)
		check(result{HealthResult: store.HealthResult{Code: "RegistryUnreachable"}}, 1)
		check(found, 2)
	})
}

// The certificate of a new endpoint raises an alert after a mute in which the registry was changed, also if the one before did.
func TestExpiryOfADefinitionChangedInAMute(t *testing.T) {
	for _, checked := range []bool{false, true} { // before the mute ends
		w := mustWatch(t)
		definition := input("r")
		of := registries.Registry{UID: w.mustCreate(definition), OrgUID: "org-a", Name: "r", Version: 1}
		check := func(valid, soon bool, want int64) {
			t.Helper()
			found := result{HealthResult: store.HealthResult{Valid: valid, CertificateExpiresSoon: soon}}
			if _, err := w.end(t.Context(), finishedCheck{registry: of, row: w.mustClaim(1)[0], result: found}); err != nil {
				t.Fatal(err)
			}
			w.clock = w.clock.Add(40 * time.Minute)
			w.write(func(tx *store.Tx) error {
				n, err := tx.Outbox.DeleteBefore(t.Context(), w.clock, 1000)
				if n != want {
					t.Errorf("checked %t: %d alerts, want %d", checked, n, want)
				}
				return err
			})
		}
		check(true, true, 1)
		mute := mutes.Mute{UID: "m", OrgUID: "org-a", From: w.clock, Until: w.clock.Add(time.Hour), CreatedAt: w.clock}
		w.write(func(tx *store.Tx) error { return tx.Mutes.Insert(t.Context(), mute) })
		check(false, true, 0)
		definition.Definition.Endpoint = "https://new.example.com"
		if err := w.stored.Replace(t.Context(), w.Admin, audit.Origin{}, of.UID, definition); err != nil {
			t.Fatal(err)
		}
		of.Version++
		if checked {
			check(true, true, 0)
		}
		w.clock = mute.Until
		check(true, true, 1)
		check(true, true, 0)
	}
}

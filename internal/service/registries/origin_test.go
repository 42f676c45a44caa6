package registries

import (
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// A registry of a cluster is replaced and deleted by the service only, and an empty secret is none.
func TestRegistriesOfAClusterAreReadOnly(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		of := input("regcred")
		of.Origin, of.Delay = store.Origin{Object: "prod/apps/Secret/regcred", Entry: "r.example.com"}, time.Hour
		if err := k.StoreOfCluster(t.Context(), f.Admin.OrgUID, "", of); err != nil {
			t.Fatal(err)
		}
		found, err := k.Find(t.Context(), k.Admin, "regcred")
		if err != nil || found.Origin != of.Origin.Object || found.Health.NextAt.Before(k.Now().Add(time.Hour)) {
			t.Fatalf("stored: %+v %v", found, err)
		}
		for name, change := range map[string]func() error{
			"replace": func() error { return k.Replace(t.Context(), k.Admin, audit.Origin{}, found.UID, input("other")) },
			"delete":  func() error { return k.Delete(t.Context(), k.Admin, audit.Origin{}, found.UID) },
		} {
			refused := fault.Visible(change())
			if refused.Code != CodeRegistryReadOnly || !strings.Contains(refused.Message, `Secret apps/regcred of the cluster "prod"`) {
				t.Errorf("%s: %+v", name, refused)
			}
		}
		of.Definition.Auth = &regcheck.Auth{Type: regcheck.Basic, Username: "ada"}
		if err := k.StoreOfCluster(t.Context(), f.Admin.OrgUID, found.UID, of); err != nil {
			t.Fatal(err)
		}
		if opened, err := k.Load(t.Context(), f.Admin.OrgUID, found.UID); err != nil || opened.Definition.Auth.Password != "" {
			t.Errorf("replaced: %v, a stored secret stands for an empty one: %t", err, opened.Definition.Auth.Password != "")
		}
		for range 2 {
			if err := k.DeleteOfCluster(t.Context(), f.Admin.OrgUID, found.UID); err != nil {
				t.Error(err)
			}
		}
		records := strings.Join(f.AuditRecords(t), "\n")
		for _, want := range []string{"registry.create", "registry.update", "registry.delete"} {
			if !strings.Contains(records, want) || !strings.Contains(records, "service") {
				t.Errorf("no %s by the service in\n%s", want, records)
			}
		}
	})
}

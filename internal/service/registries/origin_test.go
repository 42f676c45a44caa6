package registries

import (
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
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
		k.holdCluster(t, "prod")
		found, err := k.Find(t.Context(), k.Admin, "regcred")
		if err != nil || found.Origin != of.Origin.Object || !found.ClusterRead || found.Health.NextAt.Before(k.Now().Add(time.Hour)) {
			t.Fatalf("stored: %+v %v", found, err)
		}
		for name, change := range map[string]func() error{
			"replace": func() error { return k.Replace(t.Context(), k.Admin, audit.Origin{}, found.UID, input("other")) },
			"delete":  func() error { return k.Delete(t.Context(), k.Admin, audit.Origin{}, found.UID) },
			"dry run": func() error { return Allowed(k.Admin, found, access.DeleteRegistries) },
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

// holdCluster makes a server read a cluster.
func (k fixture) holdCluster(t *testing.T, cluster string) {
	t.Helper()
	held, err := store.Write(t.Context(), k.DB, func(tx *store.Tx) (bool, error) {
		return tx.Origins.Hold(t.Context(), k.Admin.OrgUID, cluster, "owner", k.Now(), k.Now().Add(time.Minute))
	})
	if err != nil || !held {
		t.Fatal(held, err)
	}
}

// A registry of a cluster that no server reads, such as after it was renamed, can be deleted, but not changed.
func TestRegistriesOfAnUnreadClusterCanBeDeleted(t *testing.T) {
	registriestest.Each(t, postgres, func(t *testing.T, f registriestest.Fixture) {
		k := newFixture(f, Limits{})
		of := input("regcred")
		of.Origin = store.Origin{Object: "old/apps/Secret/regcred", Entry: "r.example.com"}
		if err := k.StoreOfCluster(t.Context(), f.Admin.OrgUID, "", of); err != nil {
			t.Fatal(err)
		}
		k.holdCluster(t, "new")
		found, err := k.Find(t.Context(), k.Admin, "regcred")
		if err != nil || found.ClusterRead || Allowed(k.Admin, found, access.DeleteRegistries) != nil {
			t.Errorf("%+v, %v", found, err)
		}
		refused := fault.Visible(k.Replace(t.Context(), k.Admin, audit.Origin{}, found.UID, input("other")))
		if refused.Code != CodeRegistryReadOnly {
			t.Errorf("replace: %+v", refused)
		}
		if err := k.Delete(t.Context(), k.Admin, audit.Origin{}, found.UID); err != nil {
			t.Error(err)
		}
	})
}

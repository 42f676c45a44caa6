package registries

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
)

func (k fixture) usage(t *testing.T) (u store.Usage) {
	t.Helper()
	err := k.DB.View(t.Context(), func(tx *store.Tx) (err error) {
		u, err = tx.Registries.Usage(t.Context(), "org-a")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A quota also limits concurrent requests, and each organization has its own.
func TestQuotaOfRegistries(t *testing.T) {
	k := mustNew(t)
	k.limits.OrgRegistries = 3
	var work sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		work.Go(func() {
			_, err := k.Create(t.Context(), k.Admin, audit.Origin{}, input(name))
			if err != nil && (codeOf(err) != fault.CodeOperationForbidden || !strings.Contains(err.Error(), "organization-registries")) {
				t.Error(err)
			}
		})
	}
	work.Wait()
	list, _, err := k.List(t.Context(), k.Admin, Summary{}, nil)
	if err != nil || len(list) != 3 || k.usage(t).Registries != 3 {
		t.Fatalf("%d registries, %+v, %v; want 3", len(list), k.usage(t), err)
	}
	if !slices.Contains(k.AuditRecords(t), "registry.create refused by admin@a OperationForbidden") {
		t.Errorf("the refusal is not recorded: %v", k.AuditRecords(t))
	}
	if err := k.Replace(t.Context(), k.Admin, audit.Origin{}, list[0].UID, input("renamed")); err != nil {
		t.Errorf("a replacement at the limit: %v", err)
	}
	if _, err := k.Create(t.Context(), k.OtherAdmin, audit.Origin{}, input("a")); err != nil {
		t.Errorf("another organization: %v", err)
	}
	if err := k.Delete(t.Context(), k.Admin, audit.Origin{}, list[0].UID); err != nil {
		t.Fatal(err)
	}
	k.mustCreate(t, input("another"))
}

// A quota of bytes refuses growth beyond it. Usage that exceeds a lowered quota may shrink.
func TestQuotaOfBytes(t *testing.T) {
	k := mustNew(t)
	k.limits.OrgBytes = 8 << 10
	long := input("long")
	long.Scope = strings.Repeat("s", 4000)
	uid := k.mustCreate(t, long)
	second := input("second")
	other := k.mustCreate(t, second)
	second.Scope = long.Scope
	err := k.Replace(t.Context(), k.Admin, audit.Origin{}, other, second)
	if codeOf(err) != fault.CodeOperationForbidden || !strings.Contains(err.Error(), "organization-storage") {
		t.Errorf("a replacement past the quota: %v", err)
	}
	before := k.usage(t)
	k.limits.OrgBytes = 1 << 10
	if err := k.Replace(t.Context(), k.Admin, audit.Origin{}, uid, input("long")); err != nil {
		t.Errorf("a smaller replacement past the quota: %v", err)
	}
	if after := k.usage(t); after.Bytes != before.Bytes-4000 {
		t.Errorf("stored %d, want 4,000 less than %d", after.Bytes, before.Bytes)
	}
}

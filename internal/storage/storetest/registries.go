package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// fullRegistry returns a registry with a value in every field.
func fullRegistry(org store.Org, name string) store.Registry {
	return store.Registry{
		UID: uuid.NewString(), OrgUID: org.UID, Name: name, Canonical: strings.ToLower(name), Version: 1, CreatedAt: start,
		UpdatedAt: start,
		Endpoint:  " https://Registry.example.com/ ", ProviderType: "zarf", Scope: "tenant", SyncSupported: true, SpectroManifest: true,
		Private:  true,
		BasePath: "/v2/", BaseContentPath: "a/b,c", References: []string{"a/b:1", "<&>"}, AuthType: "basic", Username: "ada",
		AuthSettings: map[string]string{"accessKey": "AKIA", "roleArn": "ü"},
		TLSEnabled:   true, TLSSkipVerify: true, CA: "ca\n", Certificate: "certificate\r\n",
		Annotations: map[string]string{"a": "1"}, Labels: map[string]string{"b": "", "ü": "\x00"},
		Secrets: store.RegistrySecrets{Password: "päss \"word\" <&>", Token: "token", Key: "-----BEGIN KEY\n"},
	}
}

// withoutSecrets returns a registry as it is read without decrypting its secrets.
func withoutSecrets(r store.Registry) store.Registry {
	r.HasPassword, r.HasToken, r.HasKey = r.Secrets.Password != "", r.Secrets.Token != "", r.Secrets.Key != ""
	r.Secrets = store.RegistrySecrets{}
	return r
}

func withSecrets(r store.Registry) store.Registry {
	secrets := r.Secrets
	r = withoutSecrets(r)
	r.Secrets = secrets
	return r
}

// registries reads the stored values, byte for byte, in their own organization only.
func registries(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	full := fullRegistry(org, "Full")
	bare := store.Registry{UID: uuid.NewString(), OrgUID: org.UID, Name: "Bare", Canonical: "bare", Version: 1, CreatedAt: start,
		UpdatedAt: start, Private: true}
	synced := bare
	synced.UID, synced.Name, synced.Canonical, synced.SyncSupported, synced.Private = uuid.NewString(), "Synced", "synced", true, false
	foreign := fullRegistry(other, "Full")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(tx.Registries.Insert(ctx, full), tx.Registries.Insert(ctx, bare), tx.Registries.Insert(ctx, foreign),
			tx.Registries.Insert(ctx, synced))
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		opened, errO := tx.Registries.Get(ctx, org.UID, full.UID)
		plain, errP := tx.Registries.GetPlain(ctx, org.UID, full.UID)
		named, errN := tx.Registries.ByName(ctx, org.UID, "full")
		empty, errE := tx.Registries.Get(ctx, org.UID, bare.UID)
		if diff := cmp.Diff([]store.Registry{withSecrets(full), withoutSecrets(full), withoutSecrets(full), bare},
			[]store.Registry{opened, plain, named, empty}); diff != "" {
			t.Error(diff)
		}
		list, more, errL := tx.Registries.OfOrg(ctx, org.UID, store.ListedRegistry{}, nil)
		want := []store.ListedRegistry{
			{UID: bare.UID, Name: "Bare", SortKey: "bare", CreatedAt: start, UpdatedAt: start, Private: true},
			{UID: full.UID, Name: "Full", SortKey: "full", CreatedAt: start, UpdatedAt: start, Endpoint: full.Endpoint,
				ProviderType: "zarf", Scope: "tenant", SyncSupported: true, SpectroManifest: true, Private: true},
			{UID: synced.UID, Name: "Synced", SortKey: "synced", CreatedAt: start, UpdatedAt: start, SyncSupported: true},
		}
		if diff := cmp.Diff(want, list); diff != "" || more {
			t.Error(diff, more)
		}
		return errors.Join(errO, errP, errN, errE, errL)
	})
	for name, try := range map[string]func(ctx context.Context, tx *store.Tx) error{
		"read": func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Registries.Get(ctx, other.UID, full.UID)
			return err
		},
		"show": func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Registries.GetPlain(ctx, other.UID, full.UID)
			return err
		},
		"find": func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Registries.ByName(ctx, other.UID, "bare")
			return err
		},
		"delete": func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Delete(ctx, other.UID, full.UID) },
		"replace": func(ctx context.Context, tx *store.Tx) error {
			r := full
			r.OrgUID = other.UID
			return tx.Registries.Replace(ctx, r)
		},
	} {
		t.Run(name+" another organization's", func(t *testing.T) { wantError(t, db, store.ErrNotFound, try) })
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Delete(ctx, org.UID, full.UID) })
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error {
		return tx.Registries.Delete(ctx, org.UID, full.UID)
	})
}

// registryNames are unique in an organization, also among concurrent insertions.
func registryNames(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	const rivals = 20
	var won atomic.Int64
	var wait sync.WaitGroup
	for range rivals {
		wait.Go(func() {
			err := db.InTx(t.Context(), func(tx *store.Tx) error { return tx.Registries.Insert(t.Context(), fullRegistry(org, "Rival")) })
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, store.ErrExists):
				t.Errorf("lost with %v, want ErrExists", err)
			}
		})
	}
	wait.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of %d took the name, want 1", won.Load(), rivals)
	}
	second := fullRegistry(org, "Second")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Insert(ctx, second) })
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error {
		second.Name, second.Canonical = "RIVAL", "rival"
		return tx.Registries.Replace(ctx, second)
	})
}

// replacements need the version that was read: of many with one version exactly one is stored.
func replacements(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	created := fullRegistry(org, "Created")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Insert(ctx, created) })
	const rivals = 20
	var won atomic.Pointer[store.Registry]
	var wait sync.WaitGroup
	for i := range rivals {
		next := store.Registry{UID: created.UID, OrgUID: org.UID, Name: fmt.Sprint("n", i), Canonical: fmt.Sprint("n", i), Version: 1,
			UpdatedAt: start.Add(time.Hour), Endpoint: "h", AuthType: "token", Secrets: store.RegistrySecrets{Token: "another"}}
		wait.Go(func() {
			err := db.InTx(t.Context(), func(tx *store.Tx) error { return tx.Registries.Replace(t.Context(), next) })
			if err == nil && won.Swap(&next) != nil {
				t.Error("one version was replaced twice")
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("lost with %v, want ErrNotFound", err)
			}
		})
	}
	wait.Wait()
	want := withSecrets(*won.Load())
	want.Version, want.CreatedAt = 2, start
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		stored, err := tx.Registries.Get(ctx, org.UID, created.UID)
		if diff := cmp.Diff(want, stored); diff != "" {
			t.Error(diff)
		}
		return err
	})
}

package auth

import (
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/store/postgrestest"
)

// beside makes changes beside each other. On PostgreSQL each has begun, and read what it reads first, before one of
// them has the rows of the query; then they take them in this order. SQLite has one writer.
func (w *world) beside(t *testing.T, query string, changes ...func() error) {
	t.Helper()
	var wait sync.WaitGroup
	defer wait.Wait()
	url := postgrestest.ReadURL(w.dir)
	if url == "" {
		for _, change := range changes {
			wait.Go(func() { mustSucceed(t, change) })
		}
		return
	}
	held := postgrestest.Hold(t, url, query)
	defer held.Release(t)
	for i, change := range changes {
		wait.Go(func() { mustSucceed(t, change) })
		held.Await(t, int64(i+1))
	}
}

func mustSucceed(t *testing.T, change func() error) {
	if err := change(); err != nil {
		t.Error(err)
	}
}

// TestAKeyChangedBesideItsRevocation renames and extends a key while it is revoked: all of it holds.
func TestAKeyChangedBesideItsRevocation(t *testing.T) {
	w := mustWorld(t, nil)
	me := asPrincipal(w.org, w.user)
	made, key, err := w.CreateAPIKey(t.Context(), origin, me, NewAPIKey{Name: "ci", ExpiresAt: start.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	name, later := "renamed", start.Add(48*time.Hour)
	change := func(c APIKeyChange) func() error {
		return func() error { _, err := w.UpdateAPIKey(t.Context(), origin, me, made.UID, c); return err }
	}
	w.beside(t, "SELECT 1 FROM api_keys FOR UPDATE",
		func() error { return w.RevokeAPIKey(t.Context(), origin, me, made.UID) },
		change(APIKeyChange{Name: &name}), change(APIKeyChange{ExpiresAt: &later}))
	got, err := w.APIKey(t.Context(), me, made.UID)
	if err != nil || got.Active || got.Name != name || !got.ExpiresAt.Equal(later) {
		t.Errorf("a change is lost: %+v, %v", got, err)
	}
	if _, err := w.Authenticate(t.Context(), Presented{APIKey: key}); err == nil {
		t.Error("a revoked key is good")
	}
}

package auth

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/store/postgrestest"
)

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
	postgrestest.Beside(t, postgrestest.ReadURL(w.dir), "SELECT 1 FROM api_keys FOR UPDATE",
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

// TestTheLastAPIKeyThatMayBe is made by one of two who make it at once.
func TestTheLastAPIKeyThatMayBe(t *testing.T) {
	w := mustWorld(t, nil)
	me := asPrincipal(w.org, w.user)
	add := func(name string) error {
		_, _, err := w.CreateAPIKey(t.Context(), origin, me, NewAPIKey{Name: name, ExpiresAt: start.Add(time.Hour)})
		return err
	}
	for i := range maxAPIKeys - 1 {
		if err := add(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	var made atomic.Int64
	attempt := func(name string) func() error {
		return func() error {
			err := add(name)
			if err == nil {
				made.Add(1)
				return nil
			}
			wantFields(t, err, "name")
			return nil
		}
	}
	postgrestest.Beside(t, postgrestest.ReadURL(w.dir), "SELECT 1 FROM users FOR UPDATE", attempt("one"), attempt("other"))
	if made.Load() != 1 {
		t.Errorf("%d of two were made", made.Load())
	}
}

package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/mutes"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// alertMutes stores mutes, which are deleted when they have ended or with their registry, and the health before them.
func alertMutes(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "acme")
	registry := mustWatched(t, db, org, "r")
	of := mutes.Mute{UID: "a", OrgUID: org.UID, RegistryUID: registry.UID, Reason: "upgrade", CreatedBy: "ada@acme.example", From: start,
		Until: start.Add(time.Hour), CreatedAt: start}
	labeled := mutes.Mute{UID: "b", OrgUID: org.UID, Key: "team", Value: "x", From: start.Add(time.Minute), Until: start.Add(2 * time.Hour),
		CreatedAt: start}
	type state struct{ Valid bool }
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		for _, m := range []mutes.Mute{labeled, of} {
			if err := tx.Mutes.Insert(ctx, m); err != nil {
				return err
			}
		}
		for _, s := range []state{{false}, {true}} { // the last one counts
			if err := tx.Mutes.Note(ctx, org.UID, registry.UID, s); err != nil {
				return err
			}
		}
		return nil
	})
	of.RegistryName, of.ProjectUID = registry.Name, ""
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.Mutes.OfOrg(ctx, org.UID, start)
		later, errL := tx.Mutes.OfOrg(ctx, org.UID, of.Until)
		if diff := cmp.Diff([][]mutes.Mute{{of, labeled}, {labeled}}, [][]mutes.Mute{all, later}); diff != "" || err != nil || errL != nil {
			t.Errorf("%v %v\n%s", err, errL, diff)
		}
		var before state
		if noted, err := tx.Mutes.Pending(ctx, registry.UID, &before); !noted || !before.Valid || err != nil {
			t.Errorf("noted %t: %+v, %v", noted, before, err)
		}
		return nil
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Mutes.Clear(ctx, registry.UID) })
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		return tx.Mutes.Note(ctx, org.UID, registry.UID, state{})
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Delete(ctx, org.UID, registry.UID) })
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		noted, err := tx.Mutes.Pending(ctx, registry.UID, &state{})
		if left, errL := tx.Mutes.OfOrg(ctx, org.UID, start); noted || len(left) != 1 || err != nil || errL != nil {
			t.Errorf("after the deletion: %t, %+v, %v, %v", noted, left, err, errL)
		}
		return nil
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Mutes.Delete(ctx, org.UID, "b") })
	wantError(t, db, store.ErrNotFound, func(ctx context.Context, tx *store.Tx) error { return tx.Mutes.Delete(ctx, org.UID, "b") })
}

package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// origins belong to one organization and one cluster, and end with their registry.
func origins(t *testing.T, db *store.DB) {
	org, other := mustOrg(t, db, "one"), mustOrg(t, db, "two")
	regcred := store.Origin{Object: "prod/apps/Secret/regcred", Entry: "r.test"}
	identity := store.RegistryIdentity{Open: "open", Full: "full"}
	insert := func(org store.Org, name string, o store.Origin) store.Registry {
		r := fullRegistry(org, name)
		r.Identity = identity
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.Registries.Insert(ctx, r); err != nil || o.Object == "" {
				return err
			}
			return tx.Origins.Set(ctx, org.UID, r.UID, o)
		})
		return r
	}
	first := insert(org, "First", regcred)
	for name, o := range map[string]store.Origin{"Longer": {Object: "prod2/apps/Secret/regcred"}, "Own": {}} {
		insert(org, name, o)
	}
	insert(other, "First", regcred)
	wantError(t, db, store.ErrExists, func(ctx context.Context, tx *store.Tx) error {
		r := fullRegistry(org, "Second")
		if err := tx.Registries.Insert(ctx, r); err != nil {
			return err
		}
		return tx.Origins.Set(ctx, org.UID, r.UID, regcred)
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Origins.List(ctx, org.UID, "prod")
		want := []store.OriginRegistry{{Origin: regcred, UID: first.UID, Identity: tx.Origins.Identity(org.UID, identity)}}
		if diff := cmp.Diff(want, list); diff != "" || err != nil {
			t.Error(diff, err)
		}
		identity.Full = secret.String("other")
		if want[0].Identity == tx.Origins.Identity(org.UID, identity) {
			t.Error("definitions with other secrets have the same identity")
		}
		read, err := tx.Registries.GetPlain(ctx, org.UID, first.UID)
		if read.Origin != regcred.Object {
			t.Errorf("origin %q", read.Origin)
		}
		return err
	})
	readFrom := func(orgUID string, at time.Time, want string) {
		t.Helper()
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
			object, err := tx.Origins.ReadFrom(ctx, orgUID, first.UID, at)
			if object != want {
				t.Errorf("read from %q, want %q", object, want)
			}
			return err
		})
	}
	for _, cluster := range []string{"pro", "prod2", "prod"} {
		readFrom(org.UID, start, "")
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Origins.Hold(ctx, org.UID, cluster, "owner", start, start.Add(time.Minute))
			return err
		})
	}
	readFrom(org.UID, start, regcred.Object)
	readFrom(org.UID, start.Add(time.Minute), "")
	readFrom(other.UID, start, "")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Registries.Delete(ctx, org.UID, first.UID) })
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		if list, err := tx.Origins.List(ctx, org.UID, "prod"); len(list) > 0 || err != nil {
			t.Errorf("after the deletion: %v %v", list, err)
		}
		return nil
	})
}

// announcements are due for each change of health, and again for a registry that still fails.
func announcements(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	r := fullRegistry(org, "First")
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Registries.Insert(ctx, r); err != nil {
			return err
		}
		if err := tx.Origins.Set(ctx, org.UID, r.UID, store.Origin{Object: "prod/apps/Secret/regcred", Entry: "r.test"}); err != nil {
			return err
		}
		return tx.Watch.Schedule(ctx, org.UID, r.UID, start)
	})
	dueAfter := func(after store.Origin, repeat time.Time) []store.Announcement {
		t.Helper()
		var list []store.Announcement
		mustRead(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			list, err = tx.Origins.Unannounced(ctx, org.UID, "prod", after, repeat, 10)
			return err
		})
		return list
	}
	due := func(repeat time.Time) []store.Announcement { t.Helper(); return dueAfter(store.Origin{}, repeat) }
	end := func(valid bool, at time.Time) {
		t.Helper()
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Watch.Claim(ctx, "owner", at, at.Add(time.Minute), []store.Share{{OrgUID: org.UID, Count: 1}})
			if err != nil || len(list) != 1 {
				t.Fatalf("claimed %v %v", list, err)
			}
			w := list[0]
			w.Since, w.LastAt, w.NextAt = at, at, at
			w.State = store.HealthResult{Valid: valid}
			if !valid {
				w.State = store.HealthResult{Code: "RegistryAuthFailed", Message: "m", Hint: "h"}
			}
			return tx.Watch.End(ctx, w, 1, store.HealthPeriod{Counted: true, Result: w.State, Report: []byte("{}")})
		})
	}
	announce := func(at time.Time) store.Announcement {
		t.Helper()
		list := due(time.Time{})
		if len(list) != 1 {
			t.Fatalf("%d announcements are due", len(list))
		}
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Origins.Announced(ctx, org.UID, list[0], at) })
		if again := due(time.Time{}); len(again) > 0 {
			t.Errorf("still due: %v", again)
		}
		return list[0]
	}
	if list := due(start.Add(time.Hour)); len(list) > 0 {
		t.Errorf("due before the first check: %v", list)
	}
	end(false, start)
	for after, want := range map[store.Origin]int{{Object: "prod/apps/Secret/a", Entry: "z"}: 1, {Object: "prod/web/Secret/a"}: 0,
		{Object: "prod/apps/Secret/regcred", Entry: "a"}: 1, {Object: "prod/apps/Secret/regcred", Entry: "r.test"}: 0} {
		if list := dueAfter(after, time.Time{}); len(list) != want {
			t.Errorf("%d are due after %v", len(list), after)
		}
	}
	if a := announce(start); a.Health.State.Code != "RegistryAuthFailed" || a.WasFailing || string(a.Report) != "{}" ||
		a.RegistryUID != r.UID || a.Name != r.Name ||
		a.Object != "prod/apps/Secret/regcred" || a.Entry != "r.test" || !a.Health.Since.Equal(start) {
		t.Errorf("the first failure: %+v", a)
	}
	if list := due(start.Add(time.Second)); len(list) != 1 {
		t.Error("a failure is not repeated")
	}
	end(true, start.Add(time.Minute))
	if a := announce(start.Add(time.Minute)); !a.Health.State.Valid || !a.WasFailing {
		t.Errorf("after the fix: %+v", a)
	}
	if list := due(start.Add(time.Hour)); len(list) > 0 {
		t.Errorf("a healthy registry is repeated: %v", list)
	}
}

// clusterLeases are held by one owner at a time.
func clusterLeases(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "one")
	hold := func(owner string, at time.Time) (held bool) {
		t.Helper()
		mustWrite(t, db, func(ctx context.Context, tx *store.Tx) (err error) {
			held, err = tx.Origins.Hold(ctx, org.UID, "prod", owner, at, at.Add(time.Minute))
			return err
		})
		return held
	}
	later := start.Add(30 * time.Second)
	if !hold("a", start) || hold("b", later) || !hold("a", later) || hold("b", start.Add(time.Minute)) ||
		!hold("b", later.Add(time.Minute)) {
		t.Error("a lease is not held by one owner until its end")
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Origins.Leave(ctx, org.UID, "prod", "a") })
	if hold("a", later.Add(time.Minute)) {
		t.Error("who does not hold the lease ended it")
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Origins.Leave(ctx, org.UID, "prod", "b") })
	if !hold("a", later.Add(time.Minute)) {
		t.Error("the lease was not ended")
	}
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Orgs.Delete(ctx, org.UID) })
}

package watch

import (
	"context"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// A probe gets the newest result while it is young enough. Otherwise the registry becomes due, and the probe gets the result of the check
// that a server makes, or none.
func TestProbe(t *testing.T) {
	eachDatabase(t, func(t *testing.T, w *fixture) {
		uid := w.createForbidden()
		w.checkAll(w.mustClaim(1))
		probe := func(target Target, within time.Duration) (RegistryHealth, error) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			return w.Probe(ctx, target, 10*time.Minute)
		}
		found, err := probe(Target{Name: "Harbor"}, time.Minute)
		if err != nil || found.UID != uid || found.Org != "A" || found.Health.Word() != Failing ||
			found.Health.State.Stage != "egress" || len(found.Stages) != 2 || found.Stages[1].Stage != "egress" {
			t.Errorf("probed %+v, %v", found, err)
		}
		for target, kind := range map[Target]fault.Kind{
			{Name: "none"}: fault.NotFound, {Name: "harbor", Org: "none"}: fault.NotFound,
			{Name: "harbor", Project: "none"}: fault.NotFound,
		} {
			if _, err := probe(target, time.Minute); fault.KindOf(err) != kind {
				t.Errorf("%+v: %v", target, err)
			}
		}

		w.clock = w.clock.Add(10 * time.Minute)
		var due []store.Watched
		for within := time.Second; len(due) == 0 && within < time.Minute; within *= 2 { // until it was time to make it due
			if _, err := probe(Target{Name: "harbor", Org: "a"}, within); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("without a server: %v", err)
			}
			due = w.claimDue()
		}
		w.checkAll(due)
		if found, err = probe(Target{Name: "harbor"}, time.Minute); err != nil || !found.Health.LastAt.Equal(w.clock) {
			t.Errorf("after the check: %+v, %v", found.Health, err)
		}

		if _, err := w.stored.Create(t.Context(), w.OtherAdmin, audit.Origin{}, input("HARBOR")); err != nil {
			t.Fatal(err)
		}
		if _, err := probe(Target{Name: "harbor"}, time.Minute); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a name of two organizations: %v", err)
		}
		if found, err = probe(Target{Name: "harbor", Org: "a"}, time.Minute); err != nil || found.UID != uid {
			t.Errorf("with its organization: %+v, %v", found, err)
		}
	})
}

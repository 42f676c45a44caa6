package watch

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/mutes"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// While a registry is muted, changes are audited without alerts. The first check afterwards raises one if the health is another one than
// before the mute, and none if it is the same.
func TestMutes(t *testing.T) {
	for _, tt := range []struct {
		name       string
		mute       mutes.Mute
		during     []bool // whether the checks are valid
		afterwards []bool
		want       int64 // alerts
	}{
		{"failed and recovered", mutes.Mute{}, []bool{false, true}, []bool{true, true}, 0},
		{"failed and still fails", mutes.Mute{}, []bool{false}, []bool{false, false}, 1},
		{"recovered during the mute only", mutes.Mute{}, []bool{false}, []bool{true}, 0},
		{"fails after the mute", mutes.Mute{}, []bool{true}, []bool{false}, 1},
		{"of a label", mutes.Mute{Key: "team"}, []bool{false, true}, []bool{true}, 0},
		{"of the value of a label", mutes.Mute{Key: "team", Value: "a"}, []bool{false, true}, []bool{true}, 0},
		{"of another value", mutes.Mute{Key: "team", Value: "b"}, []bool{false, true}, []bool{true}, 2},
		{"of another label", mutes.Mute{Key: "stage"}, []bool{false, true}, []bool{true}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := mustWatch(t)
			uid := w.create("r", "https://r.example.com")
			check := func(valid bool) {
				t.Helper()
				found := result{HealthResult: store.HealthResult{Valid: valid}}
				if !valid {
					found.Code = "RegistryAuthFailed"
				}
				for _, row := range w.mustClaim(1) {
					of := registries.Registry{UID: uid, OrgUID: "org-a", Name: "r", Version: 1, Labels: map[string]string{"team": "a"}}
					if _, err := w.end(t.Context(), finishedCheck{registry: of, row: row, result: found}); err != nil {
						t.Fatal(err)
					}
				}
				w.clock = w.clock.Add(40 * time.Minute)
			}
			check(true)
			tt.mute.UID, tt.mute.OrgUID, tt.mute.From, tt.mute.CreatedAt = "mute", "org-a", w.clock, w.clock
			tt.mute.Until = w.clock.Add(40 * time.Minute * time.Duration(len(tt.during)))
			if err := w.DB.InTx(t.Context(), func(tx *store.Tx) error { return tx.Mutes.Insert(t.Context(), tt.mute) }); err != nil {
				t.Fatal(err)
			}
			for _, valid := range slices.Concat(tt.during, tt.afterwards) {
				check(valid)
			}
			n, err := store.Write(t.Context(), w.DB, func(tx *store.Tx) (int64, error) {
				return tx.Outbox.DeleteBefore(t.Context(), registriestest.Start.Add(1000*time.Hour), 1000)
			})
			if n != tt.want || err != nil {
				t.Errorf("%d alerts, want %d; %v", n, tt.want, err)
			}
			changes, last := 0, true
			for _, valid := range slices.Concat(tt.during, tt.afterwards) {
				if valid != last {
					changes++
				}
				last = valid
			}
			if audited := strings.Count(strings.Join(w.AuditRecords(t), "\n"), "registry.watch"); audited != changes {
				t.Errorf("%d of %d changes are audited", audited, changes)
			}
		})
	}
}

// The result of a check is stored although the service ends.
func TestResultsAreStoredAtTheEnd(t *testing.T) {
	w := mustWatch(t)
	uid := w.create("r", "https://r.example.com")
	ctx, end := context.WithCancel(t.Context())
	end()
	row := w.mustClaim(1)[0]
	of := registries.Registry{UID: uid, OrgUID: "org-a", Name: "r", Version: 1}
	failed := result{HealthResult: store.HealthResult{Code: "RegistryAuthFailed"}}
	if outcome, err := w.end(ctx, finishedCheck{registry: of, row: row, result: failed}); outcome != NotValid || err != nil {
		t.Errorf("%s, %v", outcome, err)
	}
}

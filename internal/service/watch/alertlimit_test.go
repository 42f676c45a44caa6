package watch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/registries/registriestest"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// For every sequence of changes: a window has at most maxAlerts, the last one announces the suppression, suppressed changes are
// reported after the window, and a registry that changes rarely gets all its alerts.
func TestLimitAlertsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row, at := store.Watched{}, dawn
		var sent []time.Time
		silentUntil, suppressed := time.Time{}, int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "checks") {
			at = at.Add(time.Duration(rapid.IntRange(1, 8*60).Draw(t,
				"minutes")) * time.Minute / time.Duration(rapid.SampledFrom([]int{1, 60}).Draw(t, "pace")))
			wanted := rapid.SampledFrom([]alerts.Kind{"", alerts.RegistryValid, alerts.RegistryNotValid}).Draw(t, "wanted")
			counted := wanted != "" || rapid.Bool().Draw(t, "counted")
			row.State.Valid = wanted == alerts.RegistryValid || wanted == "" && row.State.Valid
			n := limitOne(t, &row, wanted, counted, at)
			silent := at.Before(silentUntil)
			switch {
			case n.changed != (wanted != ""):
				t.Fatalf("changed %t, want %q", n.changed, wanted)
			case silent && n.kind != "":
				t.Fatalf("alert at %v, though suppressed until %v", at, silentUntil)
			case !silent && wanted != "" && n.kind != wanted:
				t.Fatalf("%q raised as %q", wanted, n.kind)
			case !silent && wanted == "" && (n.kind != "") != (counted && suppressed > 0):
				t.Fatalf("alert %q after %d suppressed changes", n.kind, suppressed)
			}
			if n.kind == "" {
				if wanted != "" {
					suppressed++
				}
				continue
			}
			if n.suppressed != suppressed {
				t.Fatalf("%d were suppressed, %d reported", suppressed, n.suppressed)
			}
			sent, suppressed = append(sent, at), 0
			if len(sent) > 2*maxAlerts && sent[len(sent)-1].Sub(sent[len(sent)-1-2*maxAlerts]) < alertWindow {
				t.Fatalf("more than %d within a day", 2*maxAlerts)
			}
			if !n.until.IsZero() {
				silentUntil = n.until
			}
		}
	})
}

// limitOne limits the alert of one change, or of none with "". The kind of an alert that is not raised is "".
func limitOne(t interface{ Fatalf(string, ...any) }, row *store.Watched, kind alerts.Kind, counted bool, now time.Time) limitedAlert {
	var kinds []alerts.Kind
	if kind != "" {
		kinds = []alerts.Kind{kind}
	}
	limited := limitAlerts(row, kinds, counted, now)
	if len(limited) == 0 {
		return limitedAlert{}
	}
	if len(limited) > 1 {
		t.Fatalf("%+v for %q", limited, kind)
	}
	if !limited[0].raised {
		limited[0].kind = ""
	}
	return limited[0]
}

// What began while alerts were suppressed is reported after the window, also next to another change.
func TestAlertsAfterSuppressionAreComplete(t *testing.T) {
	expiring := store.HealthResult{Valid: true, CertificateExpiresSoon: true, CredentialsExpireSoon: true}
	failing := expiring
	failing.Valid, failing.Code = false, "RegistryAuthFailed"
	for _, tt := range []struct {
		state   store.HealthResult
		changed []alerts.Kind
		want    string
	}{
		{expiring, nil, "registryValid certificateExpiresSoon credentialsExpireSoon"},
		{expiring, []alerts.Kind{alerts.RegistryValid}, "registryValid certificateExpiresSoon credentialsExpireSoon"},
		{failing, []alerts.Kind{alerts.RegistryCodeChanged}, "registryCodeChanged certificateExpiresSoon credentialsExpireSoon"},
		{failing, []alerts.Kind{alerts.CredentialsExpireSoon}, "registryNotValid certificateExpiresSoon credentialsExpireSoon"},
		{store.HealthResult{Valid: true}, nil, "registryValid"},
	} {
		row := store.Watched{State: tt.state, WindowStart: dawn, SentCount: maxAlerts, SuppressedCount: 3}
		var got []string
		for i, limited := range limitAlerts(&row, tt.changed, true, dawn.Add(alertWindow)) {
			got = append(got, string(limited.kind))
			if !limited.raised || limited.changed != slices.Contains(tt.changed, limited.kind) || (limited.suppressed == 3) != (i == 0) {
				t.Errorf("%s: %+v", tt.want, limited)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestLastAlertAnnouncesSuppression(t *testing.T) {
	row, kinds := store.Watched{}, []alerts.Kind{alerts.RegistryNotValid, alerts.RegistryValid}
	end := dawn.Add(alertWindow)
	for i := range 30 {
		n := limitOne(t, &row, kinds[i%2], true, dawn.Add(time.Duration(i)*time.Minute))
		if (n.kind != "") != (i < maxAlerts) || n.until.IsZero() != (i != maxAlerts-1) || !n.until.IsZero() && !n.until.Equal(end) {
			t.Errorf("alert %d: %+v", i, n)
		}
	}
	if n := limitOne(t, &row, "", true, end.Add(-time.Second)); n.kind != "" {
		t.Errorf("alert before the end: %+v", n)
	}
	row.State = store.HealthResult{Code: "RegistryAuthFailed"}
	if n := limitOne(t, &row, "", false, end); n.kind != "" {
		t.Errorf("alert for a check that does not count: %+v", n)
	}
	if n := limitOne(t, &row, "", true, end); n.kind != alerts.RegistryNotValid || n.suppressed != 10 || n.changed {
		t.Errorf("the alert after the window: %+v", n)
	}
	if n := limitOne(t, &row, "", true, end.Add(time.Minute)); n.kind != "" || row.SentCount != 1 || row.SuppressedCount != 0 {
		t.Errorf("second alert: %+v, %+v", n, row)
	}
	row = store.Watched{WindowStart: dawn.Add(9000 * time.Hour), SentCount: maxAlerts}
	if n := limitOne(t, &row, alerts.RegistryValid, true, dawn); n.kind == "" {
		t.Error("a wrong clock suppresses all later alerts")
	}
}

// A registry that changes often raises maxAlerts alerts, and one with its status a day later. Each change is audited.
func TestAlertsOfARegistryThatChangesOften(t *testing.T) {
	w := mustWatch(t)
	end := func(uid string, valid bool) {
		for _, row := range w.claimDue() {
			found := result{HealthResult: store.HealthResult{Valid: valid}}
			if !valid {
				found.Code = "RegistryAuthFailed"
			}
			if _, err := w.end(t.Context(),
				finishedCheck{registry: registries.Registry{UID: uid, OrgUID: "org-a", Name: "r", Version: 1}, row: row,
					result: found}); err != nil {
				t.Fatal(err)
			}
		}
	}
	raised := func() (n int64) {
		w.clock = w.clock.Add(100 * 24 * time.Hour)
		defer func() { w.clock = w.clock.Add(-100 * 24 * time.Hour) }()
		if err := w.DB.InTx(t.Context(), func(tx *store.Tx) (err error) {
			n, err = tx.Outbox.DeleteBefore(t.Context(), w.clock, 1000)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	uid := w.create("r", "https://r.example.com")
	for i := range 30 {
		end(uid, i%2 == 1)
		w.clock = w.clock.Add(20 * time.Minute)
	}
	if n := raised(); n != maxAlerts {
		t.Errorf("%d alerts of 30 changes, want %d", n, maxAlerts)
	}
	changes := 0
	for _, line := range w.AuditRecords(t) {
		if line == "registry.watch valid by service" || line == "registry.watch notValid by service RegistryAuthFailed" {
			changes++
		}
	}
	if changes != 30 {
		t.Errorf("%d of 30 changes are audited: %v", changes, w.AuditRecords(t))
	}
	w.clock = registriestest.Start.Add(alertWindow)
	for range 3 {
		end(uid, true)
		w.clock = w.clock.Add(20 * time.Minute)
	}
	if n := raised(); n != 1 {
		t.Errorf("%d alerts a day later, want one of how it ended", n)
	}
}

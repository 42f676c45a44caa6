package watch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/alerts"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

var dawn = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

func valid(expiring bool) result {
	return result{HealthResult: store.HealthResult{Valid: true, CertificateExpiresSoon: expiring}}
}

// expiring returns a valid result with credentials that expire soon.
func expiring() result {
	return result{HealthResult: store.HealthResult{Valid: true, CredentialsExpireSoon: true}}
}

func refused() result {
	return result{HealthResult: store.HealthResult{Code: "RegistryAuthFailed", Stage: "auth"}}
}

func unreachable(code string) result {
	return result{HealthResult: store.HealthResult{Code: code, Stage: "connect"}, retryable: true}
}

// drawResult draws one of a few results, so that equal results repeat.
func drawResult(t *rapid.T) result {
	return rapid.SampledFrom([]result{
		valid(false), valid(true), expiring(), refused(), unreachable("RegistryUnreachable"), unreachable("RegistryUnavailable"),
		{HealthResult: store.HealthResult{Code: "RegistryAuthFailed", Stage: "auth", Field: "auth.password"}},
		{HealthResult: store.HealthResult{Code: "RegistryTLSFailed", Stage: "tls", CertificateExpiresSoon: true}},
		{HealthResult: store.HealthResult{Valid: true, CertificateExpiresSoon: true, CredentialsExpireSoon: true}},
	}).Draw(t, "result")
}

// For every sequence of results: the status is that of the last counted check, a transient failure does not count at once, an alert is
// raised exactly if the status differs from that of the last alert, and no counter grows without limit.
func TestDecideInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := store.Watched{}
		var reported store.HealthResult // by the last alert
		knows := false
		at := dawn
		for range rapid.IntRange(1, 60).Draw(t, "checks") {
			at = at.Add(time.Minute)
			now := drawResult(t)
			before := row
			d := decide(before, now, at)
			row = d.after
			news := !knows && !now.Valid || knows && (reported.Valid != now.Valid || reported.Code != now.Code)
			switch {
			case d.confirm == d.counted:
				t.Fatalf("a check counts or is confirmed, one of the two: %+v", d)
			case !d.counted && (d.alert != "" || row.State != before.State || !row.Since.Equal(before.Since)):
				t.Fatalf("an uncounted check changed the status: %+v", d)
			case !d.counted && (!now.retryable || before.Unconfirmed || !news):
				t.Fatalf("not counted: %+v after %+v", now, before)
			case d.counted && now.retryable && news && !before.Unconfirmed:
				t.Fatalf("counted without confirmation: %+v", now)
			case d.backoff < 1 || d.backoff > maxBackoff || !now.retryable && d.backoff != 1:
				t.Fatalf("backoff of %d after %+v", d.backoff, now)
			}
			if !d.counted {
				continue
			}
			if row.State.Valid != now.Valid || row.State.Code != now.Code || row.Unconfirmed {
				t.Fatalf("the state is %+v after %+v", row.State, now)
			}
			if row.Since.After(at) || row.Since.IsZero() || knows && !news && !row.Since.Equal(before.Since) {
				t.Fatalf("since %v after %v", row.Since, before.Since)
			}
			expiring := row.State.CertificateExpiresSoon && !reported.CertificateExpiresSoon || row.State.CredentialsExpireSoon && !reported.CredentialsExpireSoon
			if (d.alert != "") != (news || expiring) {
				t.Fatalf("alert %q, news %t, expiring %t: %+v after %+v", d.alert, news, expiring, now, before)
			}
			reported, knows = row.State, true
		}
	})
}

func TestDecideByExample(t *testing.T) {
	for _, tt := range []struct {
		name   string
		checks []result
		alerts []alerts.Kind // of the checks, in order; "" for none
	}{
		{"valid from the start", []result{valid(false), valid(false)}, []alerts.Kind{"", ""}},
		{"not valid from the start", []result{refused(), refused()}, []alerts.Kind{alerts.RegistryNotValid, ""}},
		{"a password that changed and was corrected", []result{valid(false), refused(), refused(), valid(false)}, []alerts.Kind{"", alerts.RegistryNotValid, "", alerts.RegistryValid}},
		{"one transient failure", []result{valid(false), unreachable("a"), valid(false)}, []alerts.Kind{"", "", ""}},
		{"an outage", []result{valid(false), unreachable("a"), unreachable("a"), unreachable("a"), valid(false)}, []alerts.Kind{"", "", alerts.RegistryNotValid, "", alerts.RegistryValid}},
		{"an outage with two codes", []result{valid(false), unreachable("a"), unreachable("b"), unreachable("b")}, []alerts.Kind{"", "", alerts.RegistryNotValid, ""}},
		{"a transient failure within a failure", []result{refused(), unreachable("a"), refused()}, []alerts.Kind{alerts.RegistryNotValid, "", ""}},
		{"a transient failure of another kind within an outage", []result{unreachable("a"), unreachable("a"), unreachable("b"), unreachable("a")}, []alerts.Kind{"", alerts.RegistryNotValid, "", ""}},
		{"another reason", []result{refused(), unreachable("a"), unreachable("a")}, []alerts.Kind{alerts.RegistryNotValid, "", alerts.RegistryCodeChanged}},
		{"a certificate", []result{valid(false), valid(true), valid(true), valid(false), valid(true)}, []alerts.Kind{"", alerts.CertificateExpiresSoon, "", "", alerts.CertificateExpiresSoon}},
		{"a certificate during an outage raises one alert", []result{valid(true), unreachable("a"), unreachable("a"), valid(true)}, []alerts.Kind{alerts.CertificateExpiresSoon, "", alerts.RegistryNotValid, alerts.RegistryValid}},
		{"credentials", []result{valid(false), expiring(), expiring(), valid(false), expiring()}, []alerts.Kind{"", alerts.CredentialsExpireSoon, "", "", alerts.CredentialsExpireSoon}},
		{"credentials during an outage", []result{expiring(), unreachable("a"), unreachable("a"), expiring()}, []alerts.Kind{alerts.CredentialsExpireSoon, "", alerts.RegistryNotValid, alerts.RegistryValid}},
		{"credentials after a certificate", []result{valid(true), expiring()}, []alerts.Kind{alerts.CertificateExpiresSoon, alerts.CredentialsExpireSoon}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			row := store.Watched{}
			for i, now := range tt.checks {
				d := decide(row, now, dawn.Add(time.Duration(i)*time.Minute))
				if d.alert != tt.alerts[i] {
					t.Errorf("check %d: alert %q, want %q", i, d.alert, tt.alerts[i])
				}
				row = d.after
			}
		})
	}
}

// Credentials that expire soon stay in the status until a check has read others.
func TestExpiryOfReplacedCredentials(t *testing.T) {
	for _, tt := range []struct {
		now  result
		want bool
	}{{unreachable("a"), true}, {refused(), false}, {result{HealthResult: store.HealthResult{Code: "RegistryPathNotFound", Stage: "content"}}, false}, {valid(false), false}} {
		before := store.Watched{Since: dawn, Unconfirmed: true, State: expiring().HealthResult}
		if d := decide(before, tt.now, dawn); !d.counted || d.after.State.CredentialsExpireSoon != tt.want {
			t.Errorf("after %+v: %+v", tt.now, d.after.State)
		}
	}
}

// The warnings of a report become the status, and its alert names each of them.
func TestExpiryOfReport(t *testing.T) {
	for _, tt := range []struct {
		warnings []regcheck.WarningCode
		kind     alerts.Kind
		want     []string
	}{
		{[]regcheck.WarningCode{regcheck.WarnRedirected}, "", nil},
		{[]regcheck.WarningCode{regcheck.WarnCertificateExpiresSoon}, alerts.CertificateExpiresSoon, []string{"certificate"}},
		{[]regcheck.WarningCode{regcheck.WarnCredentialsExpireSoon}, alerts.CredentialsExpireSoon, []string{"credentials"}},
		{[]regcheck.WarningCode{regcheck.WarnCertificateExpiresSoon, regcheck.WarnCredentialsExpireSoon}, alerts.CertificateExpiresSoon, []string{"certificate", "credentials"}},
	} {
		report := &regcheck.Report{Valid: true}
		for _, code := range tt.warnings {
			report.Warnings = append(report.Warnings, regcheck.Warning{Code: code})
		}
		d := decide(store.Watched{}, resultOf(report), dawn)
		if d.alert != tt.kind {
			t.Errorf("%v: alert %q", tt.warnings, d.alert)
		}
		if tt.kind == "" {
			continue
		}
		text := sentence(alerts.Alert{Kind: d.alert, Registry: &alerts.Registry{Name: "r", Current: shown(d.after.State)}})
		for _, word := range []string{"certificate", "credentials"} {
			if strings.Contains(text, word) != slices.Contains(tt.want, word) {
				t.Errorf("%v: %s", tt.warnings, text)
			}
		}
		if record := changeRecord(finishedCheck{}, d, dawn); record.Reason != string(tt.kind) || record.Outcome != audit.Valid {
			t.Errorf("%v: recorded as %+v", tt.warnings, record)
		}
	}
}

func TestBackoffGrowsAndEnds(t *testing.T) {
	row, got := store.Watched{}, []int{}
	for range 7 {
		d := decide(row, unreachable("a"), dawn)
		row, got = d.after, append(got, d.backoff)
	}
	want := []int{1, 1, 2, 4, 4, 4, 4}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("backoff %v, want %v", got, want)
		}
	}
	if d := decide(row, valid(false), dawn); d.backoff != 1 || d.after.Unreachable != 0 {
		t.Errorf("back again: %+v", d)
	}
}

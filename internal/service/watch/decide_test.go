package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
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

// fromProvider returns the result of a check whose credentials were not obtained.
func fromProvider(reason string) result {
	return result{HealthResult: store.HealthResult{Code: "RegistryCredentialSourceFailed", Stage: "credentials", Reason: reason},
		retryable: strings.HasPrefix(reason, "provider")}
}

// drawResult draws one of a few results with any warnings, so that equal results repeat and changes coincide.
func drawResult(t *rapid.T) result {
	found := rapid.SampledFrom([]result{
		valid(false), refused(), unreachable("RegistryUnreachable"), unreachable("RegistryUnavailable"),
		{HealthResult: store.HealthResult{Code: "RegistryAuthFailed", Stage: "auth", Field: "auth.password"}},
		{HealthResult: store.HealthResult{Code: "RegistryTLSFailed", Stage: "tls"}},
		fromProvider("secretWrong"), fromProvider("providerUnavailable"), fromProvider("providerUnreachable"),
	}).Draw(t, "result")
	found.CertificateExpiresSoon = rapid.Bool().Draw(t, "certificate expires soon")
	found.CredentialsExpireSoon = rapid.Bool().Draw(t, "credentials expire soon")
	return found
}

// For every sequence of results: the status is that of the last counted check, a transient failure does not count at once, everything
// that became true raises exactly one alert whatever changes with it, nothing else raises one, and no counter grows without limit.
func TestDecideInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := store.Watched{}
		var reported store.HealthResult // by the last alerts
		knows := false
		at := dawn
		for range rapid.IntRange(1, 60).Draw(t, "checks") {
			at = at.Add(time.Minute)
			now := drawResult(t)
			before := row
			d := decide(before, now, at)
			row = d.after
			down := now.Reason == "providerUnavailable" || now.Reason == "providerUnreachable"
			wasDown := reported.Reason == "providerUnavailable" || reported.Reason == "providerUnreachable"
			news := !knows && !now.Valid || knows && (reported.Valid != now.Valid || reported.Code != now.Code || down != wasDown)
			switch {
			case d.confirm == d.counted:
				t.Fatalf("a check counts or is confirmed, one of the two: %+v", d)
			case !d.counted && (len(d.alerts) > 0 || row.State != before.State || !row.Since.Equal(before.Since)):
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
			if word := row.Health().Word(); (word == store.Failing) != (!now.Valid && !down) {
				t.Fatalf("%s after %+v", word, now)
			}
			if row.Since.After(at) || row.Since.IsZero() || knows && !news && !row.Since.Equal(before.Since) {
				t.Fatalf("since %v after %v", row.Since, before.Since)
			}
			if (now.CertificateExpiresSoon && !row.State.CertificateExpiresSoon) ||
				(now.CredentialsExpireSoon && !row.State.CredentialsExpireSoon) {
				t.Fatalf("the state %+v lacks a warning of %+v", row.State, now)
			}
			checkAlerts(t, d.alerts, map[alerts.Kind]bool{
				alerts.RegistryValid:          news && now.Valid,
				alerts.RegistryNotValid:       news && !now.Valid && (!knows || reported.Valid || wasDown),
				alerts.RegistryCodeChanged:    news && !now.Valid && knows && !reported.Valid && !wasDown,
				alerts.CertificateExpiresSoon: row.State.CertificateExpiresSoon && !reported.CertificateExpiresSoon,
				alerts.CredentialsExpireSoon:  row.State.CredentialsExpireSoon && !reported.CredentialsExpireSoon,
			})
			reported, knows = row.State, true
		}
	})
}

// checkAlerts fails unless each kind that became true was raised once, and no other.
func checkAlerts(t *rapid.T, raised []alerts.Kind, became map[alerts.Kind]bool) {
	times := map[alerts.Kind]int{}
	for _, kind := range raised {
		times[kind]++
	}
	for kind, is := range became {
		if is != (times[kind] == 1) {
			t.Fatalf("%s became true: %t; alerts %v", kind, is, raised)
		}
		delete(times, kind)
	}
	if len(times) > 0 {
		t.Fatalf("unknown alerts %v", times)
	}
}

func TestDecideByExample(t *testing.T) {
	failing := refused()
	failing.CertificateExpiresSoon, failing.CredentialsExpireSoon = true, true
	for _, tt := range []struct {
		name   string
		checks []result
		alerts []string // of the checks, in order
	}{
		{"valid from the start", []result{valid(false), valid(false)}, []string{"", ""}},
		{"not valid from the start", []result{refused(), refused()}, []string{"registryNotValid", ""}},
		{"a password that changed and was corrected", []result{valid(false), refused(), refused(), valid(false)},
			[]string{"", "registryNotValid", "", "registryValid"}},
		{"one transient failure", []result{valid(false), unreachable("a"), valid(false)}, []string{"", "", ""}},
		{"an outage", []result{valid(false), unreachable("a"), unreachable("a"), unreachable("a"), valid(false)},
			[]string{"", "", "registryNotValid", "", "registryValid"}},
		{"an outage with two codes", []result{valid(false), unreachable("a"), unreachable("b"), unreachable("b")},
			[]string{"", "", "registryNotValid", ""}},
		{"a transient failure within a failure", []result{refused(), unreachable("a"), refused()}, []string{"registryNotValid", "", ""}},
		{"a transient failure of another kind within an outage",
			[]result{unreachable("a"), unreachable("a"), unreachable("b"), unreachable("a")}, []string{"", "registryNotValid", "", ""}},
		{"another reason", []result{refused(), unreachable("a"), unreachable("a")},
			[]string{"registryNotValid", "", "registryCodeChanged"}},
		{"a provider that is down", []result{valid(false), fromProvider("providerUnavailable"), fromProvider("providerUnreachable"),
			fromProvider("providerUnavailable"), valid(false)}, []string{"", "", "registryNotValid", "", "registryValid"}},
		{"a wrong key after a provider that was down", []result{fromProvider("providerUnavailable"), fromProvider("providerUnavailable"),
			fromProvider("secretWrong"), fromProvider("secretWrong")}, []string{"", "registryNotValid", "registryNotValid", ""}},
		{"a provider that is down after a wrong key", []result{fromProvider("secretWrong"), fromProvider("providerUnavailable"),
			fromProvider("providerUnavailable"), fromProvider("secretWrong")},
			[]string{"registryNotValid", "", "registryCodeChanged", "registryNotValid"}},
		{"a certificate", []result{valid(false), valid(true), valid(true), valid(false), valid(true)},
			[]string{"", "certificateExpiresSoon", "", "", "certificateExpiresSoon"}},
		{"a certificate during an outage raises one alert", []result{valid(true), unreachable("a"), unreachable("a"), valid(true)},
			[]string{"certificateExpiresSoon", "", "registryNotValid", "registryValid"}},
		{"credentials", []result{valid(false), expiring(), expiring(), valid(false), expiring()},
			[]string{"", "credentialsExpireSoon", "", "", "credentialsExpireSoon"}},
		{"credentials during an outage", []result{expiring(), unreachable("a"), unreachable("a"), expiring()},
			[]string{"credentialsExpireSoon", "", "registryNotValid", "registryValid"}},
		{"credentials after a certificate", []result{valid(true), expiring()}, []string{"certificateExpiresSoon", "credentialsExpireSoon"}},
		{"a certificate seen by the check that recovers", []result{refused(), valid(true), valid(true)},
			[]string{"registryNotValid", "registryValid certificateExpiresSoon", ""}},
		{"a certificate seen by the check that fails", []result{valid(false), failing, failing},
			[]string{"", "registryNotValid certificateExpiresSoon credentialsExpireSoon", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			row := store.Watched{}
			for i, now := range tt.checks {
				d := decide(row, now, dawn.Add(time.Duration(i)*time.Minute))
				if got := strings.Trim(fmt.Sprint(d.alerts), "[]"); got != tt.alerts[i] {
					t.Errorf("check %d: alerts %q, want %q", i, got, tt.alerts[i])
				}
				row = d.after
			}
		})
	}
}

// A check that ended before TLS keeps the certificates of the endpoint that an earlier one saw, with the client certificate of its own
// definition. The status has the first expiry of them.
func TestCertificatesOfAnEndpointStay(t *testing.T) {
	of := func(role string, days int) registries.Certificate {
		return registries.Certificate{Role: role, NotAfter: dawn.AddDate(0, 0, days)}
	}
	server, ca, client, renewed := of("server", 3), of("ca", 9), of("client", 5), of("client", 2)
	type all = registries.Certificates
	for _, tt := range []struct {
		before, now, want all
		valid             bool
		first             time.Time
	}{
		{nil, all{server, ca, client}, all{server, ca, client}, true, server.NotAfter},
		{all{server, ca, client}, all{renewed}, all{server, ca, renewed}, false, renewed.NotAfter},
		{all{server, ca, client}, nil, all{server, ca}, false, server.NotAfter},
		{all{server, client}, all{of("server", 7)}, all{of("server", 7)}, false, of("server", 7).NotAfter},
		{all{server, client}, nil, nil, true, time.Time{}}, // now without TLS
	} {
		before := store.Watched{Since: dawn, Unconfirmed: true, Certificates: tt.before}
		before.State.CertificateNotAfter = firstOf(tt.before)
		now := result{certificates: tt.now, HealthResult: store.HealthResult{Valid: tt.valid, Code: "RegistryUnreachable",
			CertificateNotAfter: firstOf(tt.now)}}
		d := decide(before, now, dawn)
		if at := d.after.State.CertificateNotAfter; !slices.Equal(d.after.Certificates, tt.want) || !at.Equal(tt.first) {
			t.Errorf("%v after %v: %v, the first at %v; want %v", tt.now, tt.before, d.after.Certificates, at, tt.want)
		}
	}
}

// A certificate that expires soon stays in the status until a check has seen another one that TLS accepts.
func TestExpiryOfReplacedCertificates(t *testing.T) {
	server := registries.Certificates{{Role: "server", NotAfter: dawn.AddDate(1, 0, 0)}}
	for _, tt := range []struct {
		stage        string
		certificates registries.Certificates
		want         bool
	}{{"connect", nil, true}, {"tls", server, true}, {"auth", server, false},
		{"connect", registries.Certificates{{Role: "client", NotAfter: dawn.AddDate(1, 0, 0)}}, true}} {
		now := refused()
		now.Stage, now.certificates = tt.stage, tt.certificates
		before := store.Watched{Since: dawn, State: valid(true).HealthResult}
		if d := decide(before, now, dawn); d.after.State.CertificateExpiresSoon != tt.want {
			t.Errorf("after %+v: %+v", now, d.after.State)
		}
	}
}

// Credentials that expire soon stay in the status until a check has read others.
func TestExpiryOfReplacedCredentials(t *testing.T) {
	for _, tt := range []struct {
		now  result
		want bool
	}{{unreachable("a"), true}, {refused(), false},
		{result{HealthResult: store.HealthResult{Code: "RegistryPathNotFound", Stage: "content"}}, false}, {valid(false), false}} {
		before := store.Watched{Since: dawn, Unconfirmed: true, State: expiring().HealthResult}
		before.State.CredentialsNotAfter, before.State.CertificateNotAfter = dawn, dawn
		d := decide(before, tt.now, dawn)
		if !d.counted || d.after.State.CredentialsExpireSoon != tt.want || d.after.State.CredentialsNotAfter.IsZero() == tt.want {
			t.Errorf("after %+v: %+v", tt.now, d.after.State)
		}
		if d.after.State.CertificateNotAfter.IsZero() != tt.now.Valid { // it is valid without TLS
			t.Errorf("after %+v the certificate expires at %v", tt.now, d.after.State.CertificateNotAfter)
		}
	}
}

// The warnings of a report become the status, and each has an alert and an audit record of its own.
func TestExpiryOfReport(t *testing.T) {
	texts := map[alerts.Kind]string{
		alerts.CertificateExpiresSoon: `The certificate of registry "r" (https://r.example.com) expires on Tue, 01 Dec 2026 10:00:00 UTC.`,
		alerts.CredentialsExpireSoon:  `The credentials of registry "r" (https://r.example.com) expired on Sat, 21 Nov 2026 06:00:00 UTC.`,
	}
	for _, tt := range []struct {
		warnings []regcheck.WarningCode
		want     []alerts.Kind
	}{
		{[]regcheck.WarningCode{regcheck.WarnRedirected}, nil},
		{[]regcheck.WarningCode{regcheck.WarnCertificateExpiresSoon}, []alerts.Kind{alerts.CertificateExpiresSoon}},
		{[]regcheck.WarningCode{regcheck.WarnClientCertificateExpiresSoon}, []alerts.Kind{alerts.CertificateExpiresSoon}},
		{[]regcheck.WarningCode{regcheck.WarnCredentialsExpireSoon}, []alerts.Kind{alerts.CredentialsExpireSoon}},
		{[]regcheck.WarningCode{regcheck.WarnCredentialsExpireSoon, regcheck.WarnCertificateExpiresSoon},
			[]alerts.Kind{alerts.CertificateExpiresSoon, alerts.CredentialsExpireSoon}},
	} {
		report := &regcheck.Report{Valid: true, CredentialsExpire: dawn,
			Certificates: []regcheck.Certificate{{Role: regcheck.RoleServer, NotAfter: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)}}}
		for _, code := range tt.warnings {
			report.Warnings = append(report.Warnings, regcheck.Warning{Code: code})
		}
		d := decide(store.Watched{}, resultOf(report), dawn)
		if !slices.Equal(d.alerts, tt.want) {
			t.Errorf("%v: alerts %q", tt.warnings, d.alerts)
		}
		for _, kind := range d.alerts {
			registry := alerts.Registry{Name: "r", Endpoint: "https://r.example.com", Current: alerts.ResultOf(d.after.State)}
			if text := sentence(alerts.Alert{Kind: kind, At: dawn, Registry: &registry}); text != texts[kind] {
				t.Errorf("%v: %s", tt.warnings, text)
			}
			if record := changeRecord(finishedCheck{}, d.after, kind, dawn); record.Reason != string(kind) ||
				record.Outcome != audit.Valid {
				t.Errorf("%v: recorded as %+v", tt.warnings, record)
			}
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

// The alert says which side is down.
func TestAlertNamesTheSideThatIsDown(t *testing.T) {
	registry := &alerts.Registry{Name: "r", Endpoint: "r.example.com"}
	for kind, want := range map[alerts.Kind]string{
		alerts.RegistryNotValid:    "the provider of its credentials is down, not the registry. sts returned 503.",
		alerts.RegistryCodeChanged: "the provider of its credentials is down, not the registry. sts returned 503.",
	} {
		registry.Current = alerts.ResultOf(fromProvider("providerUnavailable").HealthResult)
		registry.Current.Message = "sts returned 503."
		if text := sentence(alerts.Alert{Kind: kind, Registry: registry}); !strings.HasSuffix(text, want) {
			t.Errorf("%s: %s", kind, text)
		}
	}
	registry.Current = alerts.ResultOf(refused().HealthResult)
	if text := sentence(alerts.Alert{Kind: alerts.RegistryNotValid, Registry: registry}); !strings.Contains(text, "is not valid") {
		t.Error(text)
	}
}

package regcheck_test

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
)

// A report has the certificates that the connection needs, and when the first of them expires. That of the definition is known without a
// connection.
func TestCertificates(t *testing.T) {
	type expiry struct {
		role, subject string
		at            time.Time
	}
	now := time.Now()
	server, ca := expiry{"server", "registry.test", now.AddDate(0, 0, 10)}, expiry{"ca", "System Root", now.AddDate(10, 0, 0)}
	for _, row := range []struct {
		server, client string // client is the word of its certificate
		broken         bool
		want           []expiry
	}{
		{"tls-expires-soon", "", false, []expiry{server, ca}},
		{"tls-client-required", "soonClient", false,
			[]expiry{{"server", "registry.test", now.AddDate(1, 0, 0)}, ca, {"client", "soon", now.AddDate(0, 0, 10)}}},
		{"tls-expires-soon", "expiredClient", true, []expiry{{"client", "late", now.AddDate(0, 0, -1)}}},
		{"open-http", "", false, nil},
	} {
		t.Run(row.server+row.client, func(t *testing.T) {
			report := checkWithClient(t, row.server, row.client, row.broken)
			if len(report.Certificates) != len(row.want) {
				t.Fatalf("%+v, want %v", report.Certificates, row.want)
			}
			var first time.Time
			for i, c := range report.Certificates {
				want := row.want[i]
				if string(c.Role) != want.role || c.Subject != want.subject || c.NotAfter.Sub(want.at).Abs() > time.Minute ||
					len(c.Fingerprint) != 32*3-1 {
					t.Errorf("%+v, want %v", c, want)
				}
				if first.IsZero() || c.NotAfter.Before(first) {
					first = c.NotAfter
				}
			}
			if !report.CertificateExpires().Equal(first) {
				t.Errorf("the first expires at %v", report.CertificateExpires())
			}
		})
	}
}

// checkWithClient checks a registry with a client certificate, the word of which may be empty.
func checkWithClient(t *testing.T, server, client string, broken bool) *regcheck.Report {
	t.Helper()
	g := regchecktest.Start(t, server)
	words, err := g.Words()
	if err != nil {
		t.Fatal(err)
	}
	d := regcheck.Definition{Endpoint: g.Endpoint, Auth: &regcheck.Auth{TLS: regcheck.TLS{Enabled: client != "",
		Certificate: words[client+"Certificate"], Key: secret.String(words[client+"Key"])}}}
	if broken {
		d.Endpoint = "https://127.0.0.1:1"
	}
	report, err := checker(g, egress.Policy{}, matrixRow{}).Check(t.Context(), regcheck.MustParse(t, d), nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A report has the time at which the credentials expire, also if no stage could use them.
func TestCredentialsExpire(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	claims := base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf(`{"exp": %d}`, at.Unix())))
	for password, want := range map[string]time.Time{"e30." + claims + ".c2ln": at, "hunter2": {}} {
		d := regcheck.Definition{Endpoint: "http://127.0.0.1:1", Auth: &regcheck.Auth{Username: "u", Password: secret.String(password)}}
		report, err := (&regcheck.Checker{}).Check(t.Context(), regcheck.MustParse(t, d), nil)
		if err != nil || report.Valid || !report.CredentialsExpire.Equal(want) {
			t.Errorf("%+v, %v; want %v", report, err, want)
		}
	}
}

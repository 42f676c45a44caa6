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

// A report has the time at which the first certificate expires, for metrics.
func TestCertificateExpires(t *testing.T) {
	for _, row := range []struct {
		server string
		days   int // 0: there is no certificate
	}{
		{"tls-expires-soon", 10},
		{"open-http", 0},
	} {
		t.Run(row.server, func(t *testing.T) {
			g := regchecktest.Start(t, row.server)
			plan := regcheck.MustParse(t, regcheck.Definition{Endpoint: g.Endpoint, Auth: &regcheck.Auth{}})
			report, err := checker(g, egress.Policy{}, matrixRow{}).Check(t.Context(), plan, nil)
			if err != nil {
				t.Fatal(err)
			}
			if row.days == 0 {
				if !report.CertificateExpires.IsZero() {
					t.Errorf("without TLS: %v", report.CertificateExpires)
				}
				return
			}
			wanted := time.Now().AddDate(0, 0, row.days)
			if got := report.CertificateExpires; got.Before(wanted.AddDate(0, 0, -1)) || got.After(wanted.AddDate(0, 0, 1)) {
				t.Errorf("the certificate expires at %v, want about %v", got, wanted)
			}
		})
	}
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

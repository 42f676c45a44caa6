package regcheck_test

import (
	"testing"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
)

// With TLS 1.3 a server rejects the client certificate after the client's handshake, so its alert, its reset and our
// request cross each other. The report must not depend on which comes first.
func TestClientCertificateRaces(t *testing.T) {
	for _, row := range []struct {
		server string
		client string // prefix of the words of a client certificate
		times  int
		code   regcheck.Code
		reason regcheck.Reason
	}{
		{"tls-client-required", "", 20, regcheck.CodeTLSFailed, regcheck.ReasonClientCertificateRequired},
		{"tls-client-required", "foreignClient", 20, regcheck.CodeTLSFailed, regcheck.ReasonClientCertificateRejected},
		{"tls-client-required-http2", "", 20, regcheck.CodeTLSFailed, regcheck.ReasonClientCertificateRequired},
		{"tls-client-required-http2", "foreignClient", 20, regcheck.CodeTLSFailed, regcheck.ReasonClientCertificateRejected},
		{"tls-client-required-reset", "", 20, regcheck.CodeTLSFailed, regcheck.ReasonClientCertificateRequired},
		{"tls-client-required-reset-1.2", "", 20, regcheck.CodeTLSFailed, regcheck.ReasonClientCertificateRequired},
		{"token-client-required", "", 200, regcheck.CodeTokenServiceFailed, regcheck.ReasonRealmTLS},
		{"token-client-required-http2", "", 20, regcheck.CodeTokenServiceFailed, regcheck.ReasonRealmTLS},
		{"token-client-required-reset", "", 200, regcheck.CodeTokenServiceFailed, regcheck.ReasonRealmTLS},
		{"token-client-required-reset-1.2", "", 20, regcheck.CodeTokenServiceFailed, regcheck.ReasonRealmTLS},
	} {
		t.Run(row.server+" "+row.client, func(t *testing.T) {
			t.Parallel()
			g := regchecktest.Start(t, row.server)
			words, err := g.Words()
			if err != nil {
				t.Fatal(err)
			}
			d := regcheck.Definition{Endpoint: g.Endpoint,
				Auth: &regcheck.Auth{Username: regchecktest.User, Password: regchecktest.Password}}
			if row.client != "" {
				d.Auth.TLS = regcheck.TLS{Enabled: true, Certificate: words[row.client+"Certificate"],
					Key: secret.String(words[row.client+"Key"])}
			}
			c := checker(g, egress.Policy{}, matrixRow{})
			for range row.times {
				report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
				if err != nil {
					t.Fatal(err)
				}
				if report.Code != row.code || report.Reason != row.reason || report.Retryable {
					t.Fatalf("%s %s, retryable %t: %s", report.Code, report.Reason, report.Retryable, report.Message)
				}
			}
		})
	}
}

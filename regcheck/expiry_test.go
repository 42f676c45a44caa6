package regcheck_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
	"github.com/regwarden/regwarden/secret"
)

// A password and a token that contain their expiry raise a warning at their field. Tokens of a token service, which always are
// short-lived, raise none: see the matrix.
func TestCredentialsExpireSoon(t *testing.T) {
	const day = 24 * time.Hour
	// Half an hour more than the time that the warning shows.
	jwt := func(valid time.Duration) secret.String {
		claims := fmt.Sprintf(`{"iat": %d, "exp": %d}`, time.Now().Add(-90*day).Unix(), time.Now().Add(valid+30*time.Minute).Unix())
		return secret.String(regchecktest.TokenHead + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln")
	}
	for _, row := range []struct {
		name, field, want string
		auth              regcheck.Auth
	}{
		{"password", "auth.password", " The token expires in 3 days, at ", regcheck.Auth{Username: "ada", Password: jwt(3 * day)}},
		{"token", "auth.token", " The token expires in 5 hours, at ", regcheck.Auth{Token: jwt(5 * time.Hour)}},
		{"token as password", "auth.token", " The token expired 9 days ago, at ",
			regcheck.Auth{Username: "ada", Token: jwt(-9*day - time.Hour)}},
		{"much later", "", "", regcheck.Auth{Username: "ada", Password: jwt(8 * day)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := regchecktest.Start(t, "open")
			c := checker(g, egress.Policy{}, matrixRow{})
			report, err := c.Check(t.Context(), regcheck.MustParse(t, regcheck.Definition{Endpoint: g.Endpoint, Auth: &row.auth}), nil)
			if err != nil {
				t.Fatal(err)
			}
			field, message := "", ""
			for _, w := range report.Warnings {
				if w.Code == regcheck.WarnCredentialsExpireSoon {
					field, message = w.Field, w.Message
				}
			}
			if field != row.field || !strings.Contains(message, row.want) || (message == "") != (row.want == "") {
				t.Errorf("warning at %q: %q, want %q: …%q…", field, message, row.field, row.want)
			}
		})
	}
}

// A report has no expiry of obtained credentials, which are renewed: neither in the check that obtains them nor in one that has them.
func TestObtainedCredentialsHaveNoExpiry(t *testing.T) {
	claims := base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf(`{"exp": %d}`, time.Now().Add(3*time.Hour).Unix())))
	password, asked := secret.String(regchecktest.TokenHead+claims+".c2ln"), 0
	g := regchecktest.Start(t, "open")
	c := checker(g, egress.Policy{}, matrixRow{})
	c.Obtained = new(regcheck.CredentialCache)
	c.Ambient = &regcheck.Ambient{Helper: func(context.Context, string, string) (string, secret.String, error) {
		asked++
		return "ada", password, nil
	}}
	auth := regcheck.Auth{Type: regcheck.Exec, Exec: &regcheck.CredentialHelper{Name: "docker-credential-x"}}
	for range 2 {
		report, err := c.Check(t.Context(), regcheck.MustParse(t, regcheck.Definition{Endpoint: g.Endpoint, Auth: &auth}), nil)
		if err != nil || !report.CredentialsExpire.IsZero() || asked != 1 {
			t.Errorf("expiry %v, %v; credentials were obtained %d times", report.CredentialsExpire, err, asked)
		}
	}
}

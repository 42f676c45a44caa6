package clouds

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// A token of a registry is a username and password for single repositories.
func TestTokensOfAnAzureRegistry(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct {
		name, password string
		code           regcheck.Code
		field, hint    string
	}{
		{"reader", "reader-secret-of-azure", "", "", ""},
		{"reader", "typo-in-the-secret", regcheck.CodeAuthFailed, "auth.password", ""},
		{"expired", "expired-secret-of-azure", regcheck.CodeAuthFailed, "auth.password", ""},
		{"off", "off-secret-of-azure", regcheck.CodeAuthFailed, "auth.password", ""},
		{"other", "other-secret-of-azure", regcheck.CodeAccessDenied, "baseContentPath", "ACR: metadata_read"},
	} {
		report := w.check(t, acr, regcheck.Auth{Type: regcheck.Basic, Username: row.name, Password: secret.String(row.password)})
		if report.Code != row.code || report.Field != row.field || !strings.Contains(report.Hint, row.hint) {
			t.Errorf("%s, %s: %s (%s), field %q: %s %s", row.name, row.password, report.Code, report.Reason, report.Field, report.Message,
				report.Hint)
		}
	}
}

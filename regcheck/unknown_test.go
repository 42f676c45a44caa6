package regcheck_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/regchecktest"
)

// The nearest known name is a typing error away, or is written in another case, or in another place.
func TestUnknownFieldHasNearestName(t *testing.T) {
	known := []string{"endpoint", "basePath", "baseContentPath", "providerType", "registryUid", "auth", "auth.type", "auth.username",
		"auth.password", "auth.tls", "auth.tls.ca", "auth.tls.enabled", "isPrivate"}
	for path, want := range map[string]string{
		"basecontentpath":                       "did you mean baseContentPath?",
		"authh":                                 "did you mean auth?",
		"auth.usernme":                          "did you mean auth.username?",
		"auth.user":                             "did you mean auth.username?",
		"username":                              "did you mean auth.username?",
		"auth.tls.CA":                           "did you mean auth.tls.ca?",
		"tls":                                   "did you mean auth.tls?",
		"auth.type":                             "use nested objects",
		"metadata":                              "",
		"x":                                     "",
		strings.Repeat("authpassword", 100_000): "",
	} {
		var d regcheck.Definition
		d.NoteUnknown([]string{path}, known)
		got := d.Unknown[0].Problem
		if strings.TrimPrefix(strings.TrimPrefix(got, "is not a field of a definition"), "; ") != want {
			t.Errorf("%.30q %s, want %q", path, got, want)
		}
	}
}

// Each unknown field is a warning of its own, also in a report that is not valid. Nothing of a name does harm.
func TestUnknownFieldsAreWarnings(t *testing.T) {
	g := regchecktest.Start(t, "htpasswd")
	for _, login := range []string{goodLogin, wrongLogin} {
		c, d := mustRow(t, g, login)
		d.NoteUnknown([]string{"authh", "\x1b[31mred\u202e", strings.Repeat("n", 5000)}, []string{"auth"})
		report, err := c.Check(t.Context(), regcheck.MustParse(t, d), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range report.Warnings {
			got = append(got, fmt.Sprintf("%s %.20s %d", w.Code, w.Field, len([]rune(w.Field))))
		}
		if diff := cmp.Diff([]string{"unknownField authh 5", "unknownField [31mred 7", "unknownField nnnnnnnnnnnnnnnnnnnn 256"},
			got); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(report.Warnings[0].Message, "did you mean auth?") {
			t.Errorf("%+v", report.Warnings[0])
		}
		if faults := checkSecrets(g, report, nil); len(faults) > 0 {
			t.Error(faults)
		}
	}
}

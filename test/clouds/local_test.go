package clouds

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
	"github.com/regwarden/regwarden/test/realregistry"
)

// localRow is a definition whose credentials are obtained on the machine.
type localRow struct {
	name   string
	auth   regcheck.Auth
	helper func() (string, secret.String, error) // nil: has the right credentials
	code   regcheck.Code
	reason regcheck.Reason
	field  string
	says   string
}

func localRows() []localRow {
	helper := regcheck.Auth{Exec: &regcheck.CredentialHelper{Name: "docker-credential-x"}}
	file := func(path string) regcheck.Auth {
		return regcheck.Auth{File: &regcheck.RenewedFile{Username: "ada", Password: path}}
	}
	source := regcheck.CodeCredentialSourceFailed
	return []localRow{
		{"helper", helper, nil, "", "", "", ""},
		{"no helper", helper, func() (string, secret.String, error) { return "", "", exec.ErrNotFound }, source,
			regcheck.ReasonHelperMissing, "auth.exec", "not in PATH"},
		{"helper fails", helper, func() (string, secret.String, error) { return "", "", errors.New("exit status 3") }, source,
			regcheck.ReasonHelperFailed, "auth.exec", "exit status 3"},
		{"helper has none", helper, func() (string, secret.String, error) { return "", "", nil }, source, regcheck.ReasonHelperFailed,
			"auth.exec", "no credentials"},
		{"helper is outdated", helper, func() (string, secret.String, error) { return "ada", "yesterday", nil }, regcheck.CodeAuthFailed,
			regcheck.ReasonRefused, "auth.exec", "Log in again"},
		{"file", file("/vault/password"), nil, "", "", "", ""},
		{"no file", file("/vault/missing"), nil, source, regcheck.ReasonFileMissing, "auth.file.password", "does not exist"},
		{"file is outdated", file("/vault/stale"), nil, regcheck.CodeAuthFailed, regcheck.ReasonRefused, "auth.file.password",
			"unchanged since 3h0m0s"},
	}
}

// Credential helpers and files work with every registry, also over plain HTTP.
func TestLocalSources(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	registry := realregistry.Distribution(t, realregistry.Options{Users: map[string]string{"ada": "correct horse"}})
	for _, row := range localRows() {
		row.auth.Type = row.auth.Kind()
		plan, problems := regcheck.Parse(regcheck.Definition{Endpoint: registry.Endpoint, Auth: &row.auth})
		if len(problems) > 0 {
			t.Fatalf("%s: %v", row.name, problems)
		}
		checker := &regcheck.Checker{Egress: egress.ForCommandLine(), Now: func() time.Time { return now },
			Obtained: new(regcheck.CredentialCache)}
		checker.Ambient = &regcheck.Ambient{
			Helper: func(context.Context, string, string) (string, secret.String, error) {
				if row.helper != nil {
					return row.helper()
				}
				return "ada", "correct horse", nil
			},
			NamedFile: func(path string) ([]byte, time.Time, error) {
				text, ok := map[string]string{"/vault/password": "correct horse\n", "/vault/stale": "yesterday"}[path]
				if !ok {
					return nil, now, fs.ErrNotExist
				}
				return []byte(text), now.Add(-3 * time.Hour), nil
			}}
		report, err := checker.Check(t.Context(), plan, nil)
		if err != nil {
			t.Fatal(err)
		}
		if report.Code != row.code || report.Reason != row.reason || report.Field != row.field ||
			!strings.Contains(report.Message+report.Hint, row.says) || stage(report, regcheck.StageCredentials).Name == "" {
			t.Errorf("%s: %s (%s), field %q: %s %s", row.name, report.Code, report.Reason, report.Field, report.Message, report.Hint)
		}
	}
}

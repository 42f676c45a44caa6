package source

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/secret"
)

// A helper is asked by the name that docker asks with, and may have an identity token.
func TestCredentialHelper(t *testing.T) {
	type output struct {
		username string
		password secret.String
		err      error
	}
	for _, row := range []struct {
		registry, server string
		output           output
		bearer           bool
		reason           Reason
		says             string
	}{
		{"https://r.test:5000", "r.test:5000", output{"ada", "hunter2", nil}, false, "", "has a password of ada"},
		{"https://r.test:443", "r.test", output{"<token>", "hunter2", nil}, true, "", "has a token"},
		{"http://localhost:80", "localhost", output{"ada", "hunter2", nil}, false, "", ""},
		{"https://registry-1.docker.io:443", "https://index.docker.io/v1/", output{"ada", "hunter2", nil}, false, "", ""},
		{"https://r.test:443", "r.test", output{}, false, HelperFailed, "has no credentials for r.test"},
		{"https://r.test:443", "r.test", output{err: errors.New("it failed: exit status 3")}, false, HelperFailed, "exit status 3."},
		{"https://r.test:443", "r.test", output{err: &exec.Error{Name: "x", Err: exec.ErrNotFound}}, false, HelperMissing, "not in PATH"},
	} {
		registry, _ := url.Parse(row.registry)
		asked := ""
		source := Bind((&CredentialHelper{"docker-credential-x"}).Source(registry, noProblem(t)), &Ambient{
			Helper: func(_ context.Context, program, server string) (string, secret.String, error) {
				asked = program + " " + server
				return row.output.username, row.output.password, row.output.err
			}})
		got, err := source.Obtain(t.Context(), nil, now)
		r, _ := errors.AsType[*Refusal](err)
		switch {
		case asked != "docker-credential-x "+row.server:
			t.Errorf("%s: asked %q", row.registry, asked)
		case row.reason != "" && (r == nil || r.Reason != row.reason || !strings.Contains(r.Error(), row.says)):
			t.Errorf("%s: %v", row.registry, err)
		case row.reason == "" && (err != nil || got.Password != "hunter2" || got.Bearer != row.bearer ||
			!strings.Contains(text(got.Describe()), row.says)):
			t.Errorf("%s: %+v, %v", row.registry, got, err)
		}
	}
}

// A file is read in each check. The report says since when it is unchanged, above all if the registry rejects what it has.
func TestRenewedFile(t *testing.T) {
	files := map[string]string{"password": "hunter2\r\n", "empty": "\n", "long": strings.Repeat("x", maxToken+1)}
	a := &Ambient{NamedFile: func(path string) ([]byte, time.Time, error) {
		text, ok := files[path]
		if !ok {
			return nil, time.Time{}, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(text), now.Add(-3 * time.Hour), nil
	}}
	for _, row := range []struct {
		file RenewedFile
		says string // of a refusal
	}{
		{RenewedFile{Username: "ada", Password: "password"}, ""},
		{RenewedFile{Token: "password"}, ""},
		{RenewedFile{Username: "ada", Token: "password"}, ""},
		{RenewedFile{Username: "ada", Password: "missing"}, "missing does not exist"},
		{RenewedFile{Token: "empty"}, "empty is empty"},
		{RenewedFile{Token: "long"}, "long has more than 65536 bytes"},
	} {
		source := Bind(row.file.Source(nil, noProblem(t)), a)
		got, err := source.Obtain(t.Context(), nil, now)
		if row.says != "" {
			if r, ok := errors.AsType[*Refusal](err); !ok || r.Reason != FileMissing || !strings.Contains(r.Error(), row.says) {
				t.Errorf("%+v: %v", row.file, err)
			}
			continue
		}
		if err != nil || got.Password != "hunter2" || got.Username != row.file.Username || got.Bearer != (row.file.Token != "") ||
			!strings.Contains(text(got.Describe()), "unchanged since 2026-11-24 09:00:00 UTC (3h0m0s)") ||
			!strings.Contains(text(got.Hint("", true, false)), "unchanged since 3h0m0s") {
			t.Errorf("%+v: %+v, %v", row.file, got, err)
		}
		cache := new(Cache)
		cache.Put(source, got, now)
		if cache.Get(source, now).Remembered {
			t.Errorf("%+v: remembered", row.file)
		}
	}
}

// Only a program that has these functions starts helpers and reads files: the service has none.
func TestLocalSourcesNeedLeave(t *testing.T) {
	registry := &url.URL{Scheme: "https", Host: "r.test:443"}
	for _, s := range []Settings{&CredentialHelper{"docker-credential-x"}, &RenewedFile{Token: "/etc/shadow"}} {
		for _, a := range []*Ambient{nil, {Clouds: []string{"aws", "gcp", "azure"}}} {
			_, err := Bind(s.Source(registry, noProblem(t)), a).Obtain(t.Context(), nil, now)
			if r, ok := errors.AsType[*Refusal](err); !ok || r.Reason != AmbientNotAllowed {
				t.Errorf("%+v: %v", s, err)
			}
		}
	}
}

func noProblem(t *testing.T) Note {
	t.Helper()
	return func(field string, problem message.Text) {
		if problem != "" {
			t.Errorf("%s: %s", field, problem)
		}
	}
}

func text(t message.Text) string { return t.Show(func(name string) string { return name }) }

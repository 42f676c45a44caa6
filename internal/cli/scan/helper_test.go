package scan

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
)

func TestCredentialHelpers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, script := range map[string]string{
		"docker-credential-good": `read host
[ "$1" = get ] && echo '{"ServerURL":"'$host'","Username":"ada@'$host'","Secret":"hunter2"}'`,
		"docker-credential-none":  `echo "credentials not found in native keychain"; exit 1`,
		"docker-credential-fails": `echo "pass is not initialized"; echo hunter2; echo hunter2 >&2; exit 3`,
		"docker-credential-leaks": `echo '{"Secret":"hunter2"'; exit 3`,
		"docker-credential-text":  `echo hunter2`,
		"docker-credential-long":  `while :; do echo hunter2; done`,
		"docker-credential-slow":  `sleep 60`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		program, user, want string // want: part of the error
	}{
		{"docker-credential-good", "ada@one.test;id", ""},
		{"docker-credential-none", "", ""},
		{"docker-credential-fails", "", `it failed: exit status 3, and printed "pass is not initialized"`},
		{"docker-credential-leaks", "", "it failed: exit status 3"},
		{"docker-credential-text", "", "not a JSON object"},
		{"docker-credential-long", "", "its output is too long"},
		{"docker-credential-slow", "", "did not end within 2s"},
		{"docker-credential-missing", "", "it failed"},
	} {
		h := Helpers{Allowed: []string{tt.program}, Timeout: 30 * time.Second}
		if tt.program == "docker-credential-slow" {
			h.Timeout = 2 * time.Second
		}
		user, password, err := h.Get(t.Context(), tt.program, "one.test;id")
		if user != tt.user || (tt.user != "") != (password.Reveal() == "hunter2") {
			t.Errorf("%s: %q", tt.program, user)
		}
		if (err != nil) != (tt.want != "") || err != nil && (!strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q", tt.program, err, tt.want)
		}
	}
	if _, _, err := (Helpers{Allowed: []string{"docker-credential-none"}}).Get(t.Context(), "docker-credential-good",
		"one.test"); !errors.Is(err, model.ErrHelperNotAllowed) {
		t.Errorf("not allowed: %v", err)
	}
}

func TestNamesOfHelpers(t *testing.T) {
	for name, ok := range map[string]bool{"docker-credential-pass": true, "docker-credential-ecr-login": true, "sh": false,
		"docker-credential-":              false,
		"/usr/bin/docker-credential-pass": false, "docker-credential-../sh": false, "docker-credential-a b": false,
		"docker-credential-a\n": false} {
		if err := (Helpers{Allowed: []string{name}}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

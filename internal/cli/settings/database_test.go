package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSourcesOfTheDatabaseURL(t *testing.T) {
	const address = "postgres://u:marked@127.0.0.1/d"
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte(address+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, env string
		flags     []string
		problem   string
	}{
		{name: "environment", env: address},
		{name: "file", flags: []string{"--database-url-file", file}},
		{name: "flag without a password", flags: []string{"--database-url", "postgres://u@127.0.0.1/d"}},
		{name: "flag with a password", flags: []string{"--database-url", address}, problem: "must not contain a password in an argument"},
		{name: "flag with a password in an unusual position", flags: []string{"--database-url", "postgres://u:mar/ked@h/d"},
			problem: "must not contain a password in an argument"},
		{name: "flag with a password among the parameters", flags: []string{"--database-url", "postgres://u@h/d?password=marked"},
			problem: "must not contain a password in an argument"},
		{name: "both", env: address, flags: []string{"--database-url-file", file}, problem: "cannot be combined with"},
		{name: "no file", flags: []string{"--database-url-file", file + "x"}, problem: "no such file"},
		{name: "another database", env: "mysql://u:marked@h/d", problem: "cannot be read"},
		{name: "a port that is none", env: "postgres://u:marked@h:marked/d", problem: "cannot be read"},
		{name: "a missing certificate", env: address + "?sslmode=verify-full&sslrootcert=/missing", problem: "/missing"},
	} {
		s := New()
		if err := s.Flags.Parse(row.flags); err != nil {
			t.Fatal(err)
		}
		err := s.Load(func(name string) string {
			if name == "REGWARDEN_DATABASE_URL" {
				return row.env
			}
			return ""
		})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if row.problem == "" && err != nil || !strings.Contains(text, row.problem) || strings.Contains(text, "mar") &&
			strings.Contains(text, "ked") {
			t.Errorf("%s: %v", row.name, err)
		}
		for _, line := range s.List() {
			if err == nil && strings.Contains(fmt.Sprint(line...), "marked") {
				t.Errorf("%s: shown as %s", row.name, line)
			}
		}
	}
}

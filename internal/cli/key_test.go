package cli

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/cli/settings"
)

func TestTheNextMasterKey(t *testing.T) {
	const one, two = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="
	for _, row := range []struct{ name, current, next, problem string }{
		{"a file", "", "", ""},
		{"the environment", one, two, ""},
		{"the environment, and no next one", one, "", "set the new one as REGWARDEN_NEXT_MASTER_KEY"},
		{"a file, and a next one", "", two, "the current one is in a file"},
		{"no key", one, "hunter2", "REGWARDEN_NEXT_MASTER_KEY"},
	} {
		key, err := nextMasterKey(t.Context(), func(name string) string {
			return map[string]string{settings.EnvMasterKey: row.current, settings.EnvNextMasterKey: row.next}[name]
		}, "", "")
		if (err == nil) != (row.problem == "") || err != nil && !strings.Contains(err.Error(), row.problem) {
			t.Errorf("%s: %v", row.name, err)
		}
		if err != nil && (exitCode(err) != exitUsage || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: no usage error, or it shows the key: %v", row.name, err)
		}
		if err == nil && (row.next == "") != key.IsZero() {
			t.Errorf("%s: a key is given, or not", row.name)
		}
	}
}

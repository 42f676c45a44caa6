package settings

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

func TestWordsOfCommands(t *testing.T) {
	for text, want := range map[string][]string{
		"vault kv get -field=key secret/a":             {"vault", "kv", "get", "-field=key", "secret/a"},
		"  a\t b\n":                                    {"a", "b"},
		`sh -c 'age -d -i "$HOME/key" k.age | base64'`: {"sh", "-c", `age -d -i "$HOME/key" k.age | base64`},
		`"a b"c 'd'\''e' \"`:                           {"a bc", "d'e", `"`},
		`a "" "\"\\\x$(b)"`:                            {"a", "", `"\\x$(b)`},
		`a ; b > $c`:                                   {"a", ";", "b", ">", "$c"},
	} {
		if got, err := splitWords(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", `""`, `a "b`, `'a`} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestKeyByCommand(t *testing.T) {
	const key = "c2V2ZW50ZWVuIHBsdXMgZmlmdGVlbiBpcyAzMiBieXQ="
	t.Setenv(EnvNextMasterKey, "hunter2hunter2")
	want, err := seal.ParseMasterKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ script, problem string }{
		{"echo " + key, ""},
		{"echo " + key + "; echo warning >&2", ""},
		{`test -z "$REGWARDEN_NEXT_MASTER_KEY" && echo ` + key, ""},
		{"read -r line || echo " + key, ""}, // its standard input is empty
		{"set -x; echo " + key + "; exit 3", "the command sh: it failed: exit status 3; it says: + echo " + secret.Mask},
		{"echo key=" + key + " >&2; exit 3", "it says: key=" + secret.Mask},
		{"echo permission denied >&2; exit 2", "it failed: exit status 2; it says: permission denied"},
		{"set -x; echo hunter2hunter2", "the output of sh is not a key: the master key must be 32 bytes in base64"},
		{"", "is not a key"},
		{"head -c 100000 /dev/zero", "its output is too long"},
		{"set -x; printf '%2010s ' x >&2; : " + key + "; exit 4", "it failed: exit status 4"},
		{"yes | head -c 100000 >&2; exit 1", "it failed"},
	} {
		got, err := KeyByCommand(t.Context(), "master-key-command", "sh -c "+command.ShellQuote(tt.script))
		if (tt.problem == "") != (err == nil) || tt.problem == "" && got != want {
			t.Errorf("%s: %v", tt.script, err)
		}
		if err == nil {
			continue
		}
		text := err.Error()
		if !strings.Contains(text, tt.problem) || len(text) > 3<<10 || strings.Contains(text, key[:20]) ||
			strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s, want %s", tt.script, text, tt.problem)
		}
	}
	if _, err := KeyByCommand(t.Context(), "master-key-command", "/does/not/exist"); err == nil ||
		!strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("a missing program: %v", err)
	}
}

// A stop of the service ends the command too.
func TestKeyCommandEndsWithTheService(t *testing.T) {
	stop := errors.New("stopped")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, stop)
	defer cancel()
	began := time.Now()
	if _, err := KeyByCommand(ctx, "master-key-command", "sleep 25"); !errors.Is(err, stop) || time.Since(began) > 15*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

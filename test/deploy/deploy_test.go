// Package deploy_test compares the files in deploy/ with the program: settings exist, probes succeed, the NetworkPolicy
// agrees with the address policy, and the recipe of the image builds and runs.
//
// Nothing here has a container engine, a cluster or a running systemd. What is tried instead: every file is read
// strictly by the types of the program that will read it, the image's build commands are run on exactly the files that
// its context has, and what comes out runs as the image's user in a root directory that holds nothing else.
package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

const deployDir = "../../deploy"

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }

func mustFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(deployDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// otherVariables are the environment variables that are not settings.
var otherVariables = []string{"REGWARDEN_MASTER_KEY", "REGWARDEN_NEXT_MASTER_KEY", "REGWARDEN_BOOTSTRAP_ORG", "REGWARDEN_BOOTSTRAP_EMAIL",
	"REGWARDEN_BOOTSTRAP_PASSWORD_FILE"}

// settings are the names of the settings, as flags and as variables of the environment, that the binary knows.
func settings(t *testing.T) (flags, variables []string) {
	t.Helper()
	help, err := exec.Command(instance.Binary(t), "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^ +--([a-z][a-z-]+)`).FindAllStringSubmatch(string(help), -1) {
		flags = append(flags, found[1])
		variables = append(variables, "REGWARDEN_"+strings.ToUpper(strings.ReplaceAll(found[1], "-", "_")))
	}
	if len(flags) < 20 {
		t.Fatalf("the help of serve lists few settings:\n%s", help)
	}
	return flags, append(variables, otherVariables...)
}

// knows fails for variables that nothing reads.
func knows(t *testing.T, where string, used []string) {
	t.Helper()
	_, variables := settings(t)
	if len(used) == 0 {
		t.Errorf("%s sets nothing", where)
	}
	for _, name := range used {
		if !slices.Contains(variables, name) {
			t.Errorf("%s sets %s, which is not a setting", where, name)
		}
	}
}

var variable = regexp.MustCompile(`\bREGWARDEN_[A-Z_]+`)

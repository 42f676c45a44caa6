package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/test/instance"
)

// TestSystemdUnit has systemd itself read the unit and rate it, with the binary where it was built.
func TestSystemdUnit(t *testing.T) {
	text := string(mustFile(t, "systemd/regwarden.service"))
	knows(t, "regwarden.service", variable.FindAllString(text, -1))
	analyze := needs.Program(t, "systemd-analyze", "systemd")
	placed := strings.Replace(text, "ExecStart=regwarden serve", "ExecStart="+instance.Binary(t)+" serve", 1)
	if placed == text {
		t.Fatal("the unit does not start regwarden serve")
	}
	unit := filepath.Join(t.TempDir(), "regwarden.service")
	if err := os.WriteFile(unit, []byte(placed), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || strings.Contains(string(out), unit) {
		t.Errorf("systemd does not take the unit: %v\n%s", err, out)
	}
	// 0 is nothing that could be exposed, 10 all; 2.0 is the threshold as systemd counts it.
	if out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", "--no-pager", unit).CombinedOutput(); err != nil {
		t.Errorf("the unit leaves more open than it should: %v\n%s", err, out)
	}
}

func TestSettingsFileOfTheUnit(t *testing.T) {
	text := strings.ReplaceAll(string(mustFile(t, "systemd/regwarden.yaml")), "\n# ", "\n") // what is proposed counts too
	_, text, _ = strings.Cut(text, "data-dir:")
	var file map[string]any
	if err := yaml.Unmarshal([]byte("data-dir:"+text), &file); err != nil {
		t.Fatal(err)
	}
	flags, _ := settings(t)
	for name := range file {
		if !slices.Contains(flags, name) {
			t.Errorf("%s is not a setting", name)
		}
	}
	unit := string(mustFile(t, "systemd/regwarden.service"))
	for name, variable := range map[string]string{"data-dir": "REGWARDEN_DATA_DIR", "log-format": "REGWARDEN_LOG_FORMAT"} {
		value, _ := file[name].(string)
		if !strings.Contains(strings.ReplaceAll(unit, "%S", "/var/lib"), variable+"="+value) || value == "" {
			t.Errorf("%s is %q, which the unit does not set: regwarden config would not print what is in force", name, value)
		}
	}
	if len(file) < 4 {
		t.Errorf("read only %v", file)
	}
}

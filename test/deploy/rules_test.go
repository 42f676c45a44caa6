package deploy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/regwarden/regwarden/internal/needs"
)

const rulesFile = "chart/files/rules.yaml"

// Each alert fires in a case of testdata/rules_test.yaml, which has no other alerts and a case in which none fires.
func TestRulesFire(t *testing.T) {
	promtool := needs.Program(t, "promtool", "prometheus")
	cases := string(mustRead(t, "testdata/rules_test.yaml"))
	for _, rule := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(mustFile(t, rulesFile)), -1) {
		if !strings.Contains(cases, "- name: "+rule[1]+"\n") {
			t.Errorf("no case fires %s", rule[1])
		}
	}
	if out, err := exec.Command(promtool, "test", "rules", "testdata/rules_test.yaml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The page says what to do about each alert, and about no other.
func TestAlertsAreDocumented(t *testing.T) {
	_, page, _ := strings.Cut(string(mustFile(t, "../docs/troubleshooting.md")), "\n## An alert of Prometheus fires\n")
	page, _, _ = strings.Cut(page, "\n## ")
	var want, rows []string
	for _, rule := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(mustFile(t, rulesFile)), -1) {
		want = append(want, rule[1])
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\| .+ \\|$").FindAllStringSubmatch(page, -1) {
		rows = append(rows, strings.Split(strings.Trim(row[1], "`"), "`, `")...)
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("the page has no row for an alert, in their order:\n%s", diff)
	}
}

// Prometheus understands the expressions of the dashboard, with values for Grafana's variables.
func TestDashboardExpressions(t *testing.T) {
	promtool := needs.Program(t, "promtool", "prometheus")
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(mustFile(t, "chart/files/dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	var rules []any
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$organization", ".*").Replace(target.Expr)
			rules = append(rules, map[string]any{"record": "a:b", "expr": expr,
				"labels": map[string]string{"panel": panel.Title, "expr": expr}})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "a", "rules": rules}}})
	if err != nil || len(rules) < 15 {
		t.Fatal(len(rules), err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

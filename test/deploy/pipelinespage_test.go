package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/test/instance"
)

func pipelinesPage(t *testing.T) string {
	t.Helper()
	return string(mustRead(t, filepath.Join(deployDir, "../docs/pipelines.md")))
}

func yamlBlocks(t *testing.T) (blocks []string) {
	t.Helper()
	for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(pipelinesPage(t), -1) {
		blocks = append(blocks, block[1])
	}
	return blocks
}

// The examples use inputs, hooks and flags that exist, and pin what others publish.
func TestPipelinesPage(t *testing.T) {
	var action, spec struct {
		Inputs map[string]any
		Spec   struct{ Inputs map[string]any }
	}
	decode(t, mustFile(t, "ci/action.yml"), &action)
	decode(t, mustFile(t, "ci/gitlab.yml"), &spec)
	given := 0
	for _, block := range yamlBlocks(t) {
		var example any
		decode(t, []byte(block), &example)
		walk(example, func(m map[string]any) {
			uses, _ := m["uses"].(string)
			if strings.HasPrefix(uses, "regwarden/") {
				given += knownInputs(t, m["with"], action.Inputs)
			}
			if _, ok := m["remote"]; ok {
				given += knownInputs(t, m["inputs"], spec.Spec.Inputs)
			}
			if uses != "" && !regexp.MustCompile(`@([0-9a-f]{40}|COMMIT)$`).MatchString(uses) {
				t.Errorf("%s is not pinned", uses)
			}
		})
	}
	if given < 8 {
		t.Errorf("the examples give %d inputs", given)
	}
	help := ""
	for _, command := range []string{"scan", "check", "login", "trust create", "audit list"} {
		out, err := exec.Command(instance.Binary(t), append(strings.Fields(command), "--help")...).Output()
		if err != nil {
			t.Fatal(err)
		}
		help += string(out)
	}
	others := []string{"--check-per-minute", "--checksums", "--raw"} // of the server, the hook and kubectl
	for _, flag := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(pipelinesPage(t), -1) {
		if !slices.Contains(others, flag) && !regexp.MustCompile(flag+`\b`).MatchString(help) {
			t.Errorf("%s is not a flag", flag)
		}
	}
}

func knownInputs(t *testing.T, given any, known map[string]any) int {
	t.Helper()
	inputs, _ := given.(map[string]any)
	for name := range inputs {
		if known[name] == nil {
			t.Errorf("the input %s does not exist", name)
		}
	}
	return len(inputs)
}

// walk calls f for each object of a document.
func walk(value any, f func(map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		f(value)
		for _, v := range value {
			walk(v, f)
		}
	case []any:
		for _, v := range value {
			walk(v, f)
		}
	}
}

// Prometheus accepts the rules, and their metrics are those of the report.
func TestAlertRules(t *testing.T) {
	promtool := needs.Program(t, "promtool", "prometheus")
	i := slices.IndexFunc(yamlBlocks(t), func(block string) bool { return strings.HasPrefix(block, "groups:") })
	rules := yamlBlocks(t)[i]
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	metrics := mustRead(t, filepath.Join(deployDir, "../internal/cli/scanreport/testdata/openmetrics"))
	for _, name := range regexp.MustCompile(`(probe|regwarden)_[a-z_]+`).FindAllString(rules, -1) {
		if !strings.Contains(string(metrics), "# TYPE "+name+" ") {
			t.Errorf("the report has no metric %s", name)
		}
	}
}

// The loop ends with the status of the last check, and repeats only what may pass when repeated.
func TestRetryExample(t *testing.T) {
	needs.Program(t, "jq", "jq")
	_, rest, _ := strings.Cut(pipelinesPage(t), "\n## Retry temporary failures only\n")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	script, _, _ := strings.Cut(rest, "```")
	for name, row := range map[string]struct {
		check        string // what the program does in its attempt $n
		code, checks int
	}{
		"valid":          {`echo "{}"`, 0, 1},
		"not valid":      {`echo '{"retryable": false}'; exit 1`, 1, 1},
		"wrong argument": {`exit 2`, 2, 1},
		"stays away":     {`echo '{"retryable": true}'; exit 1`, 1, 3},
		"returns":        {`[ $n -eq 3 ] || { echo '{"retryable": true}'; exit 1; }`, 0, 3},
	} {
		dir := t.TempDir()
		programs := "regwarden() ( echo >>checks; n=$(wc -l <checks); " + row.check + "; )\nsleep() { :; }\n"
		cmd := exec.Command("sh", "-ec", programs+script)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		checks := strings.Count(string(mustRead(t, filepath.Join(dir, "checks"))), "\n")
		if exitCode(err) != row.code || checks != row.checks {
			t.Errorf("%s: %v, %d checks\n%s", name, err, checks, out)
		}
	}
}

package scan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/scanreport"
	"github.com/regwarden/regwarden/regcheck"
)

// rejected returns a result with a definition that is not valid for each host, one of them twice.
func rejected(hosts ...string) model.Result {
	var r model.Result
	for i, host := range hosts {
		f := found(host, "robot", "hunter2")
		f.Sources[0].Line = 10 * (i + 1)
		f.Report = &regcheck.Report{Code: regcheck.CodeAuthFailed, Reason: regcheck.ReasonRefused}
		r.Registries = append(r.Registries, f)
	}
	r.Summarize()
	return r
}

// Only what is new is left: issues are known also on other lines, and as often as they were.
func TestBaseline(t *testing.T) {
	name := filepath.Join(t.TempDir(), "baseline.json")
	before := rejected("one.test", "two.test", "three.test", "three.test")
	if _, err := WriteBaseline(name, before); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "robot") {
		t.Fatalf("%v\n%s", err, text)
	}
	for want, hosts := range map[string][]string{
		"":           {"three.test", "two.test", "one.test", "three.test"},
		"four.test":  {"four.test", "one.test", "three.test"},
		"three.test": {"three.test", "three.test", "three.test"},
	} {
		baseline, err := ReadBaseline(name)
		if err != nil {
			t.Fatal(err)
		}
		result := rejected(hosts...)
		if err := baseline.Compare(name, &result); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, r := range result.Registries {
			left = append(left, strings.TrimPrefix(r.Definition.Endpoint, "https://"))
		}
		if got := strings.Join(left, " "); got != want || result.Summary.Known != len(hosts)-len(left) ||
			result.Summary.NotValid != len(left) {
			t.Errorf("of %v are left %q, %+v", hosts, got, result.Summary)
		}
	}
}

// Names are relative to the baseline, so that a scan may be started anywhere.
func TestBaselineOfAnotherDirectory(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "baseline.json")
	result := rejected("one.test")
	result.Registries[0].Sources[0].File = filepath.Join(dir, "apps", "a.yaml")
	baseline, err := WriteBaseline(name, result)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	result.Registries[0].Sources[0].File = "apps/a.yaml"
	if err := baseline.Compare("baseline.json", &result); err != nil || len(result.Registries) > 0 {
		t.Errorf("%v, %+v", err, result.Registries)
	}
}

// Issues of a definition that was not checked would be new later.
func TestBaselineNeedsAllChecks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "baseline.json")
	result := rejected("one.test")
	result.Registries[0].Report, result.Registries[0].NotChecked = nil, Interrupted
	if _, err := WriteBaseline(name, result); err == nil || !strings.Contains(err.Error(), "could not be checked: 1") {
		t.Error(err)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("it was written")
	}
	removed := scanreport.Remove(&result, scanreport.Options{}, func(scanreport.Issue) bool { return true })
	if removed != 0 || NotChecked(result) != 1 {
		t.Errorf("%d issues of a definition that was not checked are removed", removed)
	}
	baseline := Baseline{}
	if err := baseline.Compare(name, &result); err != nil || NotChecked(result) != 1 {
		t.Errorf("%v, %+v", err, result)
	}
}

func TestBaselineThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":                            "EOF",
		"[]":                          "cannot unmarshal array",
		`{"version": 2}`:              "its version must be 1, not 2",
		`{"version": 1, "other": []}`: `unknown field "other"`,
		`{"version": 1, "issues": [{"code": "a", "file": "b", "count": -1}]}`: "not negative",
		`{"version": 1, "issues": [{"file": "b"}]}`:                           "must have a code",
	} {
		_, err := ReadBaseline(write(t, filepath.Join(dir, "b.json"), text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--write-baseline") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for name, want := range map[string]string{"missing.json": "does not exist; write it", ".": "not a regular file"} {
		if _, err := ReadBaseline(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzBaseline finds baselines that change when they are written again.
func FuzzBaseline(f *testing.F) {
	f.Add([]byte(`{"version": 1, "issues": [{"code": "a/b", "file": "c", "object": "d\u202e", "registry": "e", "count": 3}]}`))
	f.Add([]byte(`{"version": 1, "issues": [{"code": "a", "file": "c"}, {"code": "a", "file": "c"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		baseline, err := parseBaseline(data)
		if err != nil {
			return
		}
		text, err := baseline.bytes()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseBaseline(text)
		if err != nil || len(again) != len(baseline) {
			t.Errorf("%v: %v instead of %v", err, again, baseline)
		}
		for identity, count := range baseline {
			if again[identity] != count {
				t.Errorf("%v: %d instead of %d", identity, again[identity], count)
			}
		}
	})
}

package scanreport_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/scanreport"
	"github.com/regwarden/regwarden/regcheck"
)

var update = flag.Bool("update", false, "write testdata")

func TestGolden(t *testing.T) {
	for _, kind := range scanreport.Kinds() {
		t.Run(kind, func(t *testing.T) {
			report, summary := write(t, kind, result(), scanreport.Options{Version: "1.2.3", Dir: "/srv"})
			golden(t, kind, report)
			if kind == "github" {
				golden(t, "github-summary.md", summary)
			}
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; after reading the difference, run: go test ./internal/cli/scanreport -update\n%s", name, diff)
	}
}

func write(t *testing.T, kind string, r model.Result, o scanreport.Options) (report, summary string) {
	t.Helper()
	var out, markdown bytes.Buffer
	o.Summary = &markdown
	if err := scanreport.Write(&out, kind, r, o); err != nil {
		t.Fatal(err)
	}
	return out.String(), markdown.String()
}

func TestUnknownKind(t *testing.T) {
	err := scanreport.Write(&bytes.Buffer{}, "html", result(), scanreport.Options{})
	if err == nil || !strings.Contains(err.Error(), "junit, sarif, github, gitlab, openmetrics") {
		t.Errorf("%v", err)
	}
}

// The secrets of a definition are in no report, also if a registry repeats them, and usernames only on request.
func TestNoSecrets(t *testing.T) {
	r := result()
	for _, kind := range scanreport.Kinds() {
		for _, showUsers := range []bool{false, true} {
			report, summary := write(t, kind, r, scanreport.Options{ShowUsers: showUsers})
			// The base64 of hunter2 begins with aHVudGVyM at the beginning of three bytes, and otherwise has h1bnRlcj or odW50ZXIy.
			for _, secret := range []string{"hunter2", "aHVudGVyM", "h1bnRlcj", "odW50ZXIy"} {
				if text := report + summary; strings.Contains(text, secret) {
					t.Errorf("%s shows %s: %s", kind, secret, around(text, secret))
				}
			}
			if shown := strings.Contains(report+summary, "bob"); shown != showUsers {
				t.Errorf("%s shows usernames: %t, want %t: %s", kind, shown, showUsers, around(report+summary, "bob"))
			}
		}
	}
}

func around(text, part string) string {
	i := max(strings.Index(text, part), 0)
	return text[max(i-100, 0):min(i+100, len(text))]
}

// Lines that move, and texts of registries that change, do not make another issue.
func TestFingerprintsAreStable(t *testing.T) {
	before, _ := write(t, "gitlab", result(), scanreport.Options{})
	r := result()
	for i := range r.Registries {
		for j := range r.Registries[i].Sources {
			r.Registries[i].Sources[j].Line += 100
		}
		if r.Registries[i].Report != nil {
			r.Registries[i].Report.Message = "Another text."
		}
	}
	after, _ := write(t, "gitlab", r, scanreport.Options{})
	if before == after {
		t.Fatal("the reports are equal")
	}
	if diff := cmp.Diff(linesWith(before, "fingerprint"), linesWith(after, "fingerprint")); diff != "" {
		t.Error(diff)
	}
}

func linesWith(text, part string) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			lines = append(lines, line)
		}
	}
	return lines
}

// A hostile file may have very many equal entries. Each gets a name of its own, and the step summary is not larger than GitHub accepts.
func TestManyEqualEntries(t *testing.T) {
	r := result()
	r.Problems = slices.Repeat([]model.Problem{{Source: model.Source{File: "a"}, Reason: model.ProblemNotYAML, Message: "x"}}, 10_000)
	for _, kind := range scanreport.Kinds() {
		report, summary := write(t, kind, r, scanreport.Options{})
		if len(summary) > 1<<20 || kind == "github" && !strings.Contains(summary, "more are not shown.") {
			t.Errorf("a summary of %d bytes", len(summary))
		}
		if kind == "junit" && !strings.Contains(report, "problem/notYAML #10000") {
			t.Error("the last problem has no name of its own")
		}
	}
}

// A chart follows the address of its repository after one slash, also if the path of the repository ends with v2.
func TestAddressesOfCharts(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://charts.example.com":     "https://charts.example.com/a:1.0.0",
		"https://charts.example.com/":    "https://charts.example.com/a:1.0.0",
		"https://charts.example.com/v2/": "https://charts.example.com/v2/a:1.0.0",
		"":                               "(no address)/a:1.0.0",
	} {
		report, _ := write(t, "github", model.Result{Registries: []model.Registry{{
			Consumer: model.Helm, Resolution: model.Unresolved, Reason: model.UnresolvedTemplate,
			Definition: regcheck.Definition{Kind: regcheck.KindChartRepository, Endpoint: endpoint, BaseContentPath: "a:1.0.0"},
		}}}, scanreport.Options{})
		if !strings.Contains(report, want) {
			t.Errorf("%s: %s, want %s", endpoint, report, want)
		}
	}
}

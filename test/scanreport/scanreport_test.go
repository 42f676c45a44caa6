package scanreport_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/joshdk/go-junit"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensionast "github.com/yuin/goldmark/extension/ast"
	goldmarktext "github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/cli/scanreport"
	"github.com/regwarden/regwarden/internal/needs"
)

// readers read a report back and compare it with what must be in it.
var readers = map[string]func(report []byte, want counts) error{
	"junit":       readJUnit,
	"sarif":       readSARIF,
	"github":      readAnnotations,
	"gitlab":      readGitLab,
	"openmetrics": readMetrics,
}

// Any text in any field gives a valid report of each kind with all entries.
func TestAnyTextGivesValidReports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := result().Draw(t, "result")
		for _, kind := range scanreport.Kinds() {
			var out, summary bytes.Buffer
			o := scanreport.Options{Version: "1.2.3", Dir: "/srv", ShowUsers: rapid.Bool().Draw(t, "users"), Summary: &summary}
			if err := scanreport.Write(&out, kind, r, o); err != nil {
				t.Fatal(err)
			}
			if err := readers[kind](out.Bytes(), count(r)); err != nil {
				t.Fatalf("%s: %v\n%s", kind, err, out.Bytes())
			}
			if kind == "github" {
				if err := readSummary(summary.Bytes(), count(r)); err != nil {
					t.Fatalf("summary: %v\n%s", err, summary.Bytes())
				}
			}
		}
	})
}

func differ[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: %v, want %v", what, got, want)
	}
	return nil
}

func readJUnit(report []byte, want counts) error {
	suites, err := junit.Ingest(report)
	if err != nil || len(suites) != 1 {
		return fmt.Errorf("%d suites: %w", len(suites), err)
	}
	names := map[string]bool{}
	for _, c := range suites[0].Tests {
		names[c.Classname+"\x00"+c.Name] = c.Classname != "" && c.Name != ""
	}
	if names["\x00"] || len(names) != want.cases {
		return fmt.Errorf("%d names for %d cases", len(names), want.cases)
	}
	written := suites[0].Properties // what the file says, before it is counted
	suites[0].Aggregate()
	totals := suites[0].Totals
	return errorsOf(
		differ("cases", totals.Tests, want.cases), differ("failures", totals.Failed, want.failures),
		differ("errors", totals.Error, want.errors),
		differ("tests=", written["tests"], strconv.Itoa(want.cases)), differ("failures=", written["failures"], strconv.Itoa(want.failures)),
		differ("errors=", written["errors"], strconv.Itoa(want.errors)),
		differ("skipped=", written["skipped"], strconv.Itoa(totals.Skipped)),
	)
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

var sarifSchema = func() *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return c.MustCompile("testdata/sarif-schema-2.1.0.json")
}()

type sarif struct {
	Runs []struct {
		Tool struct {
			Driver struct {
				Rules []struct{ ID, HelpURI string }
			}
		}
		Invocations []struct{ ToolExecutionNotifications []any }
		Results     []struct {
			RuleID              string
			RuleIndex           int
			PartialFingerprints map[string]string
			Locations           []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI, URIBaseID string }
					Region           struct{ StartLine int }
				}
			}
		}
	}
}

func readSARIF(report []byte, want counts) error {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(report))
	if err != nil {
		return err
	}
	if err := sarifSchema.Validate(document); err != nil {
		return err
	}
	var log sarif
	if err := json.Unmarshal(report, &log); err != nil {
		return err
	}
	run := log.Runs[0]
	seen := map[string]bool{}
	for _, r := range run.Results {
		rule := run.Tool.Driver.Rules[r.RuleIndex]
		at := r.Locations[0].PhysicalLocation
		uri, err := url.Parse(at.ArtifactLocation.URI)
		if err != nil || uri.IsAbs() != (at.ArtifactLocation.URIBaseID == "") || uri.IsAbs() && uri.Scheme != "file" ||
			strings.Contains(uri.String(), `\`) {
			return fmt.Errorf("URI %q (%w)", at.ArtifactLocation.URI, err)
		}
		if rule.ID != r.RuleID || !strings.HasPrefix(rule.HelpURI, "https://") || at.Region.StartLine < 1 ||
			len(r.PartialFingerprints) != 1 {
			return fmt.Errorf("%+v", r)
		}
		seen[r.PartialFingerprints["regwarden/v1"]] = true
	}
	return errorsOf(differ("results", len(run.Results), want.issues), differ("fingerprints", len(seen), want.issues),
		differ("notifications", len(run.Invocations[0].ToolExecutionNotifications), want.skipped))
}

// annotation has the form that GitHub's runner reads: a command at the beginning of a line, properties without raw separators, and a text
// in which % is always an escape.
var annotation = regexp.MustCompile(`^::(error|warning|notice) file=([^:,\r\n]+)(,line=[1-9][0-9]*)?,title=([^:,\r\n]+)::([^\r\n]+)$`)

var githubEscapes = regexp.MustCompile(`%(25|0D|0A|3A|2C)?`)

func readAnnotations(report []byte, want counts) error {
	lines := strings.Split(string(report), "\n")
	if err := errorsOf(differ("the last line", lines[len(lines)-1], ""),
		differ("annotations", len(lines)-1, want.annotations)); err != nil {
		return err
	}
	for _, line := range lines[:len(lines)-1] {
		found := annotation.FindStringSubmatch(line)
		if found == nil {
			return fmt.Errorf("the runner does not read %q", line)
		}
		for _, value := range []string{found[2], found[4], found[5]} {
			if slices.Contains(githubEscapes.FindAllString(value, -1), "%") {
				return fmt.Errorf("a bare %% in %q", value)
			}
			if strings.ContainsAny(strings.ReplaceAll(unescape(value), "\n", ""), "\r\x00\x1b") {
				return fmt.Errorf("control characters in %q", value)
			}
		}
	}
	return nil
}

// unescape is the documented order of GitHub: % last.
func unescape(value string) string {
	for _, pair := range [][2]string{{"%0D", "\r"}, {"%0A", "\n"}, {"%3A", ":"}, {"%2C", ","}, {"%25", "%"}} {
		value = strings.ReplaceAll(value, pair[0], pair[1])
	}
	return value
}

// summaryNodes are what a step summary consists of, apart from links and tables' rows and cells.
var summaryNodes = []string{"Document", "Heading", "Paragraph", "List", "ListItem", "TextBlock", "Text", "Table", "TableHeader", "CodeSpan"}

// readSummary reads the step summary as GitHub Flavored Markdown: texts of others have no links, images and HTML, and make no rows.
func readSummary(summary []byte, want counts) error {
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(goldmarktext.NewReader(summary))
	rows, cells := 0, 0
	err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *extensionast.TableRow:
			rows++
		case *extensionast.TableCell:
			cells++
		case *ast.Link:
			if to := string(n.Destination); !strings.HasPrefix(to, "https://github.com/regwarden/regwarden/blob/main/docs/") {
				return ast.WalkStop, fmt.Errorf("a link to %q", to)
			}
		default:
			if !slices.Contains(summaryNodes, n.Kind().String()) {
				return ast.WalkStop, fmt.Errorf("a node of the kind %s", n.Kind())
			}
		}
		return ast.WalkContinue, nil
	})
	return errorsOf(err, differ("rows", rows, want.entries), differ("cells", cells, 4*(want.entries+1)))
}

// GitLab requires these members: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format.
type gitlabIssue struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

func readGitLab(report []byte, want counts) error {
	if bytes.HasPrefix(report, []byte("\ufeff")) {
		return fmt.Errorf("a byte order mark")
	}
	var issues []gitlabIssue
	decoder := json.NewDecoder(bytes.NewReader(report))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&issues); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, i := range issues {
		seen[i.Fingerprint] = true
		switch {
		case i.Description == "", i.CheckName == "", i.Location.Lines.Begin < 1,
			i.Location.Path == "", strings.HasPrefix(i.Location.Path, "./"), path.Clean(i.Location.Path) != i.Location.Path,
			!slices.Contains([]string{"info", "minor", "major", "critical", "blocker"}, i.Severity):
			return fmt.Errorf("%+v", i)
		}
	}
	return errorsOf(differ("issues", len(issues), want.issues), differ("fingerprints", len(seen), want.issues))
}

// readMetrics reads a report with the parser of node_exporter's textfile collector and the linter of promtool check metrics.
func readMetrics(report []byte, want counts) error {
	if !bytes.HasSuffix(report, []byte("\n# EOF\n")) || bytes.Count(report, []byte("\n# EOF\n")) != 1 ||
		bytes.Contains(report, []byte("\n\n")) {
		return fmt.Errorf("the report does not end with # EOF")
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(report))
	if err != nil {
		return err
	}
	if problems, err := promlint.New(bytes.NewReader(report)).Lint(); err != nil || len(problems) > 0 {
		return fmt.Errorf("%v (%w)", problems, err)
	}
	series, entries := map[string]bool{}, 0
	for _, m := range families["probe_success"].GetMetric() {
		series[fmt.Sprint(m.GetLabel())] = true
	}
	for _, m := range families["regwarden_scan_entries"].GetMetric() {
		entries += int(m.GetGauge().GetValue())
	}
	return errorsOf(differ("series", len(series), want.checked),
		differ("expiry", len(families["probe_ssl_earliest_cert_expiry"].GetMetric()), want.checked),
		differ("stages", len(families["probe_duration_seconds"].GetMetric()), want.checked), differ("entries", entries, want.entries))
}

// Prometheus's own program reads the report in both of its formats. It imports only samples with a time.
func TestPromtool(t *testing.T) {
	promtool := needs.Program(t, "promtool", "prometheus")
	report, err := os.ReadFile("../../internal/cli/scanreport/testdata/openmetrics")
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = bytes.NewReader(report)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	file := t.TempDir() + "/report"
	timed := regexp.MustCompile(`(?m)^([a-z].*)$`).ReplaceAll(report, []byte("$1 1795320000"))
	if err := os.WriteFile(file, timed, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", file, t.TempDir()).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

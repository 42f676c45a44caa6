package reporttext_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/reporttext"
)

var update = flag.Bool("update", false, "rewrite golden files")

func sampleReport() *regcheck.Report {
	ms := func(n time.Duration) time.Duration { return n * time.Millisecond }
	return &regcheck.Report{
		Code: regcheck.CodeTLSFailed, Reason: regcheck.ReasonUnknownAuthority, Stage: regcheck.StageTLS, Field: "auth.tls.ca",
		Registry: "https://registry.test/v2/",
		Message: "The server's certificate was signed by an authority that is not trusted. registry.test:443 served \"registry.test\" " +
			"issued by \"Example Corp Root CA\" (SHA-256 11:22:33).",
		Hint: "Set auth.tls.ca to the PEM CA certificate \"Example Corp Root CA\" with the SHA-256 fingerprint " +
			"11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00 and auth.tls.enabled to true.",
		Stages: []regcheck.StageResult{
			{Name: regcheck.StageResolve, Status: regcheck.OK, Duration: ms(2), Detail: "registry.test has 1 address"},
			{Name: regcheck.StageEgress, Status: regcheck.OK, Duration: ms(0), Detail: "10.20.0.1, private"},
			{Name: regcheck.StageConnect, Status: regcheck.OK, Duration: ms(41), Detail: "10.20.0.1:443"},
			{Name: regcheck.StageTLS, Status: regcheck.Failed, Duration: ms(1240),
				Detail: "registry.test:443 served \"registry.test\" issued by \"Example Corp Root CA\" (SHA-256 11:22:33)."},
			{Name: regcheck.StageAPI, Status: regcheck.Skipped}, {Name: regcheck.StageAuth, Status: regcheck.Skipped},
			{Name: regcheck.StageContent, Status: regcheck.Skipped},
		},
		Warnings: []regcheck.Warning{{Code: regcheck.WarnPlainHTTPCredentials, Message: "The credentials are sent over unencrypted HTTP."}},
	}
}

func TestTree(t *testing.T) {
	valid := &regcheck.Report{Valid: true, Registry: "https://registry.test/v2/", Duration: 131 * time.Millisecond, DurationMS: 131,
		RoundTrips: 3, Stages: []regcheck.StageResult{
			{Name: regcheck.StageResolve, Status: regcheck.OK, Duration: time.Millisecond, Detail: "registry.test has 1 address"},
			{Name: regcheck.StageContent, Status: regcheck.Unknown, Duration: 40 * time.Millisecond,
				Detail: "charts is not a repository, and the catalog does not show whether repositories are below it: the catalog " +
					"returned 401"},
		}}
	for name, row := range map[string]struct {
		report *regcheck.Report
		color  bool
		width  int
	}{
		"failed": {sampleReport(), false, 80}, "failed-narrow": {sampleReport(), false, 40}, "failed-color": {sampleReport(), true, 100},
		"valid": {valid, false, 0},
	} {
		var out bytes.Buffer
		if err := (&reporttext.Printer{W: &out, Color: row.color, Width: row.width}).Print(row.report); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "tree-"+name+".txt")
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for line := range strings.Lines(out.String()) {
			if !row.color && row.width > 0 && utf8.RuneCountInString(strings.TrimSpace(line)) > row.width {
				t.Errorf("%s: wider than %d: %q", name, row.width, line)
			}
		}
	}
}

// A registry could begin commands of a pipeline by texts that are shown at the beginning of a row.
func TestTreeHasNoPipelineCommands(t *testing.T) {
	command := regexp.MustCompile(`(?m)^\s*::.*::|##(vso)?\[`)
	for length := range 80 {
		hostile := strings.Repeat("a", length) + " ::stop-commands::x ##[error]y ##vso[task.setvariable]z"
		report := &regcheck.Report{
			Code: regcheck.CodeContentNotFound, Message: hostile, Hint: hostile,
			Warnings: []regcheck.Warning{{Code: regcheck.WarnRedirected, Message: hostile}},
			Stages:   []regcheck.StageResult{{Name: regcheck.StageContent, Status: regcheck.OK, Detail: hostile}},
		}
		var out bytes.Buffer
		if err := (&reporttext.Printer{W: &out, Width: 60}).Print(report); err != nil {
			t.Fatal(err)
		}
		if found := command.FindString(out.String()); found != "" || !strings.Contains(out.String(), "stop-commands::x") {
			t.Fatalf("%q in\n%s", found, out.String())
		}
	}
}

func TestPrinterReportsWriteErrors(t *testing.T) {
	broken := errors.New("broken pipe")
	printer := reporttext.Printer{W: writerFunc(func([]byte) (int, error) { return 0, broken })}
	if err := printer.Print(sampleReport()); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

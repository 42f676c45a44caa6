package wording

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/regcheck"
)

var update = flag.Bool("update", false, "write docs/codes.md")

const codesFile = "../../../docs/codes.md"

// The page is generated from the table of the engine.
func TestCodesPageMatchesTable(t *testing.T) {
	page := codesPage(regcheck.Entries(), Engine().Show)
	if *update {
		if err := os.WriteFile(codesFile, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(codesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(stored) != page {
		t.Errorf("%s differs from the table; run: make docs", codesFile)
	}
}

// codesPage is the documentation of all codes, reasons and warnings as Markdown.
func codesPage(entries []regcheck.Entry, show func(regcheck.Text) string) string {
	var out strings.Builder
	out.WriteString(codesIntroduction)
	last := regcheck.Code("")
	for _, e := range entries {
		if e.Warning != "" {
			continue
		}
		if e.Code != last {
			fmt.Fprintf(&out, "\n## %s\n\nStage: %s.\n", e.Code, joinStages(entries, e.Code))
			last = e.Code
		}
		if e.Reason != "" {
			fmt.Fprintf(&out, "\n### %s: %s\n", e.Code, e.Reason)
		}
		fmt.Fprintf(&out, "\n%s\n\n- Fix: %s\n- Field: %s\n- Retry: %s\n",
			show(e.Sentence), show(e.Hint), codeOrNone(e.Field), yesNo(e.Retryable))
	}
	out.WriteString("\n## Warnings\n\nA warning never changes the result.\n")
	for _, e := range entries {
		if e.Warning == "" {
			continue
		}
		field := codeOrNone(e.Field)
		if e.Warning == regcheck.WarnUnknownField {
			field = "the unknown field"
		}
		fmt.Fprintf(&out, "\n### %s\n\n%s\n\n- Fix: %s\n- Field: %s\n", e.Warning, show(e.Sentence), show(e.Hint), field)
	}
	return out.String()
}

const codesIntroduction = `# Codes, reasons and warnings of a check

This page is generated from the table of codes (make docs); do not edit it. A report has the first stage that failed, a code, usually a
reason, the field of the definition to change, and a hint. This page has the usual field and hint; the hint of a report is more exact. If
the target of a redirect fails, the code is that of its own failure, in a stage after tls.
`

func joinStages(entries []regcheck.Entry, code regcheck.Code) string {
	var names []string
	for _, e := range entries {
		for _, s := range e.Stages {
			if e.Code == code && !slices.Contains(names, string(s)) {
				names = append(names, string(s))
			}
		}
	}
	return strings.Join(names, ", ")
}

func codeOrNone(field string) string {
	if field == "" {
		return "none"
	}
	return "`" + field + "`"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

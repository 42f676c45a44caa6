package reporttext_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/reporttext"
)

// A report may come from a server.
func TestHostileReportControlsNoTerminal(t *testing.T) {
	const hostile = "a\x1b[2J\u009b2J\u202eb\n##[error]c"
	report := &regcheck.Report{Registry: hostile, Code: hostile, Reason: hostile, Field: hostile, Message: hostile, Hint: hostile,
		Stages:   []regcheck.StageResult{{Name: hostile, Status: hostile, Detail: hostile}},
		Warnings: []regcheck.Warning{{Code: hostile, Message: hostile}}}
	var out strings.Builder
	if err := (&reporttext.Printer{W: &out}).Print(report); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(out.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) ||
		strings.Contains(out.String(), "##[") {
		t.Errorf("%q", out.String())
	}
}

// Package reporttext prints the reports of checks as trees, for terminals.
package reporttext

import (
	"fmt"
	"io"
	"strings"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/internal/layout"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Printer shows a check as a tree, with one line per stage as it ends. Observe is its Observer; Finish writes the result. It
// is not safe for concurrent use.
type Printer struct {
	W     io.Writer
	Color bool // escape sequences for color
	Width int  // of the terminal; 0 means 80
	// Field returns how the user sets a field, as Audience.Field; nil or "": only its JSON path is shown.
	Field func(path string) string

	rows layout.Rows
}

const (
	nameColumn = 9 // the longest name of a stage that every check has, and two blanks
	timeColumn = 8
)

// Start writes the head: what is checked.
func (p *Printer) Start(registry string) {
	p.out().Line(p.out().Paint(layout.Bold, wire.CleanText(registry)))
}

// Observe writes the line of a stage that ended.
func (p *Printer) Observe(r regcheck.StageResult) {
	elapsed, branch := "", layout.Branch
	if r.Status != regcheck.Skipped {
		elapsed = layout.Duration(r.Duration)
	}
	if r.Name == regcheck.StageContent {
		branch = layout.LastBranch
	}
	name := fmt.Sprintf("%-*s%*s", max(nameColumn, len(r.Name)+2), layout.Printable(string(r.Name)), timeColumn, elapsed)
	p.out().Leaf(branch, layout.Mark(r.Status), name, r.Detail)
}

// references writes the lines of the references below that of the content stage.
func (p *Printer) references(all []regcheck.ReferenceResult) {
	for i, r := range all {
		branch := "   " + layout.Branch
		if i == len(all)-1 {
			branch = "   " + layout.LastBranch
		}
		text := r.Message
		if r.Code != "" {
			text = codeAndReason(r.Code, r.Reason) + ": " + text
		}
		if !strings.HasPrefix(text, r.Reference) {
			text = r.Reference + ": " + text
		}
		p.out().Leaf(branch, layout.Mark(r.Status), "", text)
	}
}

func codeAndReason(code regcheck.Code, reason regcheck.Reason) string {
	return strings.TrimSuffix(string(code)+" ("+string(reason)+")", " ()")
}

// out returns what writes rows.
func (p *Printer) out() *layout.Rows {
	p.rows.W, p.rows.Color, p.rows.Width = p.W, p.Color, p.Width
	return &p.rows
}

// Finish writes result, field, hint and warnings, and returns the first error of a write.
func (p *Printer) Finish(r *regcheck.Report) error {
	p.references(r.References)
	p.out().Line("")
	if r.Valid {
		trips := wire.Counted(r.RoundTrips, "round trip", "round trips")
		p.out().Line(p.out().Paint(layout.Green+";"+layout.Bold, "valid") + "  " + trips + ", " + layout.Duration(r.Duration))
	} else {
		p.notValid(r)
	}
	for _, w := range r.Warnings {
		p.out().Labeled("warning", layout.Yellow, string(w.Code)+": "+w.Message)
	}
	return p.rows.Err
}

// notValid writes why a definition is not valid. The details are in the tree already.
func (p *Printer) notValid(r *regcheck.Report) {
	const result = "not valid  "
	for i, row := range layout.Wrap(codeAndReason(r.Code, r.Reason), p.out().Columns()-len(result)) {
		head := p.out().Paint(layout.Red+";"+layout.Bold, result)
		if i > 0 {
			head = strings.Repeat(" ", len(result))
		}
		p.out().Line(head + p.out().Paint(layout.Bold, row))
	}
	message := r.Message
	for _, s := range r.Stages {
		if s.Status == regcheck.Failed {
			message = strings.TrimSuffix(message, " "+s.Detail)
		}
	}
	p.out().Labeled("", "", message)
	if r.Field != "" {
		p.out().Labeled("field", "", p.field(r.Field))
	}
	p.out().Labeled("hint", layout.Bold, r.Hint)
	if r.Retryable {
		p.out().Labeled("retry", "", "The same definition may be valid later.")
	}
}

// Print prints a whole report, for a check without an observer.
func (p *Printer) Print(r *regcheck.Report) error {
	p.Start(r.Registry)
	for _, s := range r.Stages {
		p.Observe(s)
	}
	return p.Finish(r)
}

// field returns the JSON path of a field, and how the user sets it.
func (p *Printer) field(path string) string {
	if p.Field == nil || p.Field(path) == "" || p.Field(path) == path {
		return path
	}
	return path + " (" + p.Field(path) + ")"
}

// WithoutPipelineCommand returns a row of text that pipelines do not take for a command, as texts of registries could be.
func WithoutPipelineCommand(row string) string { return layout.WithoutPipelineCommand(row) }

// Wrap breaks a text into rows, at blanks, and longer words after a part of a path or a byte of a fingerprint.
func Wrap(text string, width int) []string { return layout.Wrap(text, width) }

// FormatBytes returns a number of bytes in words, as in reports: 1.5 MiB.
func FormatBytes(n int64) string { return layout.Bytes(n) }

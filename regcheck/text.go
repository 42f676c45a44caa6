package regcheck

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/regwarden/regwarden/regcheck/internal/layout"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Printer shows a check as a tree, with one line per stage as it ends. Observe is its Observer; Finish writes the result. It
// is not safe for concurrent use.
type Printer struct {
	W     io.Writer
	Color bool // escape sequences for color
	Width int  // of the terminal; 0 means 80
	// Field returns how the user sets a field, as Words.Field; nil or "": only its JSON path is shown.
	Field func(path string) string

	begun bool
	err   error
}

// The marks of the stages.
const (
	sgrGreen, sgrRed, sgrYellow, sgrFaint, sgrBold = "32", "31", "33", "2", "1"

	nameColumn = 9 // the longest stage name and two blanks
	timeColumn = 8
)

// Start writes the head: what is checked.
func (p *Printer) Start(registry string) {
	p.begun = true
	p.line(p.paint(sgrBold, wire.CleanText(registry)))
}

// Observe writes the line of a stage that ended.
func (p *Printer) Observe(r StageResult) {
	mark, color := "✓", sgrGreen
	switch r.Status {
	case Failed:
		mark, color = "✗", sgrRed
	case Skipped:
		mark, color = "–", sgrFaint
	case Unknown:
		mark, color = "?", sgrYellow
	}
	elapsed := ""
	if r.Status != Skipped {
		elapsed = layout.Duration(r.Duration)
	}
	branch := "├─ "
	if r.Name == StageContent {
		branch = "└─ "
	}
	head := fmt.Sprintf("%s%s %-*s%*s  ", branch, mark, nameColumn, layout.Printable(string(r.Name)), timeColumn, elapsed)
	indent := "│  " + strings.Repeat(" ", utf8.RuneCountInString(head)-3)
	if r.Name == StageContent {
		indent = "   " + indent[len("│  "):]
	}
	rows := layout.Wrap(r.Detail, p.width()-utf8.RuneCountInString(head))
	painted := p.paint(sgrFaint, branch) + p.paint(color, mark) + strings.TrimPrefix(head, branch+mark)
	if r.Status == Skipped {
		painted = p.paint(sgrFaint, strings.TrimRight(head, " "))
		if r.Detail != "" {
			painted = p.paint(sgrFaint, head)
		}
	}
	p.line(strings.TrimRight(painted+rows[0], " "))
	for _, row := range rows[1:] {
		p.line(p.paint(sgrFaint, indent[:len(indent)-len(strings.TrimLeft(indent, "│"))]) + strings.TrimLeft(indent, "│") + row)
	}
}

// Finish writes result, field, hint and warnings, and returns the first error of a write.
func (p *Printer) Finish(r *Report) error {
	p.line("")
	if r.Valid {
		p.line(p.paint(sgrGreen+";"+sgrBold, "valid") + fmt.Sprintf("  %s, %s", wire.Counted(r.RoundTrips, "round trip", "round trips"), layout.Duration(r.Duration)))
	} else {
		p.notValid(r)
	}
	for _, w := range r.Warnings {
		p.labeled("warning", sgrYellow, string(w.Code)+": "+w.Message)
	}
	return p.err
}

// notValid writes why a definition is not valid. The details are in the tree already.
func (p *Printer) notValid(r *Report) {
	const result = "not valid  "
	code := string(r.Code)
	if r.Reason != "" {
		code += " (" + string(r.Reason) + ")"
	}
	for i, row := range layout.Wrap(code, p.width()-len(result)) {
		head := p.paint(sgrRed+";"+sgrBold, result)
		if i > 0 {
			head = strings.Repeat(" ", len(result))
		}
		p.line(head + p.paint(sgrBold, row))
	}
	message := r.Message
	for _, s := range r.Stages {
		if s.Status == Failed {
			message = strings.TrimSuffix(message, " "+s.Detail)
		}
	}
	p.labeled("", "", message)
	if r.Field != "" {
		p.labeled("field", "", p.field(r.Field))
	}
	p.labeled("hint", sgrBold, r.Hint)
	if r.Retryable {
		p.labeled("retry", "", "The same definition may be valid later.")
	}
}

// WriteTree writes a whole report, for a check without an observer.
func (r *Report) WriteTree(w io.Writer, color bool, width int) error {
	p := &Printer{W: w, Color: color, Width: width}
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

// labeled writes a paragraph with a word in the margin.
func (p *Printer) labeled(label, color, text string) {
	const margin = 9
	for i, row := range layout.Wrap(text, p.width()-margin) {
		head := strings.Repeat(" ", margin)
		if i == 0 && label != "" {
			head = p.paint(color, fmt.Sprintf("%-*s", margin, label))
		}
		p.line(head + row)
	}
}

func (p *Printer) width() int {
	if p.Width <= 0 {
		return 80
	}
	return max(p.Width, 40)
}

func (p *Printer) paint(sgr, text string) string {
	if !p.Color || sgr == "" || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

func (p *Printer) line(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.W, WithoutPipelineCommand(text)+"\n")
	}
}

// WithoutPipelineCommand returns a row of text that pipelines do not take for a command, as texts of registries and names of files could
// be: GitHub reads "::command::" after blanks, and GitHub and Azure DevOps read "##[command]" anywhere.
func WithoutPipelineCommand(row string) string { return layout.WithoutPipelineCommand(row) }

// FormatBytes returns a number of bytes in words, as in reports: 1.5 MiB.
func FormatBytes(n int64) string { return layout.Bytes(n) }

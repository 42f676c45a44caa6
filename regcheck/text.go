package regcheck

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
		elapsed = duration(r.Duration)
	}
	branch := "├─ "
	if r.Name == StageContent {
		branch = "└─ "
	}
	head := fmt.Sprintf("%s%s %-*s%*s  ", branch, mark, nameColumn, printable(string(r.Name)), timeColumn, elapsed)
	indent := "│  " + strings.Repeat(" ", utf8.RuneCountInString(head)-3)
	if r.Name == StageContent {
		indent = "   " + indent[len("│  "):]
	}
	rows := wrap(r.Detail, p.width()-utf8.RuneCountInString(head))
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
		p.line(p.paint(sgrGreen+";"+sgrBold, "valid") + fmt.Sprintf("  %s, %s", wire.Counted(r.RoundTrips, "round trip", "round trips"), duration(r.Duration)))
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
	for i, row := range wrap(code, p.width()-len(result)) {
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
	for i, row := range wrap(text, p.width()-margin) {
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

var loggingCommand = strings.NewReplacer("##[", "# #[", "##vso[", "# #vso[")

// WithoutPipelineCommand returns a row of text that pipelines do not take for a command, as texts of registries and names of files could
// be: GitHub reads "::command::" after blanks, and GitHub and Azure DevOps read "##[command]" anywhere.
func WithoutPipelineCommand(row string) string {
	row = loggingCommand.Replace(row)
	text := strings.TrimLeft(row, " ")
	if rest, found := strings.CutPrefix(text, "::"); found && strings.Contains(rest, "::") {
		return row[:len(row)-len(text)] + ": :" + rest
	}
	return row
}

// printable removes characters that control a terminal. Reports may come from a server, which did not remove them.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
}

// wrap breaks a text at blanks and within words that are longer than a row. It returns at least one row.
func wrap(text string, width int) []string {
	width = max(width, 16) // of a server's report, names of stages may be long
	var rows []string
	row, length := "", 0
	for word := range strings.FieldsSeq(printable(text)) {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n > width {
			rows = append(rows, row)
			row, length = "", 0
		}
		for n > width {
			runes := []rune(word)
			rows = append(rows, string(runes[:width]))
			word, n = string(runes[width:]), n-width
		}
		if length > 0 {
			row, length = row+" ", length+1
		}
		row, length = row+word, length+n
	}
	return append(rows, row)
}

func duration(d time.Duration) string {
	switch {
	case d < 100*time.Microsecond:
		return "<0.1 ms"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

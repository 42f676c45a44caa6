package scan

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/scanreport"
	"github.com/regwarden/regwarden/internal/fixes"
	"github.com/regwarden/regwarden/regcheck/reporttext"
)

// Text is how to show a result in a terminal.
type Text struct {
	Color bool
	Width int  // of the terminal; 0 means 80
	List  bool // what was found and skipped; nothing was checked
	Users bool // show usernames
	Steps bool // show how the consumer chose the credentials

	Summary bool // causes with their first places alone
	Verbose bool // count what defines nothing, and name the directories that are left out
}

// Parameters of escape sequences (SGR).
const green, red, yellow, faint, bold = "32", "31", "33", "2", "1"

const (
	minWidth     = 40
	defaultWidth = 80
	lineIndent   = "  "
	detailIndent = "      "
	maxPlaces    = 3    // of a definition that are named
	maxShown     = 2000 // characters of a text: a name in a file may have millions
)

// Write writes the result and a summary. What was checked is grouped by cause; what was found, and how credentials are chosen, by file.
func (t Text) Write(w io.Writer, result model.Result) error {
	p := &printer{Text: t, w: w}
	p.Width = max(cmp.Or(t.Width, defaultWidth), minWidth)
	if byFile := (t.List || t.Steps) && !t.Summary; byFile {
		files := group(result, t.List)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			p.file(name, files[name])
		}
	} else {
		p.causes(result)
	}
	p.summary(result.Summary)
	p.leftOut(result)
	if t.Verbose {
		p.silent(result)
	}
	return p.err
}

// group returns a part of the result for each file. A definition is part of the first file that uses it.
func group(result model.Result, skipped bool) map[string]*model.Result {
	files := map[string]*model.Result{}
	of := func(s model.Source) *model.Result {
		if files[s.File] == nil {
			files[s.File] = &model.Result{}
		}
		return files[s.File]
	}
	for _, r := range result.Registries {
		f := of(r.Sources[0])
		f.Registries = append(f.Registries, r)
	}
	for _, problem := range result.Problems {
		f := of(problem.Source)
		f.Problems = append(f.Problems, problem)
	}
	for _, r := range result.References {
		if skipped {
			f := of(r.Sources[0])
			f.References = append(f.References, r)
		}
	}
	for _, s := range result.Skipped {
		if skipped {
			f := of(s.Source)
			f.Skipped = append(f.Skipped, s)
		}
	}
	return files
}

type printer struct {
	Text
	w   io.Writer
	err error
}

func (p *printer) file(name string, found *model.Result) {
	p.line(p.paint(bold, cmp.Or(Clean(name), "(all files)")))
	address, consumer := 0, 0
	for _, r := range found.Registries {
		address, consumer = max(address, width(p.address(r))), max(consumer, width(string(r.Consumer)))
	}
	for _, r := range found.Registries {
		p.registry(r, address, consumer)
	}
	for _, problem := range found.Problems {
		p.entry("✗", red, "problem", string(problem.Reason), problem.Source, problem.Message)
	}
	for _, r := range found.References {
		p.hanging(lineIndent, lineIndent+"  ", "·", "· ", p.address(r)+"  reference")
		p.labeled("", "", r.Sources[0].InFile())
	}
	for _, s := range found.Skipped {
		p.entry("–", faint, "skipped", string(s.Reason), s.Source, s.Message)
	}
	p.line("")
}

// registry writes one line, and details of everything that is not simply valid.
func (p *printer) registry(r model.Registry, address, consumer int) {
	o := p.outcome(r)
	head := fmt.Sprintf("%-*s  %-*s", address, p.address(r), consumer, r.Consumer)
	if consumer == 0 {
		head = strings.TrimRight(head, " ")
	}
	if width(lineIndent+"✓ "+head+"  "+o.text) <= p.Width {
		p.line(lineIndent + p.paint(o.color, o.mark) + " " + head + "  " + p.paint(o.color, o.text))
	} else { // a narrow terminal or a long path
		p.hanging(lineIndent, lineIndent+"  ", p.paint(o.color, o.mark), "✓ ", p.address(r))
		p.hanging(detailIndent, detailIndent, "", "", strings.TrimSpace(string(r.Consumer)+"  "+o.text))
	}
	p.details(r, o)
}

// address is what is shown of a definition: its address and, on request, the user.
func (p *printer) address(r model.Registry) string {
	text := cmp.Or(Clean(model.Address(r.Definition)), scanreport.NoAddress)
	if user := r.Definition.Auth.Username; p.Users && user != "" {
		text += " as " + Clean(user)
	}
	return text
}

// outcome is how the line of a definition shows its result.
type outcome struct{ mark, color, text string }

func (p *printer) outcome(r model.Registry) outcome {
	switch {
	case r.Resolution == model.Unresolved:
		return outcome{"?", yellow, "unresolved (" + string(r.Reason) + ")"}
	case len(r.DefinitionProblems) > 0:
		return outcome{"✗", red, "not valid: " + scanreport.InvalidDefinition + " (" + r.DefinitionProblems[0].Field + ")"}
	case r.Report != nil && r.Report.Valid:
		return outcome{"✓", green, "valid"}
	case r.Report != nil:
		text := "not valid: " + string(r.Report.Code)
		if r.Report.Reason != "" {
			text += " (" + string(r.Report.Reason) + ")"
		}
		return outcome{"✗", red, text}
	case p.List:
		return outcome{"•", "", credentials[string(r.Definition.Auth.Type)]}
	default:
		return outcome{"!", yellow, "not checked"}
	}
}

// credentials names types of authentication.
var credentials = map[string]string{"noAuth": "no credentials", "basic": "password", "token": "token",
	"ecr": "key of AWS", "gcp": "key of Google", "azure": "client of Azure"}

// details writes places, causes and what to do.
func (p *printer) details(r model.Registry, o outcome) {
	if o.color != green {
		p.labeled("", "", r.Sources[0].InFile())
	}
	if len(r.Sources) > 1 {
		p.labeled("", "", "also in "+places(r.Sources[1:]))
	}
	if p.Steps {
		for _, step := range r.Steps {
			p.labeled("explain", faint, step)
		}
	}
	p.labeled("", "", string(r.Detail))
	for _, problem := range r.DefinitionProblems {
		p.labeled("", "", fixes.Field(r, problem.Field)+" "+problem.Problem)
	}
	p.labeled("", "", r.NotChecked)
	p.report(r)
	for _, n := range r.Notices {
		p.labeled("notice", yellow, string(n.Code)+": "+n.Message)
	}
}

// report writes what a check found out, with texts of the registry.
func (p *printer) report(r model.Registry) {
	if r.Report == nil {
		return
	}
	shown := func(text string) string { return text }
	if !p.Users {
		shown = scanreport.MaskUser(r)
	}
	p.labeled("", "", shown(r.Report.Message))
	if r.Format == model.RegistryDefinition { // the hints of others name what their file has
		p.labeled("field", "", r.Report.Field)
	}
	p.labeled("hint", bold, shown(r.Report.Hint))
	for _, w := range r.Report.Warnings {
		p.labeled("warning", yellow, string(w.Code)+": "+shown(w.Message))
	}
}

// places names the first places of a definition.
func places(sources []model.Source) string {
	var list []string
	for _, s := range sources[:min(len(sources), maxPlaces)] {
		list = append(list, Place(s))
	}
	if more := len(sources) - maxPlaces; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list, ", "), more)
	}
	return strings.Join(list, ", ")
}

// Place names a place as "file:line".
func Place(s model.Source) string {
	return Clean(s.String())
}

// entry writes a problem or a skipped entry.
func (p *printer) entry(mark, color, kind, reason string, at model.Source, message string) {
	text := kind + " (" + reason + ")"
	if place := at.InFile(); place != "" {
		text += ": " + place
	}
	p.hanging(lineIndent, lineIndent+"  ", p.paint(color, mark), mark+" ", text)
	p.labeled("", "", message)
}

func (p *printer) summary(s model.Summary) {
	switch {
	case s.Found+s.Skipped+s.Problems+s.References > 0:
	case s.Known+s.Ignored > 0:
		p.line("Nothing new was found.")
	default:
		p.line("No registry definitions found.")
	}
	row, painted := "", ""
	add := func(n int, color, text string) {
		part := fmt.Sprintf("%d %s", n, text)
		switch {
		case n == 0:
			return
		case row == "":
		case width(row)+width(", "+part+",") > p.Width:
			p.line(painted + ",")
			row, painted = "", ""
		default:
			row, painted = row+", ", painted+", "
		}
		row, painted = row+part, painted+p.paint(color, part)
	}
	add(s.Found, "", "found")
	add(s.Valid, green, "valid")
	add(s.NotValid, red, "not valid")
	if !p.List {
		add(s.Found-s.Valid-s.NotValid-s.Unresolved, yellow, "not checked")
	}
	add(s.Unresolved, yellow, "unresolved")
	add(s.Skipped, "", "skipped")
	add(s.Problems, red, plural(s.Problems, "problem"))
	add(s.Known, "", "known")
	add(s.Ignored, "", "ignored")
	add(s.Excluded, "", "excluded")
	if row != "" {
		p.line(painted)
	}
	if s.Skipped > 0 && !p.List && !p.Verbose {
		p.line("--list shows what was skipped.")
	}
}

func pluralOf(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// labeled writes a paragraph with a word in its margin; nothing for an empty text.
func (p *printer) labeled(label, color, text string) {
	if text == "" {
		return
	}
	if label == "" {
		p.hanging(detailIndent, detailIndent, "", "", text)
		return
	}
	const column = "%-8s "
	p.hanging(detailIndent, detailIndent, p.paint(color, label)+strings.Repeat(" ", max(0, 8-width(label))), fmt.Sprintf(column, label),
		text)
}

// hanging writes a paragraph after first and a head. The other rows are below the text of the first. plain is the head and a blank,
// without escape sequences.
func (p *printer) hanging(first, rest, head, plain, text string) {
	if plain != "" {
		rest = first + strings.Repeat(" ", width(plain))
		head += " "
	}
	for i, row := range reporttext.Wrap(Clean(text), p.Width-width(rest)) {
		if i == 0 {
			p.line(first + head + row)
		} else {
			p.line(rest + row)
		}
	}
}

func (p *printer) paint(sgr, text string) string {
	if !p.Color || sgr == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

func (p *printer) line(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, reporttext.WithoutPipelineCommand(strings.TrimRight(text, " "))+"\n")
	}
}

func width(text string) int { return utf8.RuneCountInString(text) }

// Clean returns a text of one line of limited length. Names in files may contain escape sequences of terminals, and characters that change
// the direction of text.
func Clean(text string) string {
	count := 0
	for i := range text {
		if count++; count > maxShown {
			text = text[:i] + "…"
			break
		}
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '\ufffd'
		}
		return r
	}, text)
}

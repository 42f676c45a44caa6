package scanreport

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/fixes"
	"github.com/regwarden/regwarden/regcheck"
)

// outcome is what a scan found out about an entry.
type outcome string

const (
	notValid   outcome = "notValid"
	problem    outcome = "problem"
	notChecked outcome = "notChecked" // by a fault of the checker
	unresolved outcome = "unresolved"
	skipped    outcome = "skipped"
	listed     outcome = "listed" // found, and no check was asked for
	valid      outcome = "valid"
)

// outcomes are in the order in which a user should look at them.
var outcomes = []outcome{notValid, problem, notChecked, unresolved, skipped, listed, valid}

// level is how severe something is.
type level int

const (
	note level = iota
	warning
	failure
)

func (o outcome) level() level {
	switch o {
	case notValid, problem:
		return failure
	case notChecked:
		return warning
	default:
		return note
	}
}

// reported reports whether an entry is more than inventory: a user may have to do something.
func (o outcome) reported() bool {
	return o == notValid || o == problem || o == notChecked || o == unresolved
}

// scan is a result as all kinds of reports show it.
type scan struct{ entries []entry }

// entry is a definition, a problem or something skipped. Its texts are clean and without secrets; names may have any characters.
type entry struct {
	outcome  outcome
	rule     rule
	places   []model.Source // at least one
	registry string         // address of the API; empty for problems and skipped entries
	content  string
	user     string // empty unless it may be shown
	consumer string
	format   string
	message  string
	hint     string
	remarks  []remark
	report   *regcheck.Report
}

// remark is a warning of the check or a notice about the definition.
type remark struct {
	rule    rule
	level   level
	message string
}

func newScan(r model.Result, o Options) *scan {
	s, clean := &scan{}, &cleaner{}
	if !o.withoutTexts {
		clean = newCleaner(r)
	}
	for _, found := range r.Registries {
		s.entries = append(s.entries, registryEntry(found, clean.forUser(found, o.ShowUsers), o))
	}
	for _, p := range r.Problems {
		s.entries = append(s.entries, otherEntry(problem, string(p.Reason), p.Source, clean.text(p.Message)))
	}
	for _, p := range r.Skipped {
		s.entries = append(s.entries, otherEntry(skipped, string(p.Reason), p.Source, clean.text(p.Message)))
	}
	for i := range s.entries {
		e := &s.entries[i]
		e.message = cmp.Or(e.message, e.rule.sentence)
		for j := range e.places {
			e.places[j] = place(e.places[j], o)
		}
	}
	return s
}

func otherEntry(is outcome, reason string, at model.Source, message string) entry {
	return entry{outcome: is, rule: ruleOf(string(is), reason), places: []model.Source{at}, message: message}
}

func registryEntry(r model.Registry, clean *cleaner, o Options) entry {
	e := entry{
		places: slices.Clone(r.Sources), registry: address(r.Definition), content: name(r.Definition.BaseContentPath),
		consumer: name(string(r.Consumer)), format: name(string(r.Format)), report: r.Report,
	}
	if len(e.places) == 0 {
		e.places = []model.Source{{}}
	}
	if a := r.Definition.Auth; a != nil && o.ShowUsers {
		e.user = name(a.Username)
	}
	e.setOutcome(r, clean)
	for _, n := range r.Notices {
		e.remarks = append(e.remarks, remark{ruleOf("notice", string(n.Code)), note, clean.text(n.Message)})
	}
	if r.Report != nil {
		for _, w := range r.Report.Warnings {
			e.remarks = append(e.remarks, remark{ruleOf("warning", string(w.Code)), warning, clean.text(w.Message)})
		}
	}
	for i := range e.remarks {
		e.remarks[i].message = cmp.Or(e.remarks[i].message, e.remarks[i].rule.sentence)
	}
	return e
}

// setOutcome sets what was found out about a definition, and why.
func (e *entry) setOutcome(r model.Registry, clean *cleaner) {
	switch {
	case r.Resolution == model.Unresolved:
		e.outcome, e.rule, e.message = unresolved, ruleOf("unresolved", string(r.Reason)), clean.text(string(r.Detail))
	case len(r.DefinitionProblems) > 0:
		e.outcome, e.rule, e.message = notValid, ruleOf("", InvalidDefinition), clean.text(problemText(r))
	case r.NotChecked != "":
		e.outcome, e.rule, e.message = notChecked, ruleOf("", string(notChecked)), clean.text(r.NotChecked)
	case r.Report == nil:
		e.outcome, e.rule = listed, ruleOf("", string(listed))
	case r.Report.Valid:
		e.outcome, e.rule = valid, ruleOf("", string(valid))
	default:
		e.outcome, e.rule = notValid, ruleOf(string(r.Report.Code), string(r.Report.Reason))
		e.message, e.hint = clean.text(r.Report.Message), clean.text(r.Report.Hint)
	}
}

func problemText(r model.Registry) string {
	texts := make([]string, len(r.DefinitionProblems))
	for i, p := range r.DefinitionProblems {
		texts[i] = fixes.Field(r, p.Field) + " " + p.Problem
	}
	return strings.Join(texts, "; ") + "."
}

// place returns a source with the name of the file as pipelines expect it: with slashes, and relative to the working directory.
func place(s model.Source, o Options) model.Source {
	s.File = cmp.Or(s.File, "-")
	if absolute, err := filepath.Abs(s.File); err == nil && o.Dir != "" {
		if inside, err := filepath.Rel(o.Dir, absolute); err == nil && filepath.IsLocal(inside) {
			s.File = inside
		}
	}
	s.File, s.Object = filepath.ToSlash(filepath.Clean(s.File)), short(withoutUserInfo(s.Object))
	return s
}

// target returns the registry and the content of an entry in words.
func (e *entry) target() string {
	text := e.registry
	if e.content != "" {
		text += "/" + e.content
	}
	for _, s := range []string{e.user, e.consumer} {
		if s != "" {
			text += " (" + s + ")"
		}
	}
	return text
}

// where returns the name of an entry at one of its places. It has no line, so that it survives other changes of the file.
func (e *entry) where(at model.Source) string {
	names := slices.DeleteFunc([]string{shown(at.Object), e.target()}, func(s string) bool { return s == "" })
	return cmp.Or(strings.Join(names, ": "), e.rule.id)
}

// advice is a message with the instruction what to do.
func (e *entry) advice() string {
	if e.hint == "" {
		return e.message
	}
	return e.message + "\nFix: " + e.hint
}

// shown returns a name as text: one with characters that are not printable is quoted, so that two names remain two.
func shown(name string) string {
	if printable(name) == name {
		return name
	}
	return strconv.Quote(name)
}

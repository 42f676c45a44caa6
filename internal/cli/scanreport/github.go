package scanreport

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// maxSummary is the size in bytes of a step summary. GitHub rejects one over 1 MiB as a whole.
const maxSummary = 900 << 10

var githubCommands = map[level]string{failure: "error", warning: "warning", note: "notice"}

// Characters with a meaning in workflow commands. Without these escapes a registry could begin a command of its own.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// writeGitHub writes an annotation for each entry and remark, the most severe first, since GitHub shows ten of each level for a step.
func writeGitHub(w io.Writer, s *scan, o Options) error {
	annotations := map[level]*strings.Builder{failure: {}, warning: {}, note: {}}
	for i := range s.entries {
		e := &s.entries[i]
		if e.outcome.reported() {
			annotate(annotations, e.outcome.level(), e, e.rule, e.advice()+alsoIn(e))
		}
		for _, r := range e.remarks {
			annotate(annotations, r.level, e, r.rule, r.message)
		}
	}
	for _, severity := range []level{failure, warning, note} {
		if _, err := io.WriteString(w, annotations[severity].String()); err != nil {
			return err
		}
	}
	if o.Summary == nil {
		return nil
	}
	return writeSummary(o.Summary, s)
}

func annotate(to map[level]*strings.Builder, severity level, e *entry, r rule, message string) {
	at := e.places[0]
	line := ""
	if at.Line > 0 {
		line = ",line=" + strconv.Itoa(at.Line)
	}
	fmt.Fprintf(to[severity], "::%s file=%s%s,title=%s::%s\n", githubCommands[severity], githubProperty.Replace(shown(at.File)), line,
		githubProperty.Replace(r.id), githubData.Replace(e.where(at)+": "+message))
}

func alsoIn(e *entry) string {
	if len(e.places) == 1 {
		return ""
	}
	return fmt.Sprintf("\nAlso in %d other places.", len(e.places)-1)
}

// writeSummary writes the summary of a step, the most severe entries first.
func writeSummary(w io.Writer, s *scan) error {
	counts := map[outcome]int{}
	for _, e := range s.entries {
		counts[e.outcome]++
	}
	var text strings.Builder
	text.WriteString("## Registry definitions\n\n")
	for _, o := range outcomes {
		if counts[o] > 0 {
			fmt.Fprintf(&text, "- %s: %d\n", outcomeTitles[o], counts[o])
		}
	}
	text.WriteString("\n| Result | Place | Registry | Cause |\n| --- | --- | --- | --- |\n")
	sorted := slices.Clone(s.entries)
	slices.SortStableFunc(sorted, func(a, b entry) int {
		return cmp.Compare(slices.Index(outcomes, a.outcome), slices.Index(outcomes, b.outcome))
	})
	for i := range sorted {
		row := summaryRow(&sorted[i])
		if text.Len()+len(row) > maxSummary {
			fmt.Fprintf(&text, "\n%d more are not shown.\n", len(sorted)-i)
			break
		}
		text.WriteString(row)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

var outcomeTitles = map[outcome]string{
	notValid: "❌ Not valid", problem: "❌ Problem", notChecked: "⚠️ Not checked", unresolved: "❔ Unresolved",
	skipped: "➖ Skipped", listed: "Found", valid: "✅ Valid",
}

func summaryRow(e *entry) string {
	at := e.places[0]
	place := shown(at.File)
	if at.Line > 0 {
		place += ":" + strconv.Itoa(at.Line)
	}
	cause := "[" + e.rule.id + "](" + e.rule.page + ") " + code(e.message+strings.ReplaceAll(alsoIn(e), "\n", " "))
	if e.outcome == valid || e.outcome == listed {
		cause = ""
	}
	for _, r := range e.remarks {
		cause += " [" + r.rule.id + "](" + r.rule.page + ")"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", outcomeTitles[e.outcome], code(place), code(e.where(at)), cause)
}

// notCode replaces the two characters that have a meaning in a code span of a table by ones that look alike.
var notCode = strings.NewReplacer("`", "ˋ", "|", "¦")

// code returns a text as a code span, in which Markdown has no links, HTML, mentions and escapes.
func code(text string) string {
	if text = strings.TrimSpace(notCode.Replace(printable(text))); text == "" {
		return ""
	}
	return "`" + text + "`"
}

package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// table is what a benchmark found: figures, some with a limit.
type table struct {
	name      string
	columns   []string
	rows      []row
	notes     []string
	kept      []keptFigure
	disturbed string // by what, "" when it was not: see others.tell
}

type row struct {
	cells   []string
	limit   string // "" where there is none
	verdict string
}

const (
	met    = "met"
	missed = "MISSED"
)

// add appends a figure that has no limit.
func (t *table) add(cells ...string) { t.rows = append(t.rows, row{cells: cells}) }

// hold appends a figure with its limit and whether it keeps it.
func (t *table) hold(limit string, kept bool, cells ...string) {
	verdict := met
	if !kept {
		verdict = missed
	}
	t.rows = append(t.rows, row{cells, limit, verdict})
}

func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// tell prints the table, writes it into the page when asked to and nothing disturbed it, and fails b for a missed limit
// when that is wanted.
func (t *table) tell(b *testing.B) {
	b.Helper()
	lines := append(t.notes, machine())
	against, err := t.compare()
	if err != nil {
		b.Error(err)
	}
	if against != "" {
		lines = append(lines, against)
	}
	fmt.Printf("\n%s\n\n%s\n%s\n\n", t.name, t.text(), strings.Join(lines, "\n"))
	for _, r := range t.rows {
		if r.verdict == missed && *strict {
			b.Errorf("%s: %s, want %s", r.cells[0], strings.Join(r.cells[1:], " "), r.limit)
		}
	}
	if !*write {
		return
	}
	if t.disturbed != "" {
		fmt.Printf("%s is NOT WRITTEN, for its figures are not the service's alone. %s\n\n", t.name, t.disturbed)
		return
	}
	if err := writeSection(t.name, t.markdown()+"\n"+strings.Join(lines, "\n")); err != nil {
		b.Error(err)
	}
	if err := t.writeLastRun(); err != nil {
		b.Error(err)
	}
}

func (t *table) all() [][]string {
	all := [][]string{append(append([]string{}, t.columns...), "limit", "")}
	for _, r := range t.rows {
		cells := append([]string{}, r.cells...)
		for len(cells) < len(t.columns) {
			cells = append(cells, "")
		}
		all = append(all, append(cells, r.limit, r.verdict))
	}
	return all
}

func (t *table) text() string {
	var out bytes.Buffer
	lines := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, cells := range t.all() {
		fmt.Fprintln(lines, strings.Join(cells, "\t"))
	}
	_ = lines.Flush() // never fails (bytes.Buffer)
	return out.String()
}

func (t *table) markdown() string {
	var out strings.Builder
	for i, cells := range t.all() {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(&out, "|%s\n", strings.Repeat(" --- |", len(cells)))
		}
	}
	return out.String()
}

// page is seen from this folder, the working directory of its tests.
const page = "../../docs/benchmarks.md"

// writeSection replaces what stands under a heading of the page.
func writeSection(name, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	heading := "## " + name + "\n"
	before, rest, found := strings.Cut(string(old), heading)
	if !found {
		return fmt.Errorf("%s has no heading %q", page, strings.TrimSpace(heading))
	}
	about, rest, found := strings.Cut(rest, figuresBegin)
	if !found {
		return fmt.Errorf("%s has no line %q under %q", page, figuresBegin, name)
	}
	_, after, found := strings.Cut(rest, figuresEnd)
	if !found {
		return fmt.Errorf("%s has no line %q under %q", page, figuresEnd, name)
	}
	return os.WriteFile(page, []byte(before+heading+about+figuresBegin+"\n\n"+text+"\n\n"+figuresEnd+after), 0o600)
}

// Between these lines stand the figures of a benchmark.
const (
	figuresBegin = "<!-- figures -->"
	figuresEnd   = "<!-- end of figures -->"
)

// machine says where and when the figures were taken.
func machine() string {
	return fmt.Sprintf("%s, %d cores, %s, %s/%s; %s, version %s; load of the machine: %s.",
		processor(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format("2006-01-02"), commit(), load())
}

// commit is what was measured. What the benchmarks before wrote into docs/ is no change of it.
func commit() string {
	const top = "../.." // of the repository
	described, err := exec.Command("git", "-C", top, "describe", "--always").Output()
	if err != nil {
		return "unknown"
	}
	said := strings.TrimSpace(string(described))
	changes, err := exec.Command("git", "-C", top, "status", "--porcelain", "--", ":!docs").Output()
	if err != nil || len(changes) > 0 {
		said += "-dirty"
	}
	return said
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return "unknown processor"
}

// load is what runs on the machine beside us: on a busy one, times are no verdict.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

package bench

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// metric is a figure with its unit and limits; an infinite limit is none.
type metric struct {
	value           float64
	unit            string
	least, greatest float64
}

var noLimit = math.Inf(1)

func figure(value float64, unit string) metric { return metric{value, unit, -noLimit, noLimit} }

func atLeast(value float64, unit string, least float64) metric {
	return metric{value, unit, least, noLimit}
}

func atMost(value float64, unit string, greatest float64) metric {
	return metric{value, unit, -noLimit, greatest}
}

// report is the output of one benchmark. Each row is also a row of the table in docs/benchmarks.md.
type report struct {
	b    *testing.B
	rows []string
}

// row reports figures as one sub-benchmark. The limits of a figure are reported next to it, with "-min" or "-max" after its unit.
// Those of the old binary have no limits.
func (r *report) row(name string, metrics ...metric) {
	r.b.Run(name, func(b *testing.B) {
		var missed []string
		extra := map[string]float64{}
		for _, m := range metrics {
			extra[m.unit] = m.value
			if strings.HasPrefix(name, oldPrefix) {
				continue
			}
			extra[m.unit+"-min"], extra[m.unit+"-max"] = m.least, m.greatest
			if m.value < m.least || m.value > m.greatest {
				missed = append(missed, fmt.Sprintf("MISSED: %s: %.4g %s, the limits are %.4g to %.4g", name, m.value,
					m.unit, m.least, m.greatest))
			}
		}
		maps.DeleteFunc(extra, func(_ string, value float64) bool { return math.IsInf(value, 0) })
		for unit, value := range extra {
			b.ReportMetric(value, unit)
		}
		if len(missed) > 0 {
			b.Log(strings.Join(missed, "\n"))
		}
		if len(missed) > 0 && *strict {
			r.b.Error(strings.Join(missed, "\n")) // not the row, whose figures would not be printed
		}
		b.ReportMetric(0, "ns/op") // the time of the row itself has no meaning
		if !strings.HasPrefix(name, oldPrefix) {
			r.rows = append(r.rows, fmt.Sprintf("| %s/%s | %s | %s |\n", r.name(), name, figuresText(metrics), outcome(metrics, missed)))
		}
	})
}

func (r *report) name() string { return strings.TrimPrefix(r.b.Name(), "Benchmark") }

// figuresText shows each figure, and its limit in parentheses.
func figuresText(metrics []metric) string {
	var all []string
	for _, m := range metrics {
		text := fmt.Sprintf("%.4g %s", m.value, m.unit)
		if m.least > -noLimit {
			text += fmt.Sprintf(" (≥ %.4g)", m.least)
		}
		if m.greatest < noLimit {
			text += fmt.Sprintf(" (≤ %.4g)", m.greatest)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func outcome(metrics []metric, missed []string) string {
	switch limited := func(m metric) bool { return m.least > -noLimit || m.greatest < noLimit }; {
	case len(missed) > 0:
		return "MISSED"
	case slices.ContainsFunc(metrics, limited):
		return "met"
	}
	return ""
}

const page = "../../docs/benchmarks.md"

// end replaces the rows of this benchmark in the table of the page, if -write is set.
func (r *report) end() {
	if !*write {
		return
	}
	old, err := os.ReadFile(page)
	noError(r.b, err)
	noError(r.b, os.WriteFile(page, []byte(withRows(string(old), r.name(), r.rows, machine())), 0o600))
}

// withRows returns a page with other rows of one benchmark. The first of them has the time and the machine of the measurement.
func withRows(page, name string, rows []string, machine string) string {
	const begin, end = "| --- | --- | --- |\n", "\n\n"
	before, rest, _ := strings.Cut(page, begin)
	table, after, _ := strings.Cut(rest, end)
	retained := slices.DeleteFunc(strings.SplitAfter(table+"\n", "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "| "+name+"/") || strings.HasPrefix(line, "| **"+name+"** ")
	})
	retained = append(append(retained, fmt.Sprintf("| **%s** | %s | |\n", name, machine)), rows...)
	return before + begin + strings.Join(retained, "") + "\n" + after
}

// machine describes where and when the figures were measured.
func machine() string {
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	load, _ := os.ReadFile("/proc/loadavg")
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	_, model, _ := strings.Cut(string(cpu), "model name\t: ")
	model, _, _ = strings.Cut(model, "\n")
	return fmt.Sprintf("%s, version %s, %s, %d cores, %s, load averages %.14s", time.Now().UTC().Format(time.DateOnly),
		strings.TrimSpace(string(commit)), model, runtime.NumCPU(), runtime.Version(), load)
}

// samples are figures by name, one for each round.
type samples map[string][]float64

func (s samples) add(name string, value float64) { s[name] = append(s[name], value) }

func (s samples) median(name string) float64 { return median(s[name]) }

// percent is the median of what one figure was of another in the same round.
func (s samples) percent(name, of string) float64 {
	var all []float64
	for i, value := range s[name] {
		all = append(all, 100*value/s[of][i])
	}
	return median(all)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// againstOld returns the given figures of a row in percent of those of the old binary, if there is one.
func (s samples) againstOld(row string, units ...string) (metrics []metric) {
	for _, unit := range units {
		if len(s[oldPrefix+row+" "+unit]) > 0 {
			metrics = append(metrics, figure(s.percent(row+" "+unit, oldPrefix+row+" "+unit), unit+"-%-of-old"))
		}
	}
	return metrics
}

func noError(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("%.2000s", err)
	}
}

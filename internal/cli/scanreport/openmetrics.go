package scanreport

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// metricsWriter writes metrics and retains the first error.
type metricsWriter struct{ *bufio.Writer }

func (m metricsWriter) family(name, unit, help string) {
	fmt.Fprintf(m, "# HELP %s %s\n# TYPE %[1]s gauge\n", name, help)
	if unit != "" {
		fmt.Fprintf(m, "# UNIT %s %s\n", name, unit)
	}
}

// writeOpenMetrics writes what Prometheus's exporter for probes has, for each check. Labels have names from files, no text of a
// registry. The text is also valid in the older format of Prometheus, which the textfile collector reads.
func writeOpenMetrics(w io.Writer, s *scan, _ Options) error {
	m := metricsWriter{bufio.NewWriter(w)}
	checked, labels := checkedEntries(s)
	m.family("probe_success", "", "Whether the registry definition is valid.")
	for i, e := range checked {
		success := 0
		if e.outcome == valid {
			success = 1
		}
		fmt.Fprintf(m, "probe_success{%s} %d\n", labels[i], success)
	}
	m.family("probe_duration_seconds", "seconds", "How long a stage of the check took.")
	for i, e := range checked {
		for _, stage := range e.report.Stages {
			if stage.Status != regcheck.Skipped {
				fmt.Fprintf(m, "probe_duration_seconds{%s,stage=%s} %g\n", labels[i], label(string(stage.Name)), stage.Duration.Seconds())
			}
		}
	}
	m.family("probe_ssl_earliest_cert_expiry", "", "When the first certificate of the registry expires, in seconds since 1970.")
	for i, e := range checked {
		if expires := e.report.CertificateExpires(); !expires.IsZero() {
			fmt.Fprintf(m, "probe_ssl_earliest_cert_expiry{%s} %d\n", labels[i], expires.Unix())
		}
	}
	m.family("regwarden_scan_entries", "", "Number of entries of the last scan by result.")
	for _, o := range outcomes {
		n := 0
		for _, e := range s.entries {
			if e.outcome == o {
				n++
			}
		}
		fmt.Fprintf(m, "regwarden_scan_entries{result=%s} %d\n", label(string(o)), n)
	}
	fmt.Fprint(m, "# EOF\n")
	return m.Flush()
}

// checkedEntries returns the entries with a report and their labels. Labels identify a metric: those of definitions that differ only in
// credentials get a number.
func checkedEntries(s *scan) (checked []*entry, labels []string) {
	known := map[string]int{}
	for i := range s.entries {
		e := &s.entries[i]
		if e.report == nil || e.outcome != valid && e.outcome != notValid {
			continue
		}
		text := e.labels()
		if known[text]++; known[text] > 1 {
			text += fmt.Sprintf(`,number="%d"`, known[text])
		}
		checked, labels = append(checked, e), append(labels, text)
	}
	return checked, labels
}

func (e *entry) labels() string {
	first := slices.MinFunc(e.places, func(a, b model.Source) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Object, b.Object))
	})
	pairs := []string{
		"registry=" + label(e.registry), "path=" + label(e.content), "consumer=" + label(e.consumer), "format=" + label(e.format),
		"file=" + label(shown(first.File)), "object=" + label(shown(first.Object)),
	}
	if e.user != "" {
		pairs = append(pairs, "user="+label(e.user))
	}
	return strings.Join(pairs, ",")
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// label returns the value of a label with its quotes.
func label(value string) string { return `"` + escapeLabel.Replace(short(value)) + `"` }

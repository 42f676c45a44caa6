package scan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/model"
)

// leftOut says which directories were not read, and how many files are not for this program.
func (p *printer) leftOut(result model.Result) {
	if n := result.Summary.LeftOut; n > 0 {
		most := maxPlaces
		if p.Verbose {
			most = len(result.LeftOut)
		}
		shown := strings.Join(result.LeftOut[:min(len(result.LeftOut), most)], ", ")
		if n > most {
			shown += ", …"
		}
		p.hanging("", "", "", "", fmt.Sprintf("Left out: %d %s of test data, documentation or vendored code (%s). --all reads them.",
			n, pluralOf(n, "directory", "directories"), shown))
	}
	if n := result.Summary.References; n > 0 && (p.List || p.Verbose) {
		p.hanging("", "", "", "", fmt.Sprintf("%d %s without credentials. --references checks them.", n, plural(n, "reference")))
	}
	if n := result.Summary.Unparsed; n > 0 && (p.List || p.Verbose) {
		p.hanging("", "", "", "", fmt.Sprintf("Not parsed: %d %s of no known program.", n, plural(n, "file")))
	}
}

// silent counts what defines nothing, and what was skipped.
func (p *printer) silent(result model.Result) {
	s := result.Summary.Silent
	p.counts("Not opened: ", []count{{s.Foreign, "by name (source code, documentation, archives)"}, {s.Irregular, "not regular"},
		{s.TooLarge, "over 8 MiB"}})
	p.counts("Without definitions: ", []count{{s.Unrelated, "of no known format"}, {s.Binary, "binary"}})
	reasons := map[string]int{}
	for _, skipped := range result.Skipped {
		reasons[string(skipped.Reason)]++
	}
	var counts []count
	for reason, n := range reasons {
		counts = append(counts, count{n, reason})
	}
	slices.SortFunc(counts, func(a, b count) int { return cmp.Or(b.n-a.n, strings.Compare(a.of, b.of)) })
	p.counts("Skipped: ", counts)
}

type count struct {
	n  int
	of string
}

// counts writes those that are not zero in one paragraph.
func (p *printer) counts(label string, counts []count) {
	var parts []string
	for _, c := range counts {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.of))
		}
	}
	if len(parts) > 0 {
		p.hanging("", "", "", "", label+strings.Join(parts, ", ")+".")
	}
}

// Package csvtext writes tables as CSV for spreadsheets.
package csvtext

import (
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"time"
)

// Writer writes rows. Errors are those of its Flush and Error.
type Writer struct{ *csv.Writer }

// New returns a Writer.
func New(w io.Writer) Writer { return Writer{csv.NewWriter(w)} }

// Time returns a time for a cell, nothing for the zero value.
func Time(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// Row writes the cells of a row. A text that a spreadsheet would run as a formula gets an apostrophe before it: texts may come from callers
// who are not logged in.
func (w Writer) Row(cells ...string) {
	cells = slices.Clone(cells)
	for i, cell := range cells {
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			cells[i] = "'" + cell
		}
	}
	_ = w.Write(cells) // Error has what Write returns
}

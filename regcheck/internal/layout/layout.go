// Package layout formats texts, numbers and rows of a terminal.
package layout

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

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

// Printable removes characters that control a terminal. Reports may come from a server, which did not remove them.
func Printable(text string) string {
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

// Wrap breaks a text at blanks, and within words that are longer than a row. Two blanks within a row, as between columns, stay. It returns
// at least one row.
func Wrap(text string, width int) []string {
	width = max(width, 16) // of a server's report, names of stages may be long
	var rows []string
	row, length := "", 0
	for word := range strings.SplitSeq(strings.TrimSpace(Printable(text)), " ") {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n > width {
			rows = append(rows, strings.TrimRight(row, " "))
			row, length = "", 0
		}
		for n > width {
			runes := []rune(word)
			at := breakAt(runes, width)
			rows = append(rows, string(runes[:at]))
			word, n = string(runes[at:]), n-at
		}
		if length > 0 {
			row, length = row+" ", length+1
		}
		row, length = row+word, length+n
	}
	return append(rows, row)
}

// breakAt returns where to break a word that is longer than a row: after a separator in the second half of the row, so that the parts of a
// path, a place in a file and the bytes of a fingerprint stay whole, or at the end of the row.
func breakAt(word []rune, width int) int {
	for _, separator := range []rune{'/', ':'} {
		for i := width - 1; i >= width/2; i-- {
			if word[i] == separator {
				return i + 1
			}
		}
	}
	return width
}

// Duration returns a duration in milliseconds or seconds.
func Duration(d time.Duration) string {
	switch {
	case d == 0: // of a report that was read, which has whole milliseconds
		return "<1 ms"
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

// Bytes returns a number of bytes in words.
func Bytes(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size {
			return strings.Replace(fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name), ".0 ", " ", 1)
		}
	}
	return fmt.Sprintf("%d B", n)
}

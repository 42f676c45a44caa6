// Package hostiletest has a text that attacks terminals and pipelines, for tests of what commands print.
package hostiletest

import (
	"strings"
	"testing"
	"unicode"
)

// Text clears a terminal in two ways, reverses text, adds a line to a table, and is a command of a pipeline.
const Text = "a\x1b[2Jb\u009b2Jc\u202ed\x7fe\tf\n##[error]g\u2028h\U000e0041"

// MustBeHarmless fails if a terminal, a pipeline or a reader could take a part of text for more than text.
func MustBeHarmless(t *testing.T, format, text string, lines int) {
	t.Helper()
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("%s: %q controls a terminal", format, text)
	}
	if lines > 0 && strings.Count(text, "\n") != lines {
		t.Errorf("%s: %q has not %d lines", format, text, lines)
	}
	if lines > 0 && strings.Contains(text, "##[error]") {
		t.Errorf("%s: %q controls a pipeline", format, text)
	}
}

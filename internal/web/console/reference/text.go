package reference

import (
	"strings"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// Text is a description: paragraphs of plain text and code.
type Text [][]Span

// Span is a part of a paragraph.
type Span struct {
	Text string
	Code bool
}

var blankLines = lazyregexp.New(`\n\s*\n`)

// textOf reads the only markup that descriptions have: blank lines, and backticks around code.
func textOf(description string) (text Text) {
	for _, paragraph := range blankLines.Get().Split(strings.TrimSpace(description), -1) {
		var spans []Span
		for i, part := range strings.Split(paragraph, "`") {
			if part != "" {
				spans = append(spans, Span{part, i%2 == 1})
			}
		}
		if len(spans) > 0 {
			text = append(text, spans)
		}
	}
	return text
}

package wire

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxShown is how many characters of a stranger's text we repeat.
const MaxShown = 256

// CleanText makes a stranger's text safe to show: valid UTF-8, no control, format, bidirectional or
// private characters, blanks folded, cut at maxShown characters. Escape sequences for terminals lose
// their introducer that way.
func CleanText(s string) string {
	var out strings.Builder
	count, blank := 0, false
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if unicode.IsSpace(r) || r == utf8.RuneError && size <= 1 || !unicode.IsPrint(r) {
			blank = blank || unicode.IsSpace(r)
			continue
		}
		if blank && count > 0 {
			out.WriteByte(' ')
			count++
		}
		blank = false
		if count++; count > MaxShown {
			return string([]rune(out.String())[:MaxShown-1]) + "…"
		}
		out.WriteRune(r)
	}
	return out.String()
}

// cleanBytes is cleanText for a body, of which only the beginning can ever be shown.
func cleanBytes(b []byte) string { return CleanText(string(b[:min(len(b), 8*MaxShown)])) }

// Counted returns a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

package wire

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxShown is the maximum number of characters of external text that is shown.
const MaxShown = 256

// CleanText makes external text safe to show: valid UTF-8 without control, format, bidirectional and private characters, with
// single blanks, at most MaxShown characters. Terminal escape sequences lose their introducer.
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

// cleanBytes is CleanText for a body, of which only the beginning is shown.
func cleanBytes(b []byte) string { return CleanText(string(b[:min(len(b), 8*MaxShown)])) }

// Counted returns a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

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
func CleanText(s string) string { return clean(s, MaxShown) }

func clean(s string, most int) string {
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
		if count++; count > most {
			return string([]rune(out.String())[:most-1]) + "…"
		}
		out.WriteRune(r)
	}
	return out.String()
}

// Counted returns a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

package wire

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanText(t *testing.T) {
	for _, row := range []struct{ dirty, clean string }{
		{"plain text", "plain text"},
		{"  two\n\tlines \r\n", "two lines"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m"}, // no introducer, no color
		{"\x1b]0;title\x07", "]0;title"},
		{"a\u202eb\u2066c\u200fd", "abcd"}, // bidirectional overrides
		{"a\u200bb\ufeffc\u00adx", "abcx"}, // invisible
		{"bad\xff\xfebytes", "badbytes"},
		{"nul\x00byte", "nulbyte"},
		{"c1\u009b31m", "c131m"},
		{"ok é 日本", "ok é 日本"},
	} {
		if got := CleanText(row.dirty); got != row.clean {
			t.Errorf("%q: %q, want %q", row.dirty, got, row.clean)
		}
	}
	if got := CleanText(strings.Repeat("é", 1000)); utf8.RuneCountInString(got) != MaxShown || !strings.HasSuffix(got, "…") {
		t.Errorf("%d characters", utf8.RuneCountInString(got))
	}
}

package qrcode

import (
	"strings"
	"testing"
)

// The same modules are in the path and in the blocks, with a light margin around the three corners.
func TestCode(t *testing.T) {
	code, err := New("otpauth://totp/regwarden:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
	if err != nil {
		t.Fatal(err)
	}
	dark := strings.Count(code.Path(), "M")
	blocks := code.Blocks()
	if n := 2*strings.Count(blocks, "█") + strings.Count(blocks, "▀") + strings.Count(blocks, "▄"); n != dark || dark == 0 {
		t.Errorf("%d dark modules in a terminal, %d in a page", n, dark)
	}
	last := code.Size() - quiet - 1
	for _, corner := range [][2]int{{quiet, quiet}, {last, quiet}, {quiet, last}} {
		if !code.isDark(corner[0], corner[1]) {
			t.Errorf("the corner %v is light", corner)
		}
	}
	for i := range code.Size() {
		if code.isDark(i, quiet-1) || code.isDark(quiet-1, i) || code.isDark(i, last+1) || code.isDark(last+1, i) {
			t.Errorf("the margin is dark at %d", i)
		}
	}
	if lines := strings.Count(blocks, "\n"); lines != (code.Size()+1)/2 {
		t.Errorf("%d lines", lines)
	}
	if _, err := New(strings.Repeat("x", 5000)); err == nil {
		t.Error("a text that is too long has a code")
	}
}

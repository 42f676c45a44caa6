package regcheck

import (
	"strings"
	"testing"
)

// FuzzKnown reads anything without harm, and what it writes it reads again.
func FuzzKnown(f *testing.F) {
	f.Add("aa checked 1;bb open 2")
	f.Add("aa checked;")
	f.Add("aa checked 1;dd kind helm")
	f.Add("dd kind perhaps;aa checked 1")
	f.Add(strings.Repeat("a open 1;", 20))
	f.Fuzz(func(t *testing.T, text string) {
		known := ReadKnown(text)
		if again := ReadKnown(known.String()); again != known {
			t.Errorf("%q: %v, then %v", text, known, again)
		}
	})
}

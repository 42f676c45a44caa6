package regcheck

import (
	"strings"
	"testing"
)

// FuzzKnown reads anything without harm, and what it writes it reads again.
func FuzzKnown(f *testing.F) {
	f.Add("aa checked 1;dd kind helm")
	f.Add(`{"controlAt":1,"controlOpen":true,"artifacts":[{"id":"a","kind":"a Helm ` +
		`chart","blobs":[{"digest":"b","size":1,"urls":["c"]}]}]}`)
	f.Add(`{"artifacts":[` + strings.Repeat(`{"id":"a","kind":"a Zarf package","at":1},`, 20) + `{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		known := ReadKnown(text)
		if again := ReadKnown(known.String()); again != known {
			t.Errorf("%q: %v, then %v", text, known, again)
		}
	})
}

package layout

import (
	"slices"
	"testing"
	"time"
)

// A word that is longer than a row is broken between bytes of a fingerprint and after parts of a path.
func TestWrapBreaksAtSeparators(t *testing.T) {
	for text, want := range map[string][]string{
		"(SHA-256 11:22:33:44:55:66:77:88:99)": {"(SHA-256", "11:22:33:44:55:", "66:77:88:99)"},
		"acme/charts/podinfo/more":             {"acme/charts/", "podinfo/more"},
		"clusters/app/a.yaml:18":               {"clusters/app/", "a.yaml:18"},
		"a-word-without-separators":            {"a-word-without-s", "eparators"},
		"two  columns,   wide apart":           {"two  columns,", "wide apart"},
		"plain words of one row and more":      {"plain words of", "one row and more"},
	} {
		if got := Wrap(text, 16); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// The report of a server has whole milliseconds: a duration of 0 is shorter than one.
func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "<1 ms", 99 * time.Microsecond: "<0.1 ms", 1500 * time.Microsecond: "1.5 ms",
		20 * time.Millisecond: "20 ms", 1500 * time.Millisecond: "1.5 s"} {
		if got := Duration(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

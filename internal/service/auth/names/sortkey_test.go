package names

import (
	"cmp"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSortKeyIsTheNaturalOrder(t *testing.T) {
	want := []string{"", " 10", "-", "0", "00", "0a", "1", "001", "01", "1-9", "1-10", "1a", "2", "002", "9", "10", "10a", "99999999",
		"100000000", "99999999999999999999", "100000000000000000000", strings.Repeat("9", 255), "1" + strings.Repeat("0", 255), "a", "a-1",
		"a-2", "a-10", "a0", "a00", "a000", "a00b", "a1", "a01", "a1b2", "a01b2", "a1b02", "a1b10", "a2b1", "aa", "b", "größe-9",
		"größe-10", "é", "١٠", "٢"} // digits of other scripts compare as any character
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b string) int { return cmp.Compare(SortKey(a), SortKey(b)) })
	if !slices.Equal(got, want) {
		t.Errorf("sorted as\n%q, want\n%q", got, want)
	}
}

// compareNaturally compares names run by run, as people do. It is slow and has no key.
func compareNaturally(a, b string) int {
	restA, restB := a, b
	for restA != "" && restB != "" {
		numberA, numberB := leadingDigits(restA), leadingDigits(restB)
		if numberA == "" || numberB == "" {
			if restA[0] != restB[0] {
				return cmp.Compare(restA[0], restB[0])
			}
			restA, restB = restA[1:], restB[1:]
			continue
		}
		valueA, _ := new(big.Int).SetString(numberA, 10)
		valueB, _ := new(big.Int).SetString(numberB, 10)
		if compared := valueA.Cmp(valueB); compared != 0 {
			return compared
		}
		restA, restB = restA[len(numberA):], restB[len(numberB):]
	}
	return cmp.Or(cmp.Compare(len(restA), len(restB)), cmp.Compare(withZeros(a), withZeros(b)), cmp.Compare(a, b))
}

func withZeros(name string) int {
	if regexp.MustCompile(`(^|[^0-9])0[0-9]`).MatchString(name) {
		return 1
	}
	return 0
}

func leadingDigits(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
}

// The keys compare as the names, so they have a total order as well, and are equal for equal names only.
func TestSortKeyComparesAsTheNames(t *testing.T) {
	part := rapid.OneOf(rapid.StringMatching(`[0-9]{0,40}`), rapid.StringMatching(`0{1,12}[0-3]`), rapid.StringMatching(`[ -~]`),
		rapid.String())
	name := rapid.Custom(func(r *rapid.T) string {
		return strings.Map(func(r rune) rune {
			if r < ' ' { // no name has control characters
				return ' '
			}
			return r
		}, Canonical(strings.Join(rapid.SliceOfN(part, 0, 5).Draw(r, "parts"), "")))
	})
	rapid.Check(t, func(r *rapid.T) {
		a, b := name.Draw(r, "a"), name.Draw(r, "b")
		if rapid.Bool().Draw(r, "related") { // independent names rarely begin alike
			b = a[:rapid.IntRange(0, len(a)).Draw(r, "common")] + b
		}
		if got, want := cmp.Compare(SortKey(a), SortKey(b)), compareNaturally(a, b); got != want {
			r.Fatalf("%q and %q compare as %d, their keys %q and %q as %d", a, b, want, SortKey(a), SortKey(b), got)
		}
	})
}

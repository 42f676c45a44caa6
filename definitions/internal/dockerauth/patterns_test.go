package dockerauth

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The index finds what Lookup finds by comparing all entries.
func TestPatternsAreThoseOfLookup(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in each run
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	address := func(label func() string, more ...string) string {
		host := label() + "." + label()
		return host + one(append(more, "", ":5000", ":", ":443")...) +
			one("", "/", "/a", "/ab", "/a/b", "/v1/", "/v2/a", "/%3Fx", "/a?x", "/[")
	}
	matched := 0
	for range 300 {
		var entries []string
		for i := range 12 {
			key := one("", "https://", "http://") + address(func() string { return one("a", "b", "*", "a*", "?", "[ab]", "[", `\a`) })
			key = one(key, key, key, key, "index.docker.io", "https://index.docker.io/v1/", "*.docker.io", "docker.io/library",
				"a b", "[::1]:5000/a", "%zz")
			entries = append(entries, fmt.Sprintf(`%q:{"username":"u%d","password":"p"}`, key, i%2))
		}
		config, err := Parse([]byte(`{"auths":{`+strings.Join(entries, ",")+`}}`), false)
		if err != nil {
			t.Fatal(err)
		}
		index := config.Patterns()
		for range 20 {
			reference := one(address(func() string { return one("a", "b", "ab") }), "docker.io/library/a",
				"index.docker.io/a/b", "[::1]:5000/a", "%zz/a")
			found, _ := index.Find(reference)
			slices.SortStableFunc(found, func(a, b *SamePattern) int { return strings.Compare(b.Pattern, a.Pattern) })
			var got []*Entry
			for _, same := range found {
				got = append(got, same.Entries...)
				if differ := slices.ContainsFunc(same.Entries,
					func(e *Entry) bool { return e.Credential != same.Entries[0].Credential }); differ != same.Differ {
					t.Errorf("%s: differ %v", same.Pattern, same.Differ)
				}
			}
			want := config.Lookup(Kubelet, reference)
			if matched += len(want.Entries); !slices.Equal(got, want.Entries) || (index.Rejected == nil) != (want.Rejected == "") {
				t.Fatalf("%s in %s: %d entries, want %d; rejected %v, want %q", reference, entries, len(got), len(want.Entries),
					index.Rejected, want.Rejected)
			}
		}
	}
	if matched < 1000 {
		t.Errorf("only %d entries matched", matched)
	}
}

// TestFind has patterns that match, with what the search costs: parsing, each length of a path, each wildcard by its length, each match.
func TestFind(t *testing.T) {
	index := parse(t, auths("r.test", "r.test/a", "r.test/ab", "*.test/a", strings.Repeat("x", 70)+"*.test")).Patterns()
	for reference, want := range map[string][]string{
		"r.test":     {"r.test"},
		"r.test/a":   {"*.test/a", "r.test", "r.test/a"},
		"r.test/abc": {"*.test/a", "r.test", "r.test/a", "r.test/ab"},
		"x.test/b":   nil,
	} {
		found, cost := index.Find(reference)
		var got []string
		for _, same := range found {
			got = append(got, same.Pattern)
		}
		slices.Sort(got)
		if wantCost := costOfFind + 3 + 1 + 2 + len(want); !slices.Equal(got, want) || cost != wantCost {
			t.Errorf("%s: %q at a cost of %d, want %q at %d", reference, got, cost, want, wantCost)
		}
	}
}

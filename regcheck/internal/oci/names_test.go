package oci

import (
	"regexp"
	"strings"
	"testing"
)

// The specification's own expressions (distribution spec, "Pulling manifests").
var (
	specName = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	specTag  = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
)

// FuzzNames holds the grammar of names against the specification's expressions.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"", "a", "a/b", "a//b", "/a", "a/", "a.b", "a..b", "a_b", "a__b", "a___b", "a-b", "a----b", "a-.b", "a_-b", "-a", "a-", "A", "ü", "a\n",
		"..", ".", "a/..", "_", "1.2.3", "v1_build.7", "-1", strings.Repeat("a", 255), strings.Repeat("a", 256), strings.Repeat("t", 128), strings.Repeat("t", 129)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if got, want := IsRepository(name), len(name) <= 255 && specName.MatchString(name); got != want {
			t.Errorf("repository %q: %v", name, got)
		}
		if got, want := IsTag(name), specTag.MatchString(name) && !strings.HasSuffix(name, "\n"); got != want {
			t.Errorf("tag %q: %v", name, got)
		}
	})
}

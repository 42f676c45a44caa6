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

// FuzzNames compares the grammar of names with the specification's expressions.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"", "a", "a/b", "a//b", "/a", "a/", "a.b", "a..b", "a_b", "a__b", "a___b", "a-b", "a----b", "a-.b",
		"a_-b", "-a", "a-", "A", "ü", "a\n",
		"..", ".", "a/..", "_", "1.2.3", "v1_build.7", "-1", strings.Repeat("a", 255), strings.Repeat("a", 256), strings.Repeat("t", 128),
		strings.Repeat("t", 129)} {
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

const badSuffix = "after the repository there must be : and a tag (at most 128 letters, digits, _ . -), or @ and a digest (sha256: and " +
	"64 digits of 0-9 a-f)"

func TestNameProblem(t *testing.T) {
	for path, want := range map[string]NameProblem{
		"charts/nginx":                       {},
		"docker.io/library":                  {},
		"a__b/c--d":                          {},
		"Charts/Nginx":                       {"uppercase letters are not allowed", "charts/nginx"},
		"charts//nginx":                      {"an empty component (//) is not allowed", "charts/nginx"},
		"charts/nginx:1.2.3":                 {},
		"charts/Nginx:1.2.3-RC":              {"uppercase letters are not allowed", "charts/nginx:1.2.3-RC"},
		"charts/nginx:1.2.3+build.7":         {"a tag has _ where the version has +", "charts/nginx:1.2.3_build.7"},
		"charts/nginx:":                      {badSuffix, "charts/nginx"},
		"charts/nginx@sha256:00":             {badSuffix, "charts/nginx"},
		"registry.test/charts/nginx":         {"the host must be in {endpoint} only", "charts/nginx"},
		"REGISTRY.test:5000/Charts":          {"the host must be in {endpoint} only", "charts"},
		"other.test:443/charts":              {"the host must be in {endpoint} only", "charts"},
		"https://registry.test/charts":       {"the host must be in {endpoint} only", "charts"},
		"oci://registry.test/charts/nginx:1": {"the host must be in {endpoint} only", "charts/nginx:1"},
		"registry.test":                      {"the host must be in {endpoint} only", ""},
		"charts/a b": {"names have at most 255 characters, and components of lowercase letters and digits, " +
			"joined by single . _ -", ""},
	} {
		if got := CheckName(path, func(host string) bool { return host == "registry.test" }); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

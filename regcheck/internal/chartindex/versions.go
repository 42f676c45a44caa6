package chartindex

import (
	"strings"

	constraints "github.com/Masterminds/semver/v3"
	"golang.org/x/mod/semver"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// version is what Helm takes for a version: "v" and the last two numbers may be missing, and numbers may begin with zeros.
var version = lazyregexp.New(`^v?0*([0-9]+)(?:\.0*([0-9]+))?(?:\.0*([0-9]+))?(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// canonical returns a version as the package semver has it, "" if it is none.
func canonical(text string) string {
	parts := version.Get().FindStringSubmatch(text)
	if parts == nil {
		return ""
	}
	for i := range 3 {
		if parts[1+i] == "" {
			parts[1+i] = "0"
		}
	}
	return "v" + strings.Join(parts[1:4], ".") + parts[4] + parts[5]
}

// newer reports whether a version is what Helm takes rather than another one, which may be nil, if none is named: the highest one that is
// no pre-release.
func newer(v Version, other *Version) bool {
	if other == nil {
		return true
	}
	a, b := canonical(v.Version), canonical(other.Version)
	if pre, preOther := semver.Prerelease(a) != "", semver.Prerelease(b) != ""; pre != preOther {
		return preOther
	}
	return semver.Compare(a, b) > 0
}

// matches reports whether a version is the one that is looked for: the same text, or else the same version with or without "v". found is
// the match so far.
func matches(want, version string, found *Version) bool {
	if want == version {
		return found == nil || found.Version != want
	}
	return found == nil && IsExact(want) && semver.Compare(canonical(want), canonical(version)) == 0
}

// IsExact reports whether a text is one version. Other texts may be ranges, which Helm resolves.
func IsExact(text string) bool {
	number, _, _ := strings.Cut(text, "-")
	return canonical(text) != "" && strings.Count(number, ".") >= 2
}

// maxRange limits the size of a range in bytes.
const maxRange = 200

// IsRange reports whether a text is a range of versions, such as >=1.2 <2, for Helm.
func IsRange(text string) bool { return readRange(text) != nil }

// readRange returns the range that a text is for Helm, nil if it is one version or not a range.
func readRange(text string) *constraints.Constraints {
	if text == "" || len(text) > maxRange || IsExact(text) {
		return nil
	}
	read, err := constraints.NewConstraint(text)
	if err != nil {
		return nil
	}
	return read
}

// Within returns what reports whether a version is in a range.
func Within(of string) func(version string) bool {
	r := readRange(of)
	return func(version string) bool { return r != nil && includes(r, version) }
}

// includes reports whether a version is in a range by Helm's rules: pre-releases only if the range has one.
func includes(r *constraints.Constraints, text string) bool {
	v, err := constraints.NewVersion(text)
	return err == nil && r.Check(v)
}

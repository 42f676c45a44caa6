package oci

import (
	"strings"

	"golang.org/x/mod/semver"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

// Newer reports whether a tag is newer than another one by its name: by the order of versions (SemVer 11) if both are versions, and a
// version is newer than any other tag, such as latest. Tags of signatures and attestations are the oldest.
func Newer(tag, other string) bool {
	switch a, b := rank(tag), rank(other); {
	case a != b:
		return a > b
	case a == rankVersion:
		if order := semver.Compare(version(tag), version(other)); order != 0 {
			return order > 0
		}
	}
	return tag > other
}

const (
	rankNone = iota
	rankAttached
	rankName
	rankVersion
)

// attached matches tags of what belongs to the artifact with a digest: signatures of cosign, and referrers (distribution
// specification, "Referrers Tag Schema").
var attached = lazyregexp.New(`^sha256-[0-9a-f]{64}(\.[a-z]+)?$`)

func rank(tag string) int {
	switch {
	case tag == "":
		return rankNone
	case attached.Get().MatchString(tag):
		return rankAttached
	case semver.IsValid(version(tag)):
		return rankVersion
	}
	return rankName
}

// version returns the version of a tag as the package semver writes it: Helm replaces the plus sign, which a tag must not contain.
func version(tag string) string {
	return "v" + strings.Replace(strings.TrimPrefix(tag, "v"), "_", "+", 1)
}

// Package names has the forms of names in which they are stored and compared, and which names can be given.
package names

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	maxNameBytes  = 256
	maxPairsBytes = 16 << 10 // of all annotations, or of all labels
)

// Canonical returns the canonical spelling of an email, organization, project or key name. Lookups, unique indexes and
// counters use it. Using different normalizations allowed spelling variants to bypass the counters of other services
// (CVE-2025-6004).
//
// It applies NFKC, trims spaces and folds case. Folding can undo the normal form and vice versa, so both repeat until
// nothing changes. So Canonical(Canonical(x)) equals Canonical(x).
func Canonical(name string) string {
	for range 8 { // two rounds are enough for every known character
		next := strings.TrimSpace(norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name))))
		if next == name {
			break
		}
		name = next
	}
	return name
}

// NameProblem returns the problem of a new name, "" if there is none.
func NameProblem(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "must be valid UTF-8"
	case Canonical(name) == "":
		return "is required"
	case len(name) > maxNameBytes || len(Canonical(name)) > maxNameBytes:
		return "must be at most 256 bytes"
	case strings.ContainsFunc(name, invisible), strings.ContainsFunc(Canonical(name), invisible):
		return "must not contain control characters or invisible characters"
	}
	return ""
}

// PairsProblem returns the problem of annotations or labels, "" if they can be stored.
func PairsProblem(pairs map[string]string) string {
	size := 0
	for name, value := range pairs {
		size += len(name) + len(value)
	}
	if size > maxPairsBytes {
		return "must be at most 16 KiB"
	}
	return ""
}

// EmailProblem returns the problem of a new user's email, "" if there is none. It finds only obvious mistakes.
func EmailProblem(email string) string {
	if problem := NameProblem(email); problem != "" {
		return problem
	}
	canonical := Canonical(email)
	local, domain, found := strings.Cut(canonical, "@")
	switch {
	case !found || local == "" || domain == "" || strings.Contains(domain, "@"):
		return "must be an email address such as name@example.com"
	case strings.ContainsFunc(canonical, unicode.IsSpace):
		return "must not contain spaces"
	}
	return ""
}

// brailleBlank is in the category of symbols, but is blank in every font.
const brailleBlank = '\u2800'

// invisible reports whether a character could make two different names look the same or break a line: control and
// format characters, default-ignorable characters, private use and unassigned code points.
func invisible(r rune) bool {
	return !unicode.IsGraphic(r) || r == brailleBlank ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// LookupProblem bounds a name that is only looked up. A name that cannot exist is not found.
func LookupProblem(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is required"
	case len(name) > 4096:
		return "must be at most 4,096 bytes"
	}
	return ""
}

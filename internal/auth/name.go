package auth

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

// Canonical returns the one spelling under which an e-mail, organization, project or key name is looked
// up, kept unique and counted. Two tables with two foldings are how spelling variants got past other
// services' counters (CVE-2025-6004).
//
// It is NFKC, blanks trimmed, case folded. Folding can undo the normal form and the reverse, so both are
// repeated until nothing changes, which makes Canonical(Canonical(x)) equal Canonical(x).
func Canonical(name string) string {
	for range 8 { // two rounds do for every known character
		next := strings.TrimSpace(norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name))))
		if next == name {
			break
		}
		name = next
	}
	return name
}

// NameProblem says what is wrong with a name that is to be made, "" when nothing is.
func NameProblem(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "is not valid UTF-8"
	case Canonical(name) == "":
		return "is required"
	case len(name) > maxNameBytes || len(Canonical(name)) > maxNameBytes:
		return "is longer than 256 bytes"
	case strings.ContainsFunc(name, invisible), strings.ContainsFunc(Canonical(name), invisible):
		return "must not contain control characters or invisible characters"
	}
	return ""
}

// PairsProblem says why annotations or labels cannot be stored, "" when they can.
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

// EmailProblem says what is wrong with the e-mail of a user that is to be made, "" when nothing is. It
// asks no more than what tells an address from a slip: mail is never sent to it.
func EmailProblem(email string) string {
	if problem := NameProblem(email); problem != "" {
		return problem
	}
	canonical := Canonical(email)
	local, domain, found := strings.Cut(canonical, "@")
	switch {
	case !found || local == "" || domain == "" || strings.Contains(domain, "@"):
		return "is not an e-mail address; it looks like name@example.com"
	case strings.ContainsFunc(canonical, unicode.IsSpace):
		return "has a blank inside"
	}
	return ""
}

// brailleBlank is a symbol by its category, and blank in every font.
const brailleBlank = '\u2800'

// invisible reports whether a character would let two different names look the same, or break a line: controls and
// format characters, what Unicode calls default-ignorable, private use and unassigned code points.
func invisible(r rune) bool {
	return !unicode.IsGraphic(r) || r == brailleBlank ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// lookupProblem bounds a name that is only looked up; a name that cannot exist is simply not found.
func lookupProblem(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is required"
	case len(name) > 4096:
		return "is longer than 4,096 bytes"
	}
	return ""
}

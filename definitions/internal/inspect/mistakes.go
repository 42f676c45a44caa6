// Package inspect finds credentials that look like a mistake: placeholders, templates and white space.
package inspect

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

var (
	// template is what shells, Go, Helm and CI systems replace before use.
	template = lazyregexp.New(`\$\{[^}]*\}|\{\{.*\}\}|\$\([^)]*\)|^\$[A-Z_][A-Z0-9_]*$|^%[A-Z_][A-Z0-9_]*%$`)
	// marked has a name between marks that hardly any other value has, as Concourse, ytt, sed and deployment tools replace it.
	marked = lazyregexp.New(`\(\(/?[A-Za-z][\w./:-]*\)\)|\(@=?[ -].*@\)|#\{[A-Za-z][\w.-]*\}#|` +
		`(?:^|\W)(?:%%[A-Za-z][\w.-]*%%|@@[A-Za-z][\w.-]*@@|__[A-Z][A-Z0-9_]*__)(?:\W|$)`)
	// bracketed is a value such as <password> or [token].
	bracketed = lazyregexp.New(`^(<[^<>]+>|\[[^\[\]]+\])$`)
	// repeated is a value such as xxxx or ****.
	repeated = lazyregexp.New(`^([xX]{3,}|\*{3,}|\.{3,}|…)$`)
)

// unencoded are words with separators, which base64 does not have: those in capitals, and those that say what to do.
var unencoded = lazyregexp.New(`^[A-Z][A-Z0-9]*([_ -][A-Z0-9]+)+$|^(?i:your|replace|change|insert|enter|base64)[_ -][\w -]*$`)

var placeholders = []string{"changeme", "replaceme", "password", "yourpassword", "mypassword", "token", "yourtoken", "mytoken", "todo",
	"fixme", "redacted",
	"placeholder", "username", "yourusername", "youraccesstoken", "yourapikey"}

// separators are left out of a value that is compared with the placeholders.
var separators = strings.NewReplacer("-", "", "_", "", " ", "")

// IsTemplate reports whether a value has an expression that some program replaces.
func IsTemplate(value string) bool {
	return strings.ContainsAny(value, "${%") && template.Get().MatchString(value) || IsMarked(value)
}

// marks are what marked begins with.
var marks = []string{"((", "(@", "#{", "%%", "@@", "__"}

// IsMarked reports whether a value has a name between marks such as ((NAME)) and %%NAME%%, which some program replaces.
func IsMarked(value string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(value, mark) }) && marked.Get().MatchString(value)
}

// IsPlaceholder reports whether a value looks as if it was never filled in.
func IsPlaceholder(value string) bool {
	value = strings.TrimSpace(value)
	if strings.IndexAny(value, "<[xX*.…") == 0 && (bracketed.Get().MatchString(value) || repeated.Get().MatchString(value)) {
		return true
	}
	return slices.Contains(placeholders, separators.Replace(strings.ToLower(value)))
}

// IsBase64Placeholder reports whether a value is a placeholder where base64 must be.
func IsBase64Placeholder(value string) bool {
	return IsPlaceholder(value) || unencoded.Get().MatchString(value)
}

// WhiteSpace returns where a value has white space that is probably a mistake, "" if it has none.
func WhiteSpace(value string) string {
	switch {
	case value == "":
		return ""
	case strings.HasSuffix(value, "\n"):
		return "ends with a newline, as echo without -n adds it"
	case strings.TrimSpace(value) == "":
		return "is white space only"
	case strings.TrimSpace(value) != value:
		return "begins or ends with white space"
	}
	return ""
}

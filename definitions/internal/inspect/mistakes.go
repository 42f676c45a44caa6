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
	// bracketed is a value such as <password> or [token].
	bracketed = lazyregexp.New(`^(<[^<>]+>|\[[^\[\]]+\])$`)
	// repeated is a value such as xxxx or ****.
	repeated = lazyregexp.New(`^([xX]{3,}|\*{3,}|\.{3,}|…)$`)
)

var placeholders = []string{"changeme", "replaceme", "password", "yourpassword", "mypassword", "token", "yourtoken", "mytoken", "todo",
	"fixme", "redacted",
	"placeholder", "username", "yourusername", "youraccesstoken", "yourapikey"}

// separators are left out of a value that is compared with the placeholders.
var separators = strings.NewReplacer("-", "", "_", "", " ", "")

// IsTemplate reports whether a value has an expression that some program replaces.
func IsTemplate(value string) bool {
	return strings.ContainsAny(value, "${%") && template.Get().MatchString(value)
}

// IsPlaceholder reports whether a value looks as if it was never filled in.
func IsPlaceholder(value string) bool {
	value = strings.TrimSpace(value)
	if strings.IndexAny(value, "<[xX*.…") == 0 && (bracketed.Get().MatchString(value) || repeated.Get().MatchString(value)) {
		return true
	}
	return slices.Contains(placeholders, separators.Replace(strings.ToLower(value)))
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

package passwordrules

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/secret"
)

const (
	maxBytes = 1024
	minRunes = 15 // SP 800-63B-4 section 3.1.1.2, for a password as the only factor
	product  = "regwarden"
)

// Hint describes the rules to users before they choose a password.
const Hint = "At least 15 characters, not only common words, repetitions and keyboard sequences."

// FormProblem returns why a text cannot be a password, "" if it can. It is checked before and regardless of any
// account (CVE-2025-22234: a response that depends on the account reveals it).
func FormProblem(password secret.String) string {
	text := password.Reveal()
	switch {
	case text == "":
		return "is required"
	case len(text) > maxBytes:
		return "must be at most 1,024 bytes"
	case !utf8.ValidString(text):
		return "must be valid UTF-8"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "must not contain control characters; remove the trailing newline"
	}
	return ""
}

// Problems lists the problems of a new password under the given field name. The password must not be one of known, such
// as email and organization. There are no composition rules (63B-4 forbids them).
func Problems(field string, password secret.String, known ...string) []fault.Field {
	if problem := FormProblem(password); problem != "" {
		return fault.FieldProblem(field, problem)
	}
	text := norm.NFC.String(password.Reveal())
	if n := utf8.RuneCountInString(text); n < minRunes {
		return fault.FieldProblem(field, fmt.Sprintf("must have at least %d characters; it has %d", minRunes, n))
	}
	for _, name := range append(known, product) {
		if repeats(names.Canonical(text), names.Canonical(name)) {
			return fault.FieldProblem(field, "must not be the email, the organization or the name of the product")
		}
	}
	if predictable(text) {
		return fault.FieldProblem(field, "must not consist of common words, repetitions and keyboard sequences")
	}
	return nil
}

// repeats reports whether text is name once or several times, with or without separators.
func repeats(text, name string) bool {
	return name != "" && strings.Trim(strings.ReplaceAll(text, name, ""), " .-_") == ""
}

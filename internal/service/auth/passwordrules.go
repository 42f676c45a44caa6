package auth

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/passwordrules"
	"github.com/regwarden/regwarden/secret"
)

const (
	minPasswordRunes = 15 // SP 800-63B-4 section 3.1.1.2, for a password as the only factor
	product          = "regwarden"
)

// Problems lists the problems of a new password under the given field name. The password must not be one of names, such
// as email and organization. There are no composition rules (63B-4 forbids them).
func (*Passwords) Problems(field string, password secret.String, names ...string) []fault.Field {
	return newPasswordProblems(field, password, names...)
}

func newPasswordProblems(field string, password secret.String, names ...string) []fault.Field {
	if problem := passwordProblem(password); problem != "" {
		return fault.FieldProblem(field, problem)
	}
	text := norm.NFC.String(password.Reveal())
	if n := utf8.RuneCountInString(text); n < minPasswordRunes {
		return fault.FieldProblem(field, fmt.Sprintf("must have at least %d characters; it has %d", minPasswordRunes, n))
	}
	for _, name := range append(names, product) {
		if repeats(Canonical(text), Canonical(name)) {
			return fault.FieldProblem(field, "must not be the email, the organization or the name of the product")
		}
	}
	if passwordrules.Predictable(text) {
		return fault.FieldProblem(field, "must not consist of common words, repetitions and keyboard sequences")
	}
	return nil
}

// repeats reports whether text is name once or several times, with or without separators.
func repeats(text, name string) bool {
	return name != "" && strings.Trim(strings.ReplaceAll(text, name, ""), " .-_") == ""
}

// PasswordHint describes the rules to users before they choose a password.
var PasswordHint = fmt.Sprintf("At least %d characters, not only common words, repetitions and keyboard sequences.", minPasswordRunes)

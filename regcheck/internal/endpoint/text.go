package endpoint

import (
	"strings"
	"unicode/utf8"

	"github.com/regwarden/regwarden/regcheck/internal/message"
)

// maxField is the length in bytes that a text may have.
const maxField = 4096

// TextProblem returns why a text is not valid as the value of a field, "" if it is valid. The problem completes a sentence
// that begins with the name of the field.
func TextProblem(value string) message.Text {
	switch {
	case len(value) > maxField:
		return message.Of("must be at most %d bytes", maxField)
	case !utf8.ValidString(value):
		return "must be valid UTF-8"
	case strings.HasSuffix(value, "\n") && !hasControl(strings.TrimRight(value, "\r\n")):
		return "must not contain control characters; remove the trailing newline"
	case hasControl(value):
		return "must not contain control characters"
	}
	return ""
}

// PasswordProblem is TextProblem for a password, which may have line breaks: Google's _json_key is a JSON document of several lines.
// One at the end is most likely pasted.
func PasswordProblem(value string) message.Text {
	if strings.HasSuffix(value, "\n") || strings.HasSuffix(value, "\r") {
		return "must not end in a line break; remove the trailing newline"
	}
	return TextProblem(strings.NewReplacer("\r", " ", "\n", " ").Replace(value))
}

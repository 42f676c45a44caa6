package regcheck

import (
	"slices"

	"github.com/regwarden/regwarden/regcheck/internal/artifact"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/message"
)

// transcript is what the stages note for the report in addition to their outcomes. Concurrent work has a transcript of its own.
type transcript struct {
	warnings   []warning
	served     []Certificate // of the endpoint
	newControl Known         // results of control requests
	examined   []artifact.Known
}

// warning is a Warning before it is shown.
type warning struct {
	code  WarningCode
	field string
	text  message.Text
}

// warn adds a warning once. The text makes it concrete.
func (t *transcript) warn(code WarningCode, format string, args ...any) {
	t.warnAt(code, codes.LookupWarning(code).Field, format, args...)
}

// warnAt is warn for a field other than the code's own.
func (t *transcript) warnAt(code WarningCode, field, format string, args ...any) {
	e := codes.LookupWarning(code)
	text := e.Sentence
	if format != "" {
		text += " " + message.Of(format, args...)
	}
	t.addWarning(warning{code, field, text + " " + e.Hint})
}

// addWarning adds a warning unless there is one with its code and field.
func (t *transcript) addWarning(w warning) {
	if !slices.ContainsFunc(t.warnings, func(other warning) bool { return other.code == w.code && other.field == w.field }) {
		t.warnings = append(t.warnings, w)
	}
}

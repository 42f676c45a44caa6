// Package fieldnames names fields in problems as a request does.
package fieldnames

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
)

// Names maps the domain's name of a field to its path in a request.
type Names map[string]string

// Path returns the request's name of a field. The part below a known name, such as [2] of projects[2], stays.
func (n Names) Path(field string) string {
	for at := len(field); at > 0; at = strings.LastIndexAny(field[:at], "[.") {
		if name, ok := n[field[:at]]; ok {
			return name + field[at:]
		}
	}
	return field
}

// In replaces the names of fields by the request's.
func (n Names) In(problems []fault.Field) []fault.Field {
	renamed := slices.Clone(problems)
	for i, p := range renamed {
		renamed[i].Field = n.Path(p.Field)
	}
	return renamed
}

// Domain is the reverse of In, for problems that the domain reports together with its own.
func (n Names) Domain(problems []fault.Field) []fault.Field {
	reverse := Names{}
	for _, field := range slices.Sorted(maps.Keys(n)) {
		reverse[n[field]] = field
	}
	return reverse.In(problems)
}

// Err is In for faults that are Invalid; it returns other errors unchanged.
func (n Names) Err(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
		renamed := *f
		renamed.Fields = n.In(f.Fields)
		return &renamed
	}
	return err
}

// Moment parses an RFC 3339 time. The year 1, which public clients send for "none", is the zero time.
func Moment(field, text string) (time.Time, []fault.Field) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fault.FieldProblem(field, "must be an RFC 3339 time such as 2027-01-31T12:00:00Z")
	}
	if at = at.UTC(); at.Year() < 0 || at.Year() > 9999 { // in another zone it was in the next year; RFC 3339 cannot write it
		return time.Time{}, fault.FieldProblem(field, "must be in the years 0 to 9999")
	}
	return at, nil
}

package server

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/internal/fault"
)

// What a request got wrong is told under the names that the request uses, all of it at once.

// invalid is the fault of these problems, nil when there are none.
func invalid(problems []fault.Field) error {
	if len(problems) == 0 {
		return nil
	}
	return fault.InvalidFields(problems...)
}

// names maps the domain's name of a field to where it stands in a request.
type names map[string]string

// in gives problems the request's names. Of projects[2] the part before the bracket is mapped.
func (n names) in(problems []fault.Field) []fault.Field {
	renamed := make([]fault.Field, len(problems))
	for i, p := range problems {
		base, index, _ := strings.Cut(p.Field, "[")
		if name, ok := n[base]; ok {
			p.Field = name
			if index != "" {
				p.Field += "[" + index
			}
		}
		renamed[i] = p
	}
	return renamed
}

// err is in for a fault that is Invalid; other errors pass.
func (n names) err(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
		renamed := *f
		renamed.Fields = n.in(f.Fields)
		return &renamed
	}
	return err
}

// moment reads an RFC 3339 time. What public clients send for "none", the year 1, is the zero time.
func moment(field, text string) (time.Time, []fault.Field) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fault.FieldProblem(field, "is not a time like 2027-01-31T12:00:00Z (RFC 3339)")
	}
	return at.UTC(), nil
}

// queryValues reads a request's query, each name at most once: of two values one would be overlooked.
type queryValues struct {
	values   url.Values
	problems []fault.Field
}

func readQuery(raw string) *queryValues {
	values, err := url.ParseQuery(raw)
	q := &queryValues{values: values}
	if err != nil {
		q.problems = append(q.problems, fault.Field{Field: "query", Problem: "is not encoded as a query is"})
	}
	return q
}

func (q *queryValues) text(name string) string {
	values := q.values[name]
	if len(values) > 1 {
		q.problems = append(q.problems, fault.Field{Field: name, Problem: "is given more than once"})
	}
	text := q.values.Get(name)
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) { // PostgreSQL takes neither
		q.problems = append(q.problems, fault.Field{Field: name, Problem: "must be valid UTF-8 without control characters"})
		return ""
	}
	return text
}

func (q *queryValues) moment(name string) time.Time {
	at, problems := moment(name, q.text(name))
	q.problems = append(q.problems, problems...)
	return at
}

// limit reads the number of items to return: 0 if it is not given, -1 if it cannot be used.
func (q *queryValues) limit() int {
	text := q.text("limit")
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n == 0 {
		return -1
	}
	return n
}

// boolean reads true or false; a missing value is false.
func (q *queryValues) boolean(name string) bool {
	text := q.text(name)
	if text == "" {
		return false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		q.problems = append(q.problems, fault.Field{Field: name, Problem: "must be true or false"})
	}
	return value
}

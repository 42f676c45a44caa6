package server

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/paging"
	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/internal/web/fieldnames"
)

// Problems of a request are reported under the names that the request uses, all at once.

// fieldNames are described at fieldnames.Names.
type fieldNames = fieldnames.Names

// maxUnknownName is how many bytes of the name of an unknown member a response has.
const maxUnknownName = 100

// warnOfUnknown names the members of a body that are ignored because they are not known, each in a header Warning (RFC 7234 section 5.5:
// 299 is a warning that remains, "-" an agent without a name).
func (c *call) warnOfUnknown(unknown, known []string) {
	for _, name := range unknown {
		name = printable(name)
		c.w.Header().Add("Warning", "299 - "+strconv.Quote("unknown field "+name+spelling.Hint(name, known)))
	}
}

// printable returns a text that may be in a header, cut to maxUnknownName.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	if len(text) > maxUnknownName {
		return text[:maxUnknownName] + "..."
	}
	return text
}

// queryValues reads a request's query. A repeated name is a problem, since one of its values would be ignored.
type queryValues struct {
	values   url.Values
	problems []fault.Field
}

func readQuery(raw string) *queryValues {
	values, err := url.ParseQuery(raw)
	q := &queryValues{values: values}
	if err != nil {
		q.problems = append(q.problems, fault.Field{Field: "query", Problem: "is not URL-encoded"})
	}
	return q
}

// hasAny reports whether the query has one of these names.
func (q *queryValues) hasAny(names ...string) bool { return slices.ContainsFunc(names, q.values.Has) }

func (q *queryValues) text(name string) string {
	values := q.values[name]
	if len(values) > 1 {
		q.problems = append(q.problems, fault.Field{Field: name, Problem: "must be given only once"})
	}
	text := q.values.Get(name)
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) { // PostgreSQL accepts neither
		q.problems = append(q.problems, fault.Field{Field: name, Problem: "must be valid UTF-8 without control characters"})
		return ""
	}
	return text
}

func (q *queryValues) moment(name string) time.Time {
	at, problems := fieldnames.Moment(name, q.text(name))
	q.problems = append(q.problems, problems...)
	return at
}

// limit reads the number of items to return: 0 if it is not given, -1 if it is not valid.
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

// page reads which page of a list to return.
func (q *queryValues) page() paging.Request {
	return paging.Request{Limit: q.limit(), Continue: q.text("continue")}
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

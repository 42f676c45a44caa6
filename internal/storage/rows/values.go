package rows

import (
	"database/sql"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Millis is a moment as it is stored: UTC milliseconds, NULL for the zero time.
func Millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// OrNull stores an empty text as NULL.
func OrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Lists have thousands of values, so these types scan what the drivers return directly. sql.Null takes several times as long.

// Moment scans a stored moment; NULL becomes the zero time.
func Moment(at *time.Time) sql.Scanner { return moment{at} }

type moment struct{ at *time.Time }

func (m moment) Scan(value any) error {
	return scanAs(value, m.at, func(stored int64) time.Time { return time.UnixMilli(stored).UTC() })
}

// Text scans an optional text; NULL becomes the empty string.
func Text(to *string) sql.Scanner { return text{to} }

type text struct{ to *string }

func (t text) Scan(value any) error {
	return scanAs(value, t.to, func(stored string) string { return stored })
}

// Truth scans a stored flag; NULL becomes false.
func Truth(to *bool) sql.Scanner { return truth{to} }

type truth struct{ to *bool }

func (t truth) Scan(value any) error {
	return scanAs(value, t.to, func(stored int64) bool { return stored != 0 })
}

func scanAs[S, T any](value any, to *T, convert func(S) T) error {
	switch stored := value.(type) {
	case nil:
		var zero T
		*to = zero
	case S:
		*to = convert(stored)
	default:
		return fmt.Errorf("a %T is stored as %T", *to, value)
	}
	return nil
}

// Flag stores a truth value: neither database takes the other's boolean for it.
func Flag(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// CutText returns at most limit bytes of valid UTF-8, and holds none of the rest in memory.
func CutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.Clone(text[:limit])
}

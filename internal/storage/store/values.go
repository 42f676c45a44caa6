package store

import (
	"fmt"
	"time"
)

// millis is a moment as it is stored: UTC milliseconds, NULL for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// orNull stores an empty text as NULL.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Lists have thousands of values, so these types scan what the drivers return directly. sql.Null takes several times as long.

// moment scans a stored moment; NULL becomes the zero time.
type moment struct{ at *time.Time }

func (m moment) Scan(value any) error {
	return scanAs(value, m.at, func(stored int64) time.Time { return time.UnixMilli(stored).UTC() })
}

// text scans an optional text; NULL becomes the empty string.
type text struct{ to *string }

func (t text) Scan(value any) error {
	return scanAs(value, t.to, func(stored string) string { return stored })
}

// truth scans a stored flag; NULL becomes false.
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

// flag stores a truth value: neither database takes the other's boolean for it.
func flag(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

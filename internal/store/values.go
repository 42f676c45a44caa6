package store

import (
	"database/sql"
	"encoding/json"
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

// toJSON stores texts as JSON, NULL when there are none.
func toJSON[T map[string]string | []string](of T) (any, error) {
	if len(of) == 0 {
		return nil, nil
	}
	encoded, err := json.Marshal(of)
	return string(encoded), err
}

// annotationsAndLabels returns pairs of both.
func annotationsAndLabels(of, labelsOf map[string]string) (annotations, labels any, err error) {
	if annotations, err = toJSON(of); err != nil {
		return nil, nil, err
	}
	labels, err = toJSON(labelsOf)
	return annotations, labels, err
}

type stringMap = fromJSON[map[string]string]

// fromJSON scans what toJSON stored; NULL becomes the zero value.
type fromJSON[T any] struct{ to *T }

func (f fromJSON[T]) Scan(value any) error {
	var stored sql.NullString
	var zero T
	*f.to = zero
	if err := stored.Scan(value); err != nil || !stored.Valid {
		return err
	}
	return json.Unmarshal([]byte(stored.String), f.to)
}

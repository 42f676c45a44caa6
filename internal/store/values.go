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
	switch stored := value.(type) {
	case nil:
		*m.at = time.Time{}
	case int64:
		*m.at = time.UnixMilli(stored).UTC()
	default:
		return fmt.Errorf("a moment is stored as %T", value)
	}
	return nil
}

// text scans an optional text; NULL becomes the empty string.
type text struct{ to *string }

func (t text) Scan(value any) error {
	switch stored := value.(type) {
	case nil:
		*t.to = ""
	case string:
		*t.to = stored
	default:
		return fmt.Errorf("a text is stored as %T", value)
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

// truth scans a stored flag; NULL becomes false.
type truth struct{ to *bool }

func (t truth) Scan(value any) error {
	switch stored := value.(type) {
	case nil:
		*t.to = false
	case int64:
		*t.to = stored != 0
	default:
		return fmt.Errorf("a truth value is stored as %T", value)
	}
	return nil
}

// pairs stores names and values as JSON, NULL when there are none.
func pairs(of map[string]string) (any, error) {
	if len(of) == 0 {
		return nil, nil
	}
	encoded, err := json.Marshal(of)
	return string(encoded), err
}

// stringMap scans stored pairs; NULL becomes nil.
type stringMap struct{ to *map[string]string }

func (m stringMap) Scan(value any) error {
	var stored sql.NullString
	if err := stored.Scan(value); err != nil || !stored.Valid {
		*m.to = nil
		return err
	}
	return json.Unmarshal([]byte(stored.String), m.to)
}

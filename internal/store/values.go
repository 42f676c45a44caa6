package store

import (
	"database/sql"
	"encoding/json"
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

// moment scans a stored moment; NULL becomes the zero time.
type moment struct{ at *time.Time }

func (m moment) Scan(value any) error {
	if stored, ok := value.(int64); ok { // as both drivers give it, and the quick way: lists have thousands
		*m.at = time.UnixMilli(stored).UTC()
		return nil
	}
	var stored sql.NullInt64
	if err := stored.Scan(value); err != nil {
		return err
	}
	*m.at = time.Time{}
	if stored.Valid {
		*m.at = time.UnixMilli(stored.Int64).UTC()
	}
	return nil
}

// text scans an optional text; NULL becomes the empty string.
type text struct{ to *string }

func (t text) Scan(value any) error {
	var stored sql.NullString
	err := stored.Scan(value)
	*t.to = stored.String
	return err
}

// flag stores a truth value: neither database takes the other's boolean for it.
func flag(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// truth scans what flag stored.
type truth struct{ to *bool }

func (t truth) Scan(value any) error {
	if stored, ok := value.(int64); ok { // as in moment
		*t.to = stored != 0
		return nil
	}
	var stored sql.NullInt64
	err := stored.Scan(value)
	*t.to = stored.Int64 != 0
	return err
}

// pairs stores names and values as JSON, NULL when there are none.
func pairs(of map[string]string) (any, error) {
	if len(of) == 0 {
		return nil, nil
	}
	encoded, err := json.Marshal(of)
	return string(encoded), err
}

// stringMap scans what pairs stored; NULL becomes nil.
type stringMap struct{ to *map[string]string }

func (m stringMap) Scan(value any) error {
	var stored sql.NullString
	if err := stored.Scan(value); err != nil || !stored.Valid {
		*m.to = nil
		return err
	}
	return json.Unmarshal([]byte(stored.String), m.to)
}

package store

import (
	"database/sql"
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

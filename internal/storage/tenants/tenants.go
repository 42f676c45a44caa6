// Package tenants stores settings of organizations that have no table of their own.
package tenants

import (
	"context"
	"encoding/json"

	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/rows"
)

const (
	sqlGet = `SELECT value FROM org_settings WHERE org_uid = $1 AND name = $2`
	sqlPut = `INSERT INTO org_settings (org_uid, name, value) VALUES ($1, $2, $3)
		ON CONFLICT (org_uid, name) DO UPDATE SET value = excluded.value`
)

// Settings reads and changes settings. They are deleted with their organization.
type Settings struct{ db *rows.Conn }

// In returns the settings of one transaction.
func In(db *rows.Conn) Settings { return Settings{db} }

// Get returns a setting of an organization, the zero value if it was never stored.
func Get[T any](ctx context.Context, tx Settings, orgUID, name string) (T, error) {
	return rows.OneOrZero(ctx, tx.db, func(row rows.Scanner, value *T) error { return row.Scan(jsontext.To(value)) }, sqlGet, orgUID, name)
}

// Put stores a setting of an organization, as JSON.
func (tx Settings) Put(ctx context.Context, orgUID, name string, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlPut, orgUID, name, string(encoded))
}

// Package mutes stores for which registries no alerts are sent for a time, and which health they had at their last alert.
package mutes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Mute is a time without alerts: of one registry, of those with a label, or without both of the organization.
type Mute struct {
	UID, OrgUID, RegistryUID string
	Key, Value               string // of the label; without a value, every value matches
	Reason, CreatedBy        string // an email
	From, Until, CreatedAt   time.Time
	RegistryName             string // read with the mute
	ProjectUID               string // of the registry, read with the mute
}

const (
	selectMute = `SELECT m.uid, m.org_uid, m.registry_uid, m.label_key, m.label_value, m.reason, m.created_by, m.starts_at, m.ends_at,
		m.created_at, r.name, r.project_uid FROM alert_mutes m LEFT JOIN registries r ON r.org_uid = m.org_uid AND r.uid = m.registry_uid`

	sqlInsert = `INSERT INTO alert_mutes (uid, org_uid, registry_uid, label_key, label_value, reason, created_by, starts_at, ends_at,
		created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	sqlOfOrg  = selectMute + ` WHERE m.org_uid = $1 AND m.ends_at > $2 ORDER BY m.starts_at, m.uid`
	sqlGet    = selectMute + ` WHERE m.org_uid = $1 AND m.uid = $2`
	sqlDelete = `DELETE FROM alert_mutes WHERE org_uid = $1 AND uid = $2`
	sqlEnded  = `DELETE FROM alert_mutes WHERE org_uid = $1 AND ends_at <= $2`

	sqlPending = `SELECT state FROM muted_registries WHERE registry_uid = $1`
	sqlNote    = `INSERT INTO muted_registries (registry_uid, org_uid, state) VALUES ($1, $2, $3)
		ON CONFLICT (registry_uid) DO UPDATE SET state = excluded.state`
	sqlClear = `DELETE FROM muted_registries WHERE registry_uid = $1`
)

func scan(row rows.Scanner, m *Mute) error {
	return row.Scan(&m.UID, &m.OrgUID, rows.Text(&m.RegistryUID), &m.Key, &m.Value, &m.Reason, &m.CreatedBy, rows.Moment(&m.From),
		rows.Moment(&m.Until), rows.Moment(&m.CreatedAt), rows.Text(&m.RegistryName), rows.Text(&m.ProjectUID))
}

// Covers reports whether alerts of a registry are muted at a moment. The empty uid is for what is about no registry.
func (m Mute) Covers(registryUID string, labels map[string]string, at time.Time) bool {
	if at.Before(m.From) || !at.Before(m.Until) {
		return false
	}
	switch value, has := labels[m.Key]; {
	case m.RegistryUID != "":
		return m.RegistryUID == registryUID
	case m.Key != "":
		return has && (m.Value == "" || m.Value == value)
	}
	return true
}

// Mutes reads and changes mutes. A mute is deleted with its organization or registry.
type Mutes struct{ db *rows.Conn }

// In returns the mutes of one transaction.
func In(db *rows.Conn) Mutes { return Mutes{db} }

// Insert adds a mute, and deletes those of the organization that have ended.
func (tx Mutes) Insert(ctx context.Context, m Mute) error {
	if err := tx.db.ChangeAny(ctx, sqlEnded, m.OrgUID, rows.Millis(m.CreatedAt)); err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlInsert, m.UID, m.OrgUID, rows.OrNull(m.RegistryUID), m.Key, m.Value, m.Reason, m.CreatedBy,
		rows.Millis(m.From), rows.Millis(m.Until), rows.Millis(m.CreatedAt))
}

// OfOrg lists the mutes of an organization that have not ended at that moment, the first to begin first.
func (tx Mutes) OfOrg(ctx context.Context, orgUID string, at time.Time) ([]Mute, error) {
	return rows.All(ctx, tx.db, scan, sqlOfOrg, orgUID, rows.Millis(at))
}

// Get looks a mute up within its organization.
func (tx Mutes) Get(ctx context.Context, orgUID, uid string) (Mute, error) {
	return rows.One(ctx, tx.db, scan, sqlGet, orgUID, uid)
}

// Delete deletes a mute.
func (tx Mutes) Delete(ctx context.Context, orgUID, uid string) error {
	return tx.db.ChangeOne(ctx, sqlDelete, orgUID, uid)
}

// Note stores the state of a registry before a change without an alert, in place of an earlier one.
func (tx Mutes) Note(ctx context.Context, orgUID, registryUID string, state any) error {
	encoded, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode the state of a muted registry: %w", err)
	}
	return tx.db.ChangeAny(ctx, sqlNote, registryUID, orgUID, string(encoded))
}

// Pending reads what Note stored into state, and reports whether it did.
func (tx Mutes) Pending(ctx context.Context, registryUID string, state any) (bool, error) {
	found, err := rows.All(ctx, tx.db, rows.ScanText, sqlPending, registryUID)
	if err != nil || len(found) == 0 {
		return false, err
	}
	return true, json.Unmarshal([]byte(found[0]), state)
}

// Clear deletes what Note stored.
func (tx Mutes) Clear(ctx context.Context, registryUID string) error {
	return tx.db.ChangeAny(ctx, sqlClear, registryUID)
}

// Package incidents stores which registries fail, for channels that alert of them later or again.
package incidents

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Incident is a registry that fails, for one channel.
type Incident struct {
	ChannelUID, RegistryUID, OrgUID string
	AlertUID                        string // the newest one
	DueAt                           time.Time
	Sent                            int64 // alerts of the channel so far
}

const (
	ofOne   = ` WHERE channel_uid = $1 AND registry_uid = $2`
	columns = `channel_uid, registry_uid, org_uid, alert_uid, due_at, sent`

	sqlPut = `INSERT INTO alert_incidents (` + columns + `) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (channel_uid, registry_uid) DO UPDATE SET alert_uid = $4, due_at = $5, sent = $6`
	sqlMove   = `UPDATE alert_incidents SET alert_uid = $4, due_at = $5, sent = $6` + ofOne + ` AND due_at = $3`
	sqlEnd    = `DELETE FROM alert_incidents` + ofOne + ` AND due_at = $3`
	sqlDelete = `DELETE FROM alert_incidents WHERE org_uid = $1 AND registry_uid = $2 RETURNING ` + columns
	sqlDue    = `SELECT ` + columns + ` FROM alert_incidents WHERE due_at <= $1 ORDER BY due_at LIMIT $2`
)

func scan(row rows.Scanner, i *Incident) error {
	return row.Scan(&i.ChannelUID, &i.RegistryUID, &i.OrgUID, &i.AlertUID, rows.Moment(&i.DueAt), &i.Sent)
}

// Incidents reads and changes incidents. One is deleted with its channel or registry.
type Incidents struct{ db *rows.Conn }

// In returns the incidents of one transaction.
func In(db *rows.Conn) Incidents { return Incidents{db} }

// Put stores an incident in place of an earlier one of the channel and registry.
func (tx Incidents) Put(ctx context.Context, i Incident) error {
	return tx.db.ChangeOne(ctx, sqlPut, i.ChannelUID, i.RegistryUID, i.OrgUID, i.AlertUID, rows.Millis(i.DueAt), i.Sent)
}

// Due lists at most limit incidents that are due at that moment, the longest overdue first.
func (tx Incidents) Due(ctx context.Context, now time.Time, limit int) ([]Incident, error) {
	return rows.All(ctx, tx.db, scan, sqlDue, rows.Millis(now), limit)
}

// Move changes what of an incident was due before to next, and reports whether it did: another replica may have done so.
func (tx Incidents) Move(ctx context.Context, before time.Time, next Incident) (bool, error) {
	return tx.db.Changed(ctx, sqlMove, next.ChannelUID, next.RegistryUID, rows.Millis(before), next.AlertUID, rows.Millis(next.DueAt),
		next.Sent)
}

// End deletes an incident that is due as it was read, and reports whether it did.
func (tx Incidents) End(ctx context.Context, i Incident) (bool, error) {
	return tx.db.Changed(ctx, sqlEnd, i.ChannelUID, i.RegistryUID, rows.Millis(i.DueAt))
}

// Delete deletes the incidents of a registry, also those of channels that are not active, and returns them.
func (tx Incidents) Delete(ctx context.Context, orgUID, registryUID string) ([]Incident, error) {
	return rows.All(ctx, tx.db, scan, sqlDelete, orgUID, registryUID)
}

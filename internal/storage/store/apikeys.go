package store

import (
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// APIKey is a key of one user. Hash is the SHA-256 of the key itself, which is not stored. Prefix is its beginning, empty for keys
// of older versions.
type APIKey struct {
	UID, OrgUID, UserUID, Name, Canonical string
	Prefix                                string
	Hash                                  []byte
	CreatedAt, ExpiresAt                  time.Time
	DeactivatedAt, LastUsedAt             time.Time
	Email, Role, OrgName                  string    // read with the key
	DisabledAt                            time.Time // the user's
	Scope, ProjectUID                     string    // what limits it; empty for nothing
}

// ExpiringKey is an API key that ends soon.
type ExpiringKey struct {
	UID, OrgUID, OrgName, Name, UserUID, Email string
	ExpiresAt                                  time.Time
	Days                                       int // the reminder that is due
}

const (
	selectAPIKey = `SELECT k.uid, k.org_uid, k.user_uid, k.name, k.canonical, k.prefix, k.hash, k.created_at, k.expires_at,
		k.deactivated_at, k.last_used_at, u.email, ` + roleOfUser + `, o.name, u.disabled_at, k.scope, k.project_uid
		FROM api_keys k
		JOIN users u ON u.uid = k.user_uid JOIN orgs o ON o.uid = k.org_uid`

	sqlInsertAPIKey = `INSERT INTO api_keys (uid, org_uid, user_uid, name, canonical, hash, created_at, expires_at, prefix, scope,
		project_uid) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
	sqlAPIKeyByHash  = selectAPIKey + ` WHERE k.hash = $1`
	sqlAPIKeysOfUser = selectAPIKey + ` WHERE k.org_uid = $1 AND k.user_uid = $2 ORDER BY k.canonical`
	sqlAPIKeysOfOrg  = selectAPIKey + ` WHERE k.org_uid = $1 AND (k.user_uid, k.canonical) > ($2, $3) ORDER BY k.user_uid, k.canonical
		LIMIT $4`
	sqlAPIKey      = selectAPIKey + ` WHERE k.org_uid = $1 AND k.uid = $2`
	sqlAPIKeyByUID = selectAPIKey + ` WHERE k.uid = $1`
	// It sets only what changes, so that of a concurrent renaming and revocation both are stored.
	sqlUpdateAPIKey = `UPDATE api_keys SET name = COALESCE(CAST($3 AS TEXT), name), canonical = COALESCE(CAST($4 AS TEXT), canonical),
		expires_at = COALESCE(CAST($5 AS BIGINT), expires_at),
		deactivated_at = CASE CAST($6 AS BIGINT) WHEN 0 THEN COALESCE(deactivated_at, CAST($7 AS BIGINT)) WHEN 1 THEN NULL
		ELSE deactivated_at END WHERE org_uid = $1 AND uid = $2`
	sqlDeleteAPIKey  = `DELETE FROM api_keys WHERE org_uid = $1 AND uid = $2`
	sqlNoteAPIKeyUse = `UPDATE api_keys SET last_used_at = $2 WHERE uid = $1 AND (last_used_at IS NULL OR last_used_at < $3)`

	// A key of an organization without a channel stays in the list: a channel may be created in time.
	sqlExpiringKeys = `SELECT uid, org_uid, org_name, name, user_uid, email, expires_at, due FROM (
		SELECT k.uid, k.org_uid, o.name AS org_name, k.name, k.user_uid, u.email, k.expires_at, CASE
			WHEN k.expires_at <= $6 + 86400000 * COALESCE(r.third_days, 1) THEN COALESCE(r.third_days, 1)
			WHEN k.expires_at <= $6 + 86400000 * COALESCE(r.second_days, 7) THEN COALESCE(r.second_days, 7)
			WHEN k.expires_at <= $6 + 86400000 * COALESCE(r.first_days, 30) THEN COALESCE(r.first_days, 30) END AS due
		FROM api_keys k JOIN users u ON u.uid = k.user_uid JOIN orgs o ON o.uid = k.org_uid
		LEFT JOIN key_reminders r ON r.org_uid = k.org_uid
		WHERE k.expires_at >= $1 AND k.expires_at <= $2 AND (k.expires_at > $1 OR k.uid > $3)
		AND k.deactivated_at IS NULL AND u.disabled_at IS NULL) k
		WHERE due IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM api_key_alerts a WHERE a.key_uid = k.uid AND a.expires_at = k.expires_at AND a.days <= due)
		AND EXISTS (SELECT 1 FROM alert_channels c WHERE c.org_uid = k.org_uid AND c.component = $4 AND c.active = 1)
		ORDER BY expires_at, uid LIMIT $5`
	sqlExpiringKeysOfOrg = selectAPIKey + ` WHERE k.org_uid = $1 AND ($2 = '' OR k.user_uid = $2) AND k.expires_at > $3
		AND k.expires_at <= $4 AND k.deactivated_at IS NULL AND u.disabled_at IS NULL ORDER BY k.expires_at, k.uid LIMIT $5`
	sqlNoteKeyAlert = `INSERT INTO api_key_alerts (key_uid, expires_at, days) VALUES ($1, $2, $3)
		ON CONFLICT (key_uid, expires_at) DO UPDATE SET days = excluded.days WHERE excluded.days < api_key_alerts.days`
	sqlKeyReminders    = `SELECT first_days, second_days, third_days FROM key_reminders WHERE org_uid = $1`
	sqlSetKeyReminders = `INSERT INTO key_reminders (org_uid, first_days, second_days, third_days) VALUES ($1, $2, $3, $4)
		ON CONFLICT (org_uid) DO UPDATE SET first_days = excluded.first_days, second_days = excluded.second_days,
		third_days = excluded.third_days`
)

func scanAPIKey(row rows.Scanner, k *APIKey) error {
	return row.Scan(&k.UID, &k.OrgUID, &k.UserUID, &k.Name, &k.Canonical, rows.Text(&k.Prefix), &k.Hash, rows.Moment(&k.CreatedAt),
		rows.Moment(&k.ExpiresAt), rows.Moment(&k.DeactivatedAt), rows.Moment(&k.LastUsedAt), &k.Email, &k.Role, &k.OrgName,
		rows.Moment(&k.DisabledAt), &k.Scope, rows.Text(&k.ProjectUID))
}

// APIKeys reads and changes API keys.
type APIKeys struct{ *conn }

// limitsSchema is the number of the migration with the limits of keys, which older programs would ignore.
const limitsSchema = 41

// Insert adds a key. Its canonical name being taken by another key of the user is ErrExists. Programs that do not know limits cannot open
// the store after the first key with one.
func (tx APIKeys) Insert(ctx context.Context, k APIKey) error {
	if k.Scope != "" || k.ProjectUID != "" {
		if err := tx.db.ChangeAny(ctx, sqlRaiseFloor, limitsSchema); err != nil {
			return err
		}
	}
	return tx.db.ChangeOne(ctx, sqlInsertAPIKey, k.UID, k.OrgUID, k.UserUID, k.Name, k.Canonical, k.Hash,
		rows.Millis(k.CreatedAt), rows.Millis(k.ExpiresAt), rows.OrNull(k.Prefix), k.Scope, rows.OrNull(k.ProjectUID))
}

// ByHash looks a key up by its SHA-256.
func (tx APIKeys) ByHash(ctx context.Context, hash []byte) (APIKey, error) {
	return rows.One(ctx, tx.db, scanAPIKey, sqlAPIKeyByHash, hash)
}

// Get looks a key up within its organization.
func (tx APIKeys) Get(ctx context.Context, orgUID, uid string) (APIKey, error) {
	return rows.One(ctx, tx.db, scanAPIKey, sqlAPIKey, orgUID, uid)
}

// ByUID looks a key up in any organization.
func (tx APIKeys) ByUID(ctx context.Context, uid string) (APIKey, error) {
	return rows.One(ctx, tx.db, scanAPIKey, sqlAPIKeyByUID, uid)
}

// APIKeyChange is a change of a key. A field that is empty, zero or nil stays as it is.
type APIKeyChange struct {
	Name, Canonical string
	ExpiresAt       time.Time
	Active          *bool
}

// Update changes a key at that moment, which is stored as its deactivation if it is deactivated. ErrExists: another key of the
// user has the name.
func (tx APIKeys) Update(ctx context.Context, orgUID, uid string, c APIKeyChange, at time.Time) error {
	var active any
	if c.Active != nil {
		active = rows.Flag(*c.Active)
	}
	err := tx.db.ChangeOne(ctx, sqlUpdateAPIKey, orgUID, uid, rows.OrNull(c.Name), rows.OrNull(c.Canonical), rows.Millis(c.ExpiresAt),
		active, rows.Millis(at))
	return tx.noteIf(ctx, true, err, uid)
}

// Delete deletes a key.
func (tx APIKeys) Delete(ctx context.Context, orgUID, uid string) error {
	return tx.noteIf(ctx, true, tx.db.ChangeOne(ctx, sqlDeleteAPIKey, orgUID, uid), uid)
}

// OfUser lists a user's keys by name.
func (tx APIKeys) OfUser(ctx context.Context, orgUID, userUID string) ([]APIKey, error) {
	return rows.All(ctx, tx.db, scanAPIKey, sqlAPIKeysOfUser, orgUID, userUID)
}

// OfOrg returns the page of the keys of all users of an organization that follows one of them. The zero value
// precedes all. It reports whether there may be more.
func (tx APIKeys) OfOrg(ctx context.Context, orgUID string, after APIKey) ([]APIKey, bool, error) {
	return rows.Page(ctx, tx.db, pageSize, scanAPIKey, sqlAPIKeysOfOrg, orgUID, after.UserUID, after.Canonical)
}

// NoteUse stores that a key was used, unless a use since staleBefore is stored already.
func (tx APIKeys) NoteUse(ctx context.Context, uid string, at, staleBefore time.Time) error {
	return tx.db.ChangeAny(ctx, sqlNoteAPIKeyUse, uid, rows.Millis(at), rows.Millis(staleBefore))
}

// MaxReminder is the most days of a reminder.
const MaxReminder = 90

// Expiring lists active API keys of which a reminder is due and not noted, and whose organization has an active channel of the component;
// by the time of their expiry, after that key.
func (tx APIKeys) Expiring(ctx context.Context, component string, after ExpiringKey, now time.Time, limit int) ([]ExpiringKey, error) {
	return rows.All(ctx, tx.db, func(row rows.Scanner, k *ExpiringKey) error {
		return row.Scan(&k.UID, &k.OrgUID, &k.OrgName, &k.Name, &k.UserUID, &k.Email, rows.Moment(&k.ExpiresAt), &k.Days)
	}, sqlExpiringKeys, rows.Millis(after.ExpiresAt), rows.Millis(now.AddDate(0, 0, MaxReminder)), after.UID, component, limit,
		rows.Millis(now))
}

// ExpiringOfOrg lists active API keys of an organization, or of one of its users, that expire between two moments; by the time of their
// expiry.
func (tx APIKeys) ExpiringOfOrg(ctx context.Context, orgUID, userUID string, from, until time.Time, limit int) ([]APIKey, error) {
	return rows.All(ctx, tx.db, scanAPIKey, sqlExpiringKeysOfOrg, orgUID, userUID, rows.Millis(from), rows.Millis(until), limit)
}

// NoteAlert stores that an alert of this expiry was raised so many days before, and reports whether none was raised as late.
func (tx APIKeys) NoteAlert(ctx context.Context, keyUID string, expiresAt time.Time, days int) (bool, error) {
	return tx.db.Changed(ctx, sqlNoteKeyAlert, keyUID, rows.Millis(expiresAt), days)
}

// Reminders are the days before the end of API keys at which an organization is reminded, the most first, 0 for none.
type Reminders [3]int

// Reminders returns the reminders of an organization, 30, 7 and 1 days if none were set.
func (tx APIKeys) Reminders(ctx context.Context, orgUID string) (Reminders, error) {
	r, err := rows.One(ctx, tx.db, func(row rows.Scanner, r *Reminders) error { return row.Scan(&r[0], &r[1], &r[2]) }, sqlKeyReminders,
		orgUID)
	if errors.Is(err, ErrNotFound) {
		return Reminders{30, 7, 1}, nil
	}
	return r, err
}

// SetReminders sets the reminders of an organization.
func (tx APIKeys) SetReminders(ctx context.Context, orgUID string, r Reminders) error {
	return tx.db.ChangeOne(ctx, sqlSetKeyReminders, orgUID, r[0], r[1], r[2])
}

package store

import (
	"context"
	"time"
)

// APIKey is a key of one user. Hash is the SHA-256 of the key itself, which is kept nowhere.
type APIKey struct {
	UID, OrgUID, UserUID, Name, Canonical string
	Hash                                  []byte
	CreatedAt, ExpiresAt                  time.Time
	DeactivatedAt, LastUsedAt             time.Time
	Email, Role, OrgName                  string    // read with the key
	DisabledAt                            time.Time // the user's
}

const (
	selectAPIKey = `SELECT k.uid, k.org_uid, k.user_uid, k.name, k.canonical, k.hash, k.created_at, k.expires_at, k.deactivated_at, k.last_used_at,
		u.email, u.role, o.name, u.disabled_at FROM api_keys k JOIN users u ON u.uid = k.user_uid JOIN orgs o ON o.uid = k.org_uid`

	sqlInsertAPIKey = `INSERT INTO api_keys (uid, org_uid, user_uid, name, canonical, hash, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	sqlAPIKeyByHash  = selectAPIKey + ` WHERE k.hash = $1`
	sqlAPIKeysOfUser = selectAPIKey + ` WHERE k.org_uid = $1 AND k.user_uid = $2 ORDER BY k.canonical`
	sqlCountAPIKeys  = `SELECT COUNT(*) FROM api_keys WHERE org_uid = $1 AND user_uid = $2`
	sqlAPIKeysOfOrg  = selectAPIKey + ` WHERE k.org_uid = $1 AND (k.user_uid, k.canonical) > ($2, $3) ORDER BY k.user_uid, k.canonical LIMIT $4`
	sqlAPIKey        = selectAPIKey + ` WHERE k.org_uid = $1 AND k.uid = $2`
	sqlAPIKeyByUID   = selectAPIKey + ` WHERE k.uid = $1`
	// It names what is to change and nothing else: of a renaming beside a revocation, both hold.
	sqlUpdateAPIKey = `UPDATE api_keys SET name = COALESCE(CAST($3 AS TEXT), name), canonical = COALESCE(CAST($4 AS TEXT), canonical),
		expires_at = COALESCE(CAST($5 AS BIGINT), expires_at),
		deactivated_at = CASE CAST($6 AS BIGINT) WHEN 0 THEN COALESCE(deactivated_at, CAST($7 AS BIGINT)) WHEN 1 THEN NULL ELSE deactivated_at END
		WHERE org_uid = $1 AND uid = $2`
	sqlDeleteAPIKey  = `DELETE FROM api_keys WHERE org_uid = $1 AND uid = $2`
	sqlNoteAPIKeyUse = `UPDATE api_keys SET last_used_at = $2 WHERE uid = $1 AND (last_used_at IS NULL OR last_used_at < $3)`
)

func scanAPIKey(row scanner, k *APIKey) error {
	return row.Scan(&k.UID, &k.OrgUID, &k.UserUID, &k.Name, &k.Canonical, &k.Hash, moment{&k.CreatedAt}, moment{&k.ExpiresAt},
		moment{&k.DeactivatedAt}, moment{&k.LastUsedAt}, &k.Email, &k.Role, &k.OrgName, moment{&k.DisabledAt})
}

// APIKeys reads and changes API keys.
type APIKeys struct{ *conn }

// Insert adds a key. Its canonical name being taken by another key of the user is ErrExists.
func (tx APIKeys) Insert(ctx context.Context, k APIKey) error {
	return tx.changeOne(ctx, sqlInsertAPIKey, k.UID, k.OrgUID, k.UserUID, k.Name, k.Canonical, k.Hash,
		millis(k.CreatedAt), millis(k.ExpiresAt))
}

// ByHash looks a key up by its SHA-256.
func (tx APIKeys) ByHash(ctx context.Context, hash []byte) (APIKey, error) {
	return one(ctx, tx.conn, scanAPIKey, sqlAPIKeyByHash, hash)
}

// Get looks a key up within its organization.
func (tx APIKeys) Get(ctx context.Context, orgUID, uid string) (APIKey, error) {
	return one(ctx, tx.conn, scanAPIKey, sqlAPIKey, orgUID, uid)
}

// ByUID looks a key up in whatever organization.
func (tx APIKeys) ByUID(ctx context.Context, uid string) (APIKey, error) {
	return one(ctx, tx.conn, scanAPIKey, sqlAPIKeyByUID, uid)
}

// Count counts a user's keys.
func (tx APIKeys) Count(ctx context.Context, orgUID, userUID string) (int64, error) {
	return one(ctx, tx.conn, scanCount, sqlCountAPIKeys, orgUID, userUID)
}

// APIKeyChange is what is to change of a key. What is empty, zero or nil stays as it is.
type APIKeyChange struct {
	Name, Canonical string
	ExpiresAt       time.Time
	Active          *bool
}

// Update changes a key at that moment, since when it is inactive if it is made so. Another key of the user having
// the name is ErrExists.
func (tx APIKeys) Update(ctx context.Context, orgUID, uid string, c APIKeyChange, at time.Time) error {
	var active any
	if c.Active != nil {
		active = flag(*c.Active)
	}
	err := tx.changeOne(ctx, sqlUpdateAPIKey, orgUID, uid, orNull(c.Name), orNull(c.Canonical), millis(c.ExpiresAt), active, millis(at))
	return tx.noteIf(ctx, true, err, uid)
}

// Delete deletes a key.
func (tx APIKeys) Delete(ctx context.Context, orgUID, uid string) error {
	return tx.noteIf(ctx, true, tx.changeOne(ctx, sqlDeleteAPIKey, orgUID, uid), uid)
}

// OfUser lists a user's keys by name.
func (tx APIKeys) OfUser(ctx context.Context, orgUID, userUID string) ([]APIKey, error) {
	return all(ctx, tx.conn, scanAPIKey, sqlAPIKeysOfUser, orgUID, userUID)
}

// OfOrg returns the page of the keys of all users of an organization that follows one of them. The zero value
// precedes all. It reports whether there may be more.
func (tx APIKeys) OfOrg(ctx context.Context, orgUID string, after APIKey) ([]APIKey, bool, error) {
	return page(ctx, tx.conn, pageSize, scanAPIKey, sqlAPIKeysOfOrg, orgUID, after.UserUID, after.Canonical)
}

// NoteUse records that a key was used, unless a use since staleBefore is on record already.
func (tx APIKeys) NoteUse(ctx context.Context, uid string, at, staleBefore time.Time) error {
	_, err := tx.change(ctx, sqlNoteAPIKeyUse, uid, millis(at), millis(staleBefore))
	return err
}

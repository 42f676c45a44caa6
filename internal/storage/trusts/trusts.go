// Package trusts stores the rules by which organizations accept tokens of other issuers, and which of these tokens were used.
package trusts

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Rule is a trust rule. Who presents a token that it accepts acts as the user of the same uid, which has no password.
type Rule struct {
	UID, OrgUID, Name, Canonical string
	Issuer, Audience             string
	Claims                       map[string]string // required values by name
	CA                           string            // PEM, trusted for the issuer in addition; may be empty
	Keys                         string            // JSON Web Key Set; empty: read from the issuer
	Reusable                     bool              // a token is accepted more than once
	CreatedAt                    time.Time
	Role                         string    // the user's, read with the rule
	LastUsedAt                   time.Time // the user's last login, read with the rule
}

const (
	columns = `SELECT t.uid, t.org_uid, t.name, t.canonical, t.issuer, t.audience, t.claims, t.ca, t.jwks, t.reusable, t.created_at,
		COALESCE(NULLIF(u.roles, ''), u.role) || CASE u.granted WHEN 1 THEN ' +' ELSE '' END, u.last_login_at
		FROM trust_rules t JOIN users u ON u.uid = t.uid`

	sqlInsert = `INSERT INTO trust_rules (uid, org_uid, name, canonical, issuer, audience, claims, ca, jwks, reusable, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
	sqlGet        = columns + ` WHERE t.org_uid = $1 AND t.uid = $2`
	sqlOfOrg      = columns + ` WHERE t.org_uid = $1 ORDER BY t.canonical`
	sqlOfIssuer   = columns + ` WHERE t.org_uid = $1 AND t.issuer = $2 AND u.disabled_at IS NULL ORDER BY t.canonical`
	sqlUse        = `INSERT INTO used_tokens (hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	sqlDeleteUsed = `DELETE FROM used_tokens WHERE hash IN (SELECT hash FROM used_tokens WHERE expires_at < $1 LIMIT $2)`
)

func scan(row rows.Scanner, r *Rule) error {
	return row.Scan(&r.UID, &r.OrgUID, &r.Name, &r.Canonical, &r.Issuer, &r.Audience, jsontext.To(&r.Claims), &r.CA, &r.Keys,
		rows.Truth(&r.Reusable), rows.Moment(&r.CreatedAt), &r.Role, rows.Moment(&r.LastUsedAt))
}

// Rules reads and changes trust rules. A rule is deleted with its user.
type Rules struct{ db *rows.Conn }

// In returns the rules of one transaction.
func In(db *rows.Conn) Rules { return Rules{db} }

// Insert adds a rule, whose user exists. Its name being taken in the organization is sqldb.ErrExists.
func (tx Rules) Insert(ctx context.Context, r Rule) error {
	claims, err := jsontext.Of(r.Claims)
	if err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlInsert, r.UID, r.OrgUID, r.Name, r.Canonical, r.Issuer, r.Audience, claims, r.CA, r.Keys,
		rows.Flag(r.Reusable), rows.Millis(r.CreatedAt))
}

// Get looks a rule up within its organization.
func (tx Rules) Get(ctx context.Context, orgUID, uid string) (Rule, error) {
	return rows.One(ctx, tx.db, scan, sqlGet, orgUID, uid)
}

// OfOrg lists the rules of an organization by name.
func (tx Rules) OfOrg(ctx context.Context, orgUID string) ([]Rule, error) {
	return rows.All(ctx, tx.db, scan, sqlOfOrg, orgUID)
}

// OfIssuer lists the rules of an organization for an issuer by name, without those whose user is disabled.
func (tx Rules) OfIssuer(ctx context.Context, orgUID, issuer string) ([]Rule, error) {
	return rows.All(ctx, tx.db, scan, sqlOfIssuer, orgUID, issuer)
}

// Use stores that the token of that hash was used, and reports whether it was not before. The row is needed until the token expires.
func (tx Rules) Use(ctx context.Context, hash []byte, expires time.Time) (bool, error) {
	return tx.db.Changed(ctx, sqlUse, hash, rows.Millis(expires))
}

// DeleteUsed deletes at most limit used tokens that expired before that moment, and returns how many.
func (tx Rules) DeleteUsed(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.db.Change(ctx, sqlDeleteUsed, rows.Millis(before), limit)
}

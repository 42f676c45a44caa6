package identities

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

const (
	sqlExpireUsed = `DELETE FROM logout_tokens WHERE org_uid = $1 AND expires_at <= $2`
	sqlUseOnce    = `INSERT INTO logout_tokens (org_uid, hash, expires_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`

	// By subject, by the name of the provider's session, or by both; in the order in which users are locked.
	sqlSessionsAt = `SELECT x.session_uid, i.user_uid FROM session_identities x JOIN identities i ON i.uid = x.identity_uid
		JOIN sessions s ON s.uid = x.session_uid
		WHERE i.org_uid = $1 AND i.issuer = $2 AND ($3 = '' OR i.subject = $3) AND ($4 = '' OR x.sid = $4)
		AND s.ended_at IS NULL AND s.idle_until > $5 AND s.max_until > $5 ORDER BY i.user_uid, x.session_uid`
)

// UseOnce stores that a logout token or the state of a login was used, by its hash, and reports whether this is the first time.
func (tx Identities) UseOnce(ctx context.Context, orgUID string, hash []byte, now, expires time.Time) (bool, error) {
	if err := tx.db.ChangeAny(ctx, sqlExpireUsed, orgUID, rows.Millis(now)); err != nil {
		return false, err
	}
	return tx.db.Changed(ctx, sqlUseOnce, orgUID, hash, rows.Millis(expires))
}

// LiveSession is a session with its user.
type LiveSession struct{ UID, UserUID string }

// SessionsAt lists the live sessions of an organization that began at an issuer: of a subject, of a session of the issuer, or of both.
func (tx Identities) SessionsAt(ctx context.Context, orgUID, issuer, subject, sid string, now time.Time) ([]LiveSession, error) {
	return rows.All(ctx, tx.db, func(row rows.Scanner, s *LiveSession) error { return row.Scan(&s.UID, &s.UserUID) }, sqlSessionsAt,
		orgUID, issuer, subject, sid, rows.Millis(now))
}

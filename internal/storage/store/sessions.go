package store

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Session is the session of a login. Generation is that of the newest refresh token, which was issued at AdvancedAt. EndedAt is
// zero while the session was not ended; IdleUntil and MaxUntil alone show that its idle or absolute end has passed.
type Session struct {
	UID, OrgUID, UserUID  string
	Generation            int64
	Address               string // of the client that logged in
	CreatedAt, AdvancedAt time.Time
	UsedAt                time.Time
	IdleUntil, MaxUntil   time.Time
	EndedAt               time.Time
	EndReason             string
	Email, Role           string    // the user's, read with the session
	OrgName               string    // read with the session
	DisabledAt            time.Time // the user's
	Console               bool      // of a browser, which has a reference to it instead of tokens
	RefreshUID            string    // audit record of the newest refreshes
	Refreshes             int64     // those that the record does not count yet
	RecheckAt             time.Time // when an identity provider is asked about the user before the next refresh; zero: never
}

// ConsumedJTI is an authorization token that was exchanged, and the token that was issued for it.
type ConsumedJTI struct {
	JTI, SessionUID  string
	ConsumedAt       time.Time
	NextJTI, NextKID string
	ExpiresAt        time.Time // of the consumed token: from then on the row is not needed
}

const (
	sessionColumns = `s.uid, s.org_uid, s.user_uid, s.generation, s.address, s.created_at, s.advanced_at, s.used_at,
		s.idle_until, s.max_until, s.ended_at, s.end_reason, u.email, ` + roleOfUser + `, o.name, u.disabled_at,
		CASE WHEN EXISTS (SELECT 1 FROM session_references x WHERE x.session_uid = s.uid) THEN 1 ELSE 0 END, s.refresh_uid, s.refreshes,
		s.recheck_at FROM sessions s JOIN users u ON u.uid = s.user_uid JOIN orgs o ON o.uid = s.org_uid`

	sqlInsertSession = `INSERT INTO sessions (uid, org_uid, user_uid, generation, address, created_at, advanced_at, used_at, idle_until,
		max_until, recheck_at) VALUES ($1, $2, $3, $4, $5, $6, $6, $6, $7, $8, $9)`
	sqlSession            = `SELECT ` + sessionColumns + ` WHERE s.uid = $1`
	sqlInsertReference    = `INSERT INTO session_references (hash, session_uid) VALUES ($1, $2)`
	sqlReplaceReference   = `UPDATE session_references SET hash = $2 WHERE session_uid = $1`
	sqlSessionByReference = `SELECT ` + sessionColumns + ` JOIN session_references r ON r.session_uid = s.uid WHERE r.hash = $1`
	// What it returns is sessionColumns; SQLite's RETURNING sees no other table but by subqueries. A session with a reference
	// has no refresh token, so it is not advanced.
	sqlAdvanceSession     = advanceSession + advanceable + advancedSession
	countRefresh          = `, refreshes = refreshes + 1`
	ofRecord              = ` AND refresh_uid = $5`
	sqliteAdvanceCounting = advanceSession + countRefresh + advanceable + ofRecord + advancedSession
	// These share a transaction with others, so they wait for no lock.
	postgresAdvanceCounting = advanceSession + countRefresh + advanceableNow + ofRecord + advancedSession
	postgresAdvanceAlone    = advanceSession + advanceableNow + advancedSession
	// The organization may end sessions earlier than the server.
	advanceSession = `UPDATE sessions SET generation = generation + 1, advanced_at = $3, used_at = $3, idle_until = (SELECT
		CASE WHEN o.session_idle > 0 AND $3 + o.session_idle < $4 THEN $3 + o.session_idle ELSE $4 END
		FROM orgs o WHERE o.uid = sessions.org_uid)`
	advanceableNow = ` WHERE uid = (SELECT f.uid FROM sessions f WHERE f.uid = $1 FOR NO KEY UPDATE SKIP LOCKED) AND ` +
		advanceableIf
	advanceable   = ` WHERE uid = $1 AND ` + advanceableIf
	advanceableIf = `generation = $2 AND ended_at IS NULL AND idle_until > $3 AND max_until > $3
		AND (recheck_at IS NULL OR recheck_at > $3) AND (SELECT disabled_at FROM users WHERE users.uid = sessions.user_uid) IS NULL`
	advancedSession = `
		RETURNING uid, org_uid, user_uid, generation, address, created_at, advanced_at, used_at, idle_until, max_until, ended_at,
		end_reason, (SELECT email FROM users WHERE users.uid = sessions.user_uid), (SELECT ` + roleOfUser + ` FROM users u
		WHERE u.uid = sessions.user_uid), (SELECT name FROM orgs WHERE orgs.uid = sessions.org_uid), NULL, 0, refresh_uid, refreshes,
		recheck_at`
	sqlCountRefresh   = `UPDATE sessions SET refreshes = refreshes + 1 WHERE uid = $1`
	sqlBeginRefreshes = `UPDATE sessions SET refresh_uid = $2, refreshes = 0 WHERE uid = $1`
	sqlUseSession     = `UPDATE sessions SET used_at = $2, idle_until = (SELECT
		CASE WHEN o.session_idle > 0 AND $2 + o.session_idle < $3 THEN $2 + o.session_idle ELSE $3 END
		FROM orgs o WHERE o.uid = sessions.org_uid)
		WHERE uid = $1 AND ended_at IS NULL AND idle_until > $2 AND max_until > $2`
	sqlEndSession      = `UPDATE sessions SET ended_at = $2, end_reason = $3 WHERE uid = $1 AND ended_at IS NULL`
	sqlEndUserSessions = `UPDATE sessions SET ended_at = $3, end_reason = $4
		WHERE org_uid = $1 AND user_uid = $2 AND ended_at IS NULL AND uid <> $5`
	sqlSessionsOfUser = `SELECT ` + sessionColumns + ` WHERE s.org_uid = $1 AND s.user_uid = $2 AND s.ended_at IS NULL
		AND s.idle_until > $3 AND s.max_until > $3 ORDER BY s.created_at DESC, s.uid LIMIT $4`

	sqlLastSessionEnd = `SELECT MAX(max_until) FROM sessions WHERE max_until > 0`

	sqlConsumeJTI = `INSERT INTO spent_jtis (jti, session_uid, spent_at, next_jti, next_kid, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`
	sqlDeleteConsumedJTIs = `DELETE FROM spent_jtis WHERE jti IN (SELECT jti FROM spent_jtis WHERE expires_at < $1 LIMIT $2)`
	sqlDeleteSessions     = `DELETE FROM sessions WHERE uid IN (SELECT uid FROM sessions WHERE max_until < $1 LIMIT $2)
		RETURNING refresh_uid, refreshes`
	// Sessions that are deleted next; the query returns one row, however many they are.
	lockSessions               = `SELECT COUNT(*) FROM (SELECT 1 FROM sessions WHERE org_uid = $1`
	postgresLockSessionsOfOrg  = lockSessions + ` FOR NO KEY UPDATE) AS locked`
	postgresLockSessionsOfUser = lockSessions + ` AND user_uid = $2 FOR NO KEY UPDATE) AS locked`
	// Refreshes that sessions counted.
	sqlAddRepeatsOfOrg = `UPDATE audits SET repeats = repeats + s.refreshes FROM sessions s WHERE s.org_uid = $1 AND s.refreshes > 0
		AND audits.uid = s.refresh_uid`
	sqlAddRepeatsOfUser = `UPDATE audits SET repeats = repeats + s.refreshes FROM sessions s
		WHERE s.org_uid = $1 AND s.user_uid = $2 AND s.refreshes > 0 AND audits.uid = s.refresh_uid`
	sqlConsumedJTI = `SELECT jti, session_uid, spent_at, next_jti, next_kid, expires_at FROM spent_jtis WHERE jti = $1`
)

func scanSession(row rows.Scanner, s *Session) error {
	return row.Scan(&s.UID, &s.OrgUID, &s.UserUID, &s.Generation, &s.Address, rows.Moment(&s.CreatedAt), rows.Moment(&s.AdvancedAt),
		rows.Moment(&s.UsedAt), rows.Moment(&s.IdleUntil), rows.Moment(&s.MaxUntil), rows.Moment(&s.EndedAt), rows.Text(&s.EndReason),
		&s.Email, &s.Role, &s.OrgName, rows.Moment(&s.DisabledAt), rows.Truth(&s.Console), rows.Text(&s.RefreshUID), &s.Refreshes,
		rows.Moment(&s.RecheckAt))
}

// Sessions reads and changes sessions and consumed authorization tokens.
type Sessions struct{ *conn }

// Insert adds a session that begins at CreatedAt.
func (tx Sessions) Insert(ctx context.Context, s Session) error {
	return tx.db.ChangeOne(ctx, sqlInsertSession, s.UID, s.OrgUID, s.UserUID, s.Generation, s.Address,
		rows.Millis(s.CreatedAt), rows.Millis(s.IdleUntil), rows.Millis(s.MaxUntil), rows.Millis(s.RecheckAt))
}

// Get looks a session up, with what is needed of its user and organization.
func (tx Sessions) Get(ctx context.Context, uid string) (Session, error) {
	return rows.One(ctx, tx.db, scanSession, sqlSession, uid)
}

// InsertReference adds the reference to a session, as its SHA-256.
func (tx Sessions) InsertReference(ctx context.Context, uid string, hash []byte) error {
	return tx.db.ChangeOne(ctx, sqlInsertReference, hash, uid)
}

// ReplaceReference replaces the reference to a session, if it has one.
func (tx Sessions) ReplaceReference(ctx context.Context, uid string, hash []byte) error {
	n, err := tx.db.Change(ctx, sqlReplaceReference, uid, hash)
	return tx.noteIf(ctx, n > 0, err, uid)
}

// ByReference looks a session up by the SHA-256 of its reference, like Get.
func (tx Sessions) ByReference(ctx context.Context, hash []byte) (Session, error) {
	return rows.One(ctx, tx.db, scanSession, sqlSessionByReference, hash)
}

// Advance moves a session from one generation to the next, if it is live at that moment, its user is not
// disabled, and its generation is the given one, and returns it as it is then. Of any number of callers with one
// generation exactly one gets the session, the others ErrNotFound.
func (tx Sessions) Advance(ctx context.Context, uid string, generation int64, now, idleUntil time.Time) (Session, error) {
	return rows.One(ctx, tx.db, scanSession, sqlAdvanceSession, uid, generation, rows.Millis(now), rows.Millis(idleUntil))
}

// AdvanceAlone is Advance for a transaction of one statement, with the audit record of the refresh if there is one: the session counts
// it if it is the record of its newest refresh. ErrNotFound may also mean that the session has another record, or that it is locked.
func (tx Sessions) AdvanceAlone(ctx context.Context, uid string, generation int64, now, idleUntil time.Time,
	record string) (Session, error) {
	if record == "" {
		return rows.One(ctx, tx.db, scanSession, tx.db.Either(sqlAdvanceSession, postgresAdvanceAlone), uid, generation, rows.Millis(now),
			rows.Millis(idleUntil))
	}
	return rows.One(ctx, tx.db, scanSession, tx.db.Either(sqliteAdvanceCounting, postgresAdvanceCounting), uid, generation,
		rows.Millis(now), rows.Millis(idleUntil), record)
}

// CountRefresh counts a refresh of the newest record.
func (tx Sessions) CountRefresh(ctx context.Context, uid string) error {
	return tx.db.Insert(ctx, sqlCountRefresh, uid)
}

// BeginRefreshes notes the record of the newest refresh.
func (tx Sessions) BeginRefreshes(ctx context.Context, uid, record string) error {
	return tx.db.Insert(ctx, sqlBeginRefreshes, uid, record)
}

// Use moves the idle end of a session that is live at that moment, and reports whether it is. The
// row stays locked until the transaction ends, so that an end of the session comes before or after it.
func (tx Sessions) Use(ctx context.Context, uid string, now, idleUntil time.Time) (bool, error) {
	return tx.db.Changed(ctx, sqlUseSession, uid, rows.Millis(now), rows.Millis(idleUntil))
}

// End ends a session and reports whether it was this call that did.
func (tx Sessions) End(ctx context.Context, uid, reason string, now time.Time) (bool, error) {
	n, err := tx.db.Change(ctx, sqlEndSession, uid, rows.Millis(now), reason)
	return n == 1, tx.noteIf(ctx, n == 1, err, uid)
}

// EndOfUser ends all sessions of a user but one; all of them when except is empty.
func (tx Sessions) EndOfUser(ctx context.Context, orgUID, userUID, except, reason string, now time.Time) error {
	n, err := tx.db.Change(ctx, sqlEndUserSessions, orgUID, userUID, rows.Millis(now), reason, except)
	return tx.noteIf(ctx, n > 0, err, userUID)
}

// maxSessions bounds the list of the sessions of a user.
const maxSessions = 1000

// OfUser lists the newest 1,000 of a user's sessions that are live at that moment, the newest first.
func (tx Sessions) OfUser(ctx context.Context, orgUID, userUID string, now time.Time) ([]Session, error) {
	return rows.All(ctx, tx.db, scanSession, sqlSessionsOfUser, orgUID, userUID, rows.Millis(now), maxSessions)
}

// LastEnd is the latest absolute end of any session, zero when there is none.
func (tx Sessions) LastEnd(ctx context.Context) (time.Time, error) {
	return rows.One(ctx, tx.db, rows.ScanMoment, sqlLastSessionEnd)
}

// ConsumeJTI stores that an authorization token was exchanged, and reports whether it was this call that did.
func (tx Sessions) ConsumeJTI(ctx context.Context, s ConsumedJTI) (bool, error) {
	return tx.db.Changed(ctx, sqlConsumeJTI, s.JTI, s.SessionUID, rows.Millis(s.ConsumedAt), s.NextJTI, s.NextKID, rows.Millis(s.ExpiresAt))
}

// ConsumedJTI looks up the exchange of an authorization token.
func (tx Sessions) ConsumedJTI(ctx context.Context, jti string) (ConsumedJTI, error) {
	return rows.One(ctx, tx.db, func(row rows.Scanner, s *ConsumedJTI) error {
		return row.Scan(&s.JTI, &s.SessionUID, rows.Moment(&s.ConsumedAt), &s.NextJTI, &s.NextKID, rows.Moment(&s.ExpiresAt))
	}, sqlConsumedJTI, jti)
}

// DeleteConsumedJTIs deletes at most limit exchanges whose token expired before that moment, and returns how many.
func (tx Sessions) DeleteConsumedJTIs(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.db.Change(ctx, sqlDeleteConsumedJTIs, rows.Millis(before), limit)
}

// DeleteBefore deletes at most limit sessions whose absolute end was before that moment, and returns how many. Their audit records
// keep the number of their refreshes.
func (tx Sessions) DeleteBefore(ctx context.Context, before time.Time, limit int) (int64, error) {
	deleted, err := rows.All(ctx, tx.db, func(row rows.Scanner, s *Session) error {
		return row.Scan(rows.Text(&s.RefreshUID), &s.Refreshes)
	}, sqlDeleteSessions, rows.Millis(before), limit)
	for i := 0; i < len(deleted) && err == nil; i++ {
		err = audits.In(tx.db, tx.ring).AddRepeats(ctx, deleted[i].RefreshUID, deleted[i].Refreshes)
	}
	return int64(len(deleted)), err
}

// addRepeatsOf adds the refreshes that sessions counted to their records, since the sessions are deleted next. They are locked first, as by
// a refresh; on SQLite nothing else writes.
func (tx *conn) addRepeatsOf(ctx context.Context, lock, add string, args ...any) error {
	if tx.db.Postgres {
		if err := tx.db.Insert(ctx, lock, args...); err != nil {
			return err
		}
	}
	return tx.db.Insert(ctx, add, args...)
}

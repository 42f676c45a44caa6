package store

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/listdetails"
	"github.com/regwarden/regwarden/internal/storage/rows"
)

// HealthResult is the part of the result of a check that becomes the health status. Two checks are compared without its texts and times.
type HealthResult struct {
	Valid                      bool
	Code, Stage, Reason, Field string
	CertificateExpiresSoon     bool // that of the server, a CA or the client; or that of the client has expired
	CredentialsExpireSoon      bool // or they have expired
	Message, Hint              string
	CertificateNotAfter        time.Time // of the first certificate to expire; zero if it is not known
	CredentialsNotAfter        time.Time // zero if it is not known
}

// FirstExpiry returns when the first of certificate and credentials expires, zero if neither is known.
func (r HealthResult) FirstExpiry() time.Time {
	if r.CertificateNotAfter.IsZero() || !r.CredentialsNotAfter.IsZero() && r.CredentialsNotAfter.Before(r.CertificateNotAfter) {
		return r.CredentialsNotAfter
	}
	return r.CertificateNotAfter
}

// maxHealthText bounds the message and the hint of a health status, in bytes. Those of the engine are shorter.
const maxHealthText = 1024

// Health is the health status of a registry between checks. Since is zero until a check has counted.
type Health struct {
	State                 HealthResult
	Since, LastAt, NextAt time.Time
	Unconfirmed           bool // the last check had a transient failure, which is rechecked soon
}

// HealthState is a health status as one word.
type HealthState string

// The words of a health status.
const (
	Healthy HealthState = "healthy"
	Failing HealthState = "failing"
	Unknown HealthState = "unknown" // no check has counted, or the newest one is Undecided
)

// Undecided reports whether a check says nothing of the registry, because the provider of its credentials was down.
func (v HealthResult) Undecided() bool {
	return !v.Valid && (v.Reason == "providerUnavailable" || v.Reason == "providerUnreachable")
}

// Word returns the health after the check as one word.
func (r HealthResult) Word() HealthState {
	switch {
	case r.Undecided():
		return Unknown
	case r.Valid:
		return Healthy
	default:
		return Failing
	}
}

// Word returns the status as one word.
func (h Health) Word() HealthState {
	if h.Since.IsZero() {
		return Unknown
	}
	return h.State.Word()
}

// Watched is the state of the scheduled checks of a registry. Since is zero while no check has counted.
type Watched struct {
	RegistryUID, OrgUID string
	NextAt              time.Time    // when it is due; that of a running check
	LeaseOwner          string       // who checks it now
	Unreachable         int64        // checks in a row that ended retryable
	Unconfirmed         bool         // the newest check ended retryable, and does not count yet
	Since               time.Time    // of State
	State               HealthResult // the newest one that counts
	LastAt              time.Time    // the newest check, whether it counts or not
	Run                 int64        // the number of the newest health period, 0 for none
	ControlResult       string       // the control result of the newest check, reused by later checks
	WindowStart         time.Time    // the first alert of the current window of the alert rate limit
	SentCount           int64        // alerts raised since then
	SuppressedCount     int64        // changes since then without an alert
	Requested           int64        // requests for a check, which this check completes
	Certificates        listdetails.Certificates
}

// Health returns the health status of the row.
func (w Watched) Health() Health {
	return Health{State: w.State, Since: w.Since, LastAt: w.LastAt, NextAt: w.NextAt, Unconfirmed: w.Unconfirmed}
}

// HealthPeriod is a period of the status history: a sequence of checks with equal results.
type HealthPeriod struct {
	Run           int64
	Since, LastAt time.Time
	Checks        int64
	Counted       bool         // it became the state
	Result        HealthResult // without texts, which are in the report
	Report        []byte       // JSON, of the run's first check; nil when the definition could not be checked
	Stages        []StageTime  // those of the newest check; only written
}

// CheckRequest is the state of a check that was requested.
type CheckRequest struct {
	Completed  int64        // number of requests that a check began after
	LeaseOwner string       // who checks the registry now, or did until NextAt
	NextAt     time.Time    // when the registry is due, or until when a check may last
	State      HealthResult // the newest one that counts
	Report     []byte       // JSON report of the completing check; nil when the definition could not be checked
}

// maxHealthPeriods bounds a registry's history.
const maxHealthPeriods = 200

const (
	watchColumns = `registry_uid, org_uid, next_at, lease_owner, unreachable, unconfirmed, since, valid, code, stage, reason, field,
		expires_soon, last_at, run, behaviour, told_since, told, untold, asked, message, hint, credentials_expire_soon,
		certificate_not_after, credentials_not_after, certificates`

	sqlScheduleWatch = `INSERT INTO registry_watch (registry_uid, org_uid, next_at, phase) VALUES ($1, $2, $3, $4)
		ON CONFLICT (registry_uid) DO UPDATE SET next_at = excluded.next_at, lease_owner = NULL, unreachable = 0, unconfirmed = 0,
		behaviour = ''`
	sqlClearExpiry = `UPDATE registry_watch SET certificates = CASE WHEN CAST($3 AS BIGINT) = 0 THEN certificates END,
		certificate_not_after = CASE WHEN $3 = 0 THEN certificate_not_after END, expires_soon = expires_soon * (1 - $3),
		credentials_not_after = CASE WHEN CAST($4 AS BIGINT) = 0 THEN credentials_not_after END,
		credentials_expire_soon = credentials_expire_soon * (1 - $4) WHERE org_uid = $1 AND registry_uid = $2`
	isFree      = ` AND (lease_owner IS NULL OR lease_until <= $1)` // a row with a lease is being checked
	sqlWatchDue = oldestDue + `registry_watch WHERE next_at <= $1` + isFree + newestDue + `registry_watch WHERE next_at <= $1` + isFree +
		endDue
	sqlWatchOrgs = orgsOf + `registry_watch` + firstOrg + `registry_watch` + nextOrg +
		`(SELECT MIN(next_at) FROM registry_watch WHERE org_uid = waiting.org_uid` + isFree + `) <= $1` + endOrgs
	claimWatch       = `UPDATE registry_watch SET lease_owner = $2, lease_until = $3 WHERE registry_uid `
	sqliteClaimWatch = claimWatch + `IN (SELECT registry_uid FROM registry_watch WHERE org_uid = $4 AND next_at <= $1` + isFree +
		` ORDER BY next_at LIMIT $5) RETURNING ` + watchColumns
	postgresClaimWatch = claimWatch + eachShare + `(SELECT registry_uid AS uid FROM registry_watch WHERE ` + ofShare + isFree + endShare +
		watchColumns
	sqlReleaseWatch = `UPDATE registry_watch SET lease_owner = NULL, next_at = $3 WHERE registry_uid = $1 AND lease_owner = $2`
	sqlEndWatch     = `UPDATE registry_watch SET lease_owner = NULL, next_at = CASE WHEN asked = $20 OR next_at > $4 THEN $4
		WHEN next_at > $13 THEN next_at ELSE $13 END, unreachable = $5, since = $6, valid = $7, code = $8,
		stage = $9, reason = $10, field = $11, expires_soon = $12, last_at = $13, run = $14, behaviour = $15, unconfirmed = $16,
		told_since = $17, told = $18, untold = $19, answered = $20, answer = CASE WHEN answered < $20 THEN $21 ELSE answer END,
		message = $22, hint = $23, credentials_expire_soon = $24, certificate_not_after = $25, credentials_not_after = $26,
		stage_times = $27, certificates = $28
		WHERE registry_uid = $1 AND lease_owner = $2 AND org_uid = $3`
	// A definition of that version, which is locked against its deletion only: a replacement ends the lease, which sqlEndWatch requires.
	sqliteVersion   = `SELECT 1 FROM registries WHERE org_uid = $1 AND uid = $2 AND version = $3`
	postgresVersion = sqliteVersion + ` FOR KEY SHARE`
	extendRun       = `UPDATE registry_verdicts SET last_at = $5, checks = checks + 1, counted = CASE WHEN $6 = 1 THEN 1 ELSE counted END,
		certificate_not_after = $14, credentials_not_after = $15
		WHERE registry_uid = $2 AND run = $4 AND valid = $7 AND code = $8 AND stage = $9 AND reason = $10 AND field = $11
		AND expires_soon = $12 AND credentials_expire_soon = $13 AND EXISTS (`
	sqliteExtendRun   = extendRun + sqliteVersion + `)`
	postgresExtendRun = extendRun + postgresVersion + `)`
	sqlInsertRun      = `INSERT INTO registry_verdicts (registry_uid, run, org_uid, since, last_at, checks, counted, valid, code, stage,
		reason, field, expires_soon, report, credentials_expire_soon, certificate_not_after, credentials_not_after)
		VALUES ($1, $2, $3, $4, $4, 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`
	sqlDeleteRuns = `DELETE FROM registry_verdicts WHERE registry_uid = $1 AND run <= $2`
	sqlWatchOf    = `SELECT ` + watchColumns + ` FROM registry_watch WHERE org_uid = $1 AND registry_uid = $2`
	selectPeriods = `SELECT run, since, last_at, checks, counted, valid, code, stage, reason, field,
		expires_soon, credentials_expire_soon, certificate_not_after, credentials_not_after, `
	ofRegistry          = ` FROM registry_verdicts WHERE registry_uid = $2 AND org_uid = $1 AND run < $3 ORDER BY run DESC LIMIT $4`
	sqlHistory          = selectPeriods + `report` + ofRegistry
	sqlTimeline         = selectPeriods + `NULL` + ofRegistry
	spreadWatch         = `UPDATE registry_watch SET next_at = $1 + phase % $2, lease_owner = NULL WHERE registry_uid `
	overdueWatch        = `SELECT registry_uid FROM registry_watch WHERE next_at < $3` + isFree + ` ORDER BY next_at LIMIT $4`
	sqliteSpreadWatch   = spreadWatch + `IN (` + overdueWatch + `)`
	postgresSpreadWatch = spreadWatch + `= ANY (ARRAY(` + overdueWatch + ` FOR NO KEY UPDATE SKIP LOCKED))`
	// A running check began before the request, so it does not complete it: sqlEndWatch makes the registry due again. The first one sets
	// next_at, which is not after the claim, $4 before the end of the lease; another one only moves that to an earlier time. $5 is now.
	sqlRequestCheck = `UPDATE registry_watch SET asked = asked + 1, next_at = CASE WHEN next_at > $3 OR lease_owner IS NOT NULL AND
		lease_until > $5 AND next_at <= lease_until - $4 THEN $3 ELSE next_at END WHERE org_uid = $1 AND registry_uid = $2 RETURNING asked`
	sqlCheckRequest = `SELECT answered, lease_owner, CASE WHEN lease_owner IS NOT NULL AND lease_until > next_at THEN lease_until
		ELSE next_at END, code, field, answer FROM registry_watch WHERE org_uid = $1 AND registry_uid = $2`
	sqlCountWatchAhead = `SELECT COUNT(*) FROM (SELECT 1 FROM registry_watch WHERE next_at > $1 LIMIT $2) AS counted`
	sqlCountWatch      = `SELECT COUNT(*) FROM (SELECT 1 FROM registry_watch WHERE next_at <= $1` + isFree + ` LIMIT $2) AS counted`
)

func scanWatched(row rows.Scanner, w *Watched) error {
	return row.Scan(&w.RegistryUID, &w.OrgUID, rows.Moment(&w.NextAt), rows.Text(&w.LeaseOwner), &w.Unreachable, rows.Truth(&w.Unconfirmed),
		rows.Moment(&w.Since), rows.Truth(&w.State.Valid), &w.State.Code, &w.State.Stage, &w.State.Reason, &w.State.Field,
		rows.Truth(&w.State.CertificateExpiresSoon), rows.Moment(&w.LastAt), &w.Run, &w.ControlResult,
		rows.Moment(&w.WindowStart), &w.SentCount, &w.SuppressedCount, &w.Requested,
		&w.State.Message, &w.State.Hint, rows.Truth(&w.State.CredentialsExpireSoon),
		rows.Moment(&w.State.CertificateNotAfter), rows.Moment(&w.State.CredentialsNotAfter), jsontext.To(&w.Certificates))
}

// Watch reads and changes scheduled checks, the state of registries and its history.
type Watch struct{ *conn }

// Schedule makes a registry due at that moment. It belongs in the transaction that stores or replaces the definition: a
// check of the older one that is running loses its lease, and its result is dropped.
func (tx Watch) Schedule(ctx context.Context, orgUID, registryUID string, at time.Time) error {
	// #nosec G404 -- spreads load, hides nothing
	return tx.db.ChangeOne(ctx, sqlScheduleWatch, registryUID, orgUID, rows.Millis(at), rand.Int64N(math.MaxInt32))
}

// ClearExpiry removes what earlier checks saw of the certificates, of the credentials, or of both.
func (tx Watch) ClearExpiry(ctx context.Context, orgUID, registryUID string, certificates, credentials bool) error {
	return tx.db.ChangeAny(ctx, sqlClearExpiry, orgUID, registryUID, rows.Flag(certificates), rows.Flag(credentials))
}

// DueOrgs lists the organizations that have a registry due at that moment, by uid.
func (tx Watch) DueOrgs(ctx context.Context, now time.Time) ([]string, error) {
	return dueOrgs(ctx, tx.conn, sqlWatchDue, sqlWatchOrgs, now)
}

// Claim claims registries that are due, the longest overdue of each organization first: no other caller claims them before
// leaseUntil. owner identifies this claim, and is needed to end the checks.
func (tx Watch) Claim(ctx context.Context, owner string, now, leaseUntil time.Time, shares []Share) ([]Watched, error) {
	return claim(ctx, tx.conn, scanWatched, sqliteClaimWatch, postgresClaimWatch, owner, now, leaseUntil, shares)
}

// Release releases a claimed registry unchecked, to be due at that moment. A lost lease is not an error.
func (tx Watch) Release(ctx context.Context, registryUID, owner string, next time.Time) error {
	return tx.db.ChangeAny(ctx, sqlReleaseWatch, registryUID, owner, rows.Millis(next))
}

// End stores the result of a check: w, and the result in the history. It returns ErrNotFound, and the transaction must then be
// rolled back, when the lease was lost, or the definition was replaced or deleted.
func (tx Watch) End(ctx context.Context, w Watched, version int64, seen HealthPeriod) error {
	extended, err := tx.extendRun(ctx, w, version, seen)
	if err != nil {
		return err
	}
	if !extended {
		if _, err := rows.One(ctx, tx.db, rows.ScanCount, tx.db.Either(sqliteVersion, postgresVersion), w.OrgUID, w.RegistryUID,
			version); err != nil {
			return err
		}
		w.Run++
	}
	s := w.State
	err = tx.db.ChangeOne(ctx, sqlEndWatch, w.RegistryUID, w.LeaseOwner, w.OrgUID, rows.Millis(w.NextAt), w.Unreachable,
		rows.Millis(w.Since), rows.Flag(s.Valid), s.Code, s.Stage, s.Reason, s.Field, rows.Flag(s.CertificateExpiresSoon),
		rows.Millis(w.LastAt), w.Run, w.ControlResult,
		rows.Flag(w.Unconfirmed), rows.Millis(w.WindowStart), w.SentCount, w.SuppressedCount, w.Requested, seen.Report,
		healthText(s.Message), healthText(s.Hint), rows.Flag(s.CredentialsExpireSoon),
		rows.Millis(s.CertificateNotAfter), rows.Millis(s.CredentialsNotAfter), joinStageTimes(seen.Stages), w.Certificates)
	if err != nil || extended {
		return err
	}
	return tx.beginRun(ctx, w, seen)
}

// healthText returns a text that both databases can store: PostgreSQL refuses NUL and invalid UTF-8.
func healthText(s string) string {
	return rows.CutText(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), ""), maxHealthText)
}

// extendRun adds a result to the newest period if it is equal to that of the period, and the definition has that version.
func (tx Watch) extendRun(ctx context.Context, w Watched, version int64, seen HealthPeriod) (bool, error) {
	v := seen.Result
	return tx.db.Changed(ctx, tx.db.Either(sqliteExtendRun, postgresExtendRun), w.OrgUID, w.RegistryUID, version, w.Run,
		rows.Millis(w.LastAt),
		rows.Flag(seen.Counted), rows.Flag(v.Valid), v.Code, v.Stage, v.Reason, v.Field, rows.Flag(v.CertificateExpiresSoon),
		rows.Flag(v.CredentialsExpireSoon), rows.Millis(v.CertificateNotAfter), rows.Millis(v.CredentialsNotAfter))
}

// beginRun adds a period to the history, and deletes those beyond its limit.
func (tx Watch) beginRun(ctx context.Context, w Watched, seen HealthPeriod) error {
	v := seen.Result
	if err := tx.db.ChangeOne(ctx, sqlInsertRun, w.RegistryUID, w.Run, w.OrgUID, rows.Millis(w.LastAt), rows.Flag(seen.Counted),
		rows.Flag(v.Valid), v.Code, v.Stage, v.Reason, v.Field, rows.Flag(v.CertificateExpiresSoon), seen.Report,
		rows.Flag(v.CredentialsExpireSoon), rows.Millis(v.CertificateNotAfter), rows.Millis(v.CredentialsNotAfter)); err != nil {
		return err
	}
	return tx.db.ChangeAny(ctx, sqlDeleteRuns, w.RegistryUID, w.Run-maxHealthPeriods)
}

// Get returns the state of the scheduled checks of a registry.
func (tx Watch) Get(ctx context.Context, orgUID, registryUID string) (Watched, error) {
	return rows.One(ctx, tx.db, scanWatched, sqlWatchOf, orgUID, registryUID)
}

// History lists a registry's newest health periods, the newest first.
func (tx Watch) History(ctx context.Context, orgUID, registryUID string, after HealthPeriod, limit int) ([]HealthPeriod, error) {
	return rows.All(ctx, tx.db, scanPeriod, sqlHistory, orgUID, registryUID, cmp.Or(after.Run, math.MaxInt64), limit)
}

// Timeline lists all of a registry's health periods without their reports, the newest first.
func (tx Watch) Timeline(ctx context.Context, orgUID, registryUID string) ([]HealthPeriod, error) {
	return rows.All(ctx, tx.db, scanPeriod, sqlTimeline, orgUID, registryUID, math.MaxInt64, maxHealthPeriods)
}

func scanPeriod(row rows.Scanner, r *HealthPeriod) error {
	v := &r.Result
	return row.Scan(&r.Run, rows.Moment(&r.Since), rows.Moment(&r.LastAt), &r.Checks, rows.Truth(&r.Counted),
		rows.Truth(&v.Valid), &v.Code, &v.Stage, &v.Reason,
		&v.Field, rows.Truth(&v.CertificateExpiresSoon), rows.Truth(&v.CredentialsExpireSoon),
		rows.Moment(&v.CertificateNotAfter), rows.Moment(&v.CredentialsNotAfter), &r.Report)
}

// Spread reschedules at most limit registries that were due before overdue within one interval from now, and returns how
// many: after an outage the missed checks do not run all at once.
func (tx Watch) Spread(ctx context.Context, now time.Time, interval time.Duration, overdue time.Time, limit int) (int64, error) {
	return tx.db.Change(ctx, tx.db.Either(sqliteSpreadWatch, postgresSpreadWatch), rows.Millis(now), interval.Milliseconds(),
		rows.Millis(overdue), limit)
}

// Count counts the registries that were due at that moment, up to atMost.
func (tx Watch) Count(ctx context.Context, due time.Time, atMost int) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount, sqlCountWatch, rows.Millis(due), atMost)
}

// CountAhead counts the registries that are due only after that moment, up to atMost.
func (tx Watch) CountAhead(ctx context.Context, beyond time.Time, atMost int) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount, sqlCountWatchAhead, rows.Millis(beyond), atMost)
}

// RequestCheck makes a registry due at that moment, or earlier if it is, and returns the number of the request. A running check continues.
func (tx Watch) RequestCheck(ctx context.Context, orgUID, uid string, at, now time.Time, lease time.Duration) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount, sqlRequestCheck, orgUID, uid, rows.Millis(at), lease.Milliseconds(), rows.Millis(now))
}

// CheckRequest returns the state of a registry's newest request. It is completed when Completed has reached its number.
func (tx Watch) CheckRequest(ctx context.Context, orgUID, registryUID string) (CheckRequest, error) {
	return rows.One(ctx, tx.db, func(row rows.Scanner, c *CheckRequest) error {
		return row.Scan(&c.Completed, rows.Text(&c.LeaseOwner), rows.Moment(&c.NextAt), &c.State.Code, &c.State.Field, &c.Report)
	}, sqlCheckRequest, orgUID, registryUID)
}

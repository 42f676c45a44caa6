package store

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/internal/audit"
)

const maxAuditText = 256 // bytes; a validation's endpoint may be longer and is cut

const (
	auditColumns = `uid, at, org_uid, actor_uid, actor_name, means, action, object, outcome, reason, request_id, address, report`

	sqlAppendAudit   = `INSERT INTO audits (` + auditColumns + `, target) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
	sqlCompleteAudit = `UPDATE audits SET outcome = $2, reason = $3, report = $4 WHERE uid = $1 AND outcome = 'started'`
	// A partition knows whether a uid is unique, the table does not. Those that share a uid are in one partition: they have the same hour.
	sqlRepeatAudit = `UPDATE audits SET repeats = repeats + $2 WHERE uid = $1 AND at >= $3 AND at < $4`
	sqlShareAudit  = `INSERT INTO audits (` + auditColumns + `, target)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
		WHERE NOT EXISTS (SELECT 1 FROM audits WHERE uid = $1 AND at >= $15 AND at < $16) ON CONFLICT DO NOTHING`
	sqlAudit = `SELECT ` + auditColumns + auditRepeats + ` FROM audits WHERE uid = $1`

	// A session counts its newest refreshes itself.
	auditRepeats = `, repeats + CASE WHEN action = 'auth.refresh'
		THEN COALESCE((SELECT refreshes FROM sessions WHERE sessions.uid = audits.object AND refresh_uid = audits.uid), 0) ELSE 0 END, target`
	sqlAddRepeatsOfOrg  = `UPDATE audits SET repeats = repeats + s.refreshes FROM sessions s WHERE s.org_uid = $1 AND s.refreshes > 0 AND audits.uid = s.refresh_uid`
	sqlAddRepeatsOfUser = `UPDATE audits SET repeats = repeats + s.refreshes FROM sessions s
		WHERE s.org_uid = $1 AND s.user_uid = $2 AND s.refreshes > 0 AND audits.uid = s.refresh_uid`

	// A list leaves the reports out, which are long. The filters that every list has; an empty one selects
	// all. Which index is used depends on the records that a list covers, so there is a text for each.
	auditList   = `SELECT uid, at, org_uid, actor_uid, actor_name, means, action, object, outcome, reason, request_id, address, NULL` + auditRepeats + ` FROM audits`
	auditFilter = ` at >= $2 AND (at, uid) < ($3, $4) AND ($5 = '' OR object = $5) AND ($6 = '' OR outcome = $6) AND ($7 = '' OR $7 LIKE '%,' || action || ',%')`
	auditOrder  = ` ORDER BY at DESC, uid DESC LIMIT $8`
	ofAll       = ` WHERE $1 = '' AND $9 = '' AND`
	ofOrg       = ` WHERE org_uid = $1 AND $9 = '' AND`
	ofActor     = ` WHERE org_uid = $1 AND actor_uid = $9 AND`

	// The conditions are those of the index audits_registry_changes.
	ofRegistries = ` WHERE org_uid = $1 AND ($9 = '' OR actor_uid = $9) AND action IN ('registry.create', 'registry.update', 'registry.delete', 'registry.watch')
		AND outcome IN ('succeeded', 'valid', 'notValid') AND`

	sqlDeleteAudits = `DELETE FROM audits WHERE uid IN (SELECT uid FROM audits WHERE at < $1 LIMIT $2)`

	sqlAudits          = auditList + ofAll + auditFilter + auditOrder
	sqlAuditsOfOrg     = auditList + ofOrg + auditFilter + auditOrder
	sqlAuditsOfActor   = auditList + ofActor + auditFilter + auditOrder
	sqlRegistryChanges = auditList + ofRegistries + auditFilter + auditOrder
	sqlCountAudits     = `SELECT COUNT(*) FROM (SELECT 1 FROM audits` + ofAll + auditFilter + ` LIMIT $8) AS counted`
	sqlCountOfOrg      = `SELECT COUNT(*) FROM (SELECT 1 FROM audits` + ofOrg + auditFilter + ` LIMIT $8) AS counted`
	sqlCountOfActor    = `SELECT COUNT(*) FROM (SELECT 1 FROM audits` + ofActor + auditFilter + ` LIMIT $8) AS counted`
)

// AuditFilter selects records of a list. A zero field selects all.
type AuditFilter struct {
	OrgUID, ActorUID string // requires OrgUID
	Object           string
	Outcome          audit.Outcome
	Actions          []audit.Action // any of them
	From, Until      time.Time      // at or after From, before Until
	BeforeUID        string         // of the records at Until itself, those before this uid too: where a page ended
}

func (f AuditFilter) args(limit int) []any {
	until, actions := int64(math.MaxInt64), ""
	if !f.Until.IsZero() {
		until = f.Until.UnixMilli()
	}
	for _, action := range f.Actions {
		actions += "," + string(action)
	}
	if actions != "" {
		actions += ","
	}
	from := int64(math.MinInt64)
	if !f.From.IsZero() {
		from = f.From.UnixMilli()
	}
	return []any{f.OrgUID, from, until, f.BeforeUID, f.Object, string(f.Outcome), actions, limit, f.ActorUID}
}

// text returns the query that reads the fewest records.
func (f AuditFilter) text(all, ofOrg, ofActor string) string {
	switch {
	case f.ActorUID != "":
		return ofActor
	case f.OrgUID != "":
		return ofOrg
	}
	return all
}

// Audits reads and changes audit records.
type Audits struct{ *conn }

// Append adds a record, in the transaction of the change that it is about. Only the commit may
// report its failure. One that shares a record (audit.Record.Window) gets the uid of audit.SharedUID, and is counted by the record of that
// uid if there is one.
func (tx Audits) Append(ctx context.Context, record audit.Record) error {
	if record.Window() > 0 {
		record.UID = audit.SharedUID(record)
	}
	record = asStored(record)
	if err := tx.noteUnlinked(ctx, record); err != nil {
		return err
	}
	values := []any{record.UID, millis(record.At), orNull(record.OrgUID), orNull(record.ActorUID), record.ActorName,
		string(record.Method), string(record.Action), record.Object, string(record.Outcome), record.Reason,
		record.Origin.RequestID, record.Origin.Address, record.Report, orNull(record.Target)}
	if record.Window() == 0 {
		return tx.insert(ctx, sqlAppendAudit, values...)
	}
	return errors.Join(tx.addRepeats(ctx, record.UID, 1), tx.insert(ctx, sqlShareAudit, append(values, sharedTime(record.UID)...)...))
}

// AddRepeats adds the refreshes that a session counted to their record.
func (tx Audits) AddRepeats(ctx context.Context, s Session) error {
	if s.Refreshes == 0 {
		return nil
	}
	return tx.addRepeats(ctx, s.RefreshUID, s.Refreshes)
}

// addRepeatsOf adds the refreshes that sessions counted to their records, since the sessions are deleted next. They are locked first, as by a
// refresh; on SQLite nothing else writes.
func (tx *conn) addRepeatsOf(ctx context.Context, lock, add string, args ...any) error {
	if tx.postgres {
		if err := tx.insert(ctx, lock, args...); err != nil {
			return err
		}
	}
	return tx.insert(ctx, add, args...)
}

func (tx Audits) addRepeats(ctx context.Context, uid string, n int64) error {
	return tx.insert(ctx, sqlRepeatAudit, append([]any{uid, n}, sharedTime(uid)...)...)
}

// sharedTime returns the bounds of the time of a record with a shared uid, as arguments.
func sharedTime(uid string) []any {
	from, until := audit.SharedTime(uid)
	return []any{from.UnixMilli(), until.UnixMilli()}
}

// asStored returns a record with its texts and its time as the database has them.
func asStored(record audit.Record) audit.Record {
	for _, claimed := range []*string{&record.ActorName, &record.Object, &record.Reason, &record.Origin.RequestID, &record.Origin.Address} {
		*claimed = recordText(*claimed)
	}
	record.At = record.At.Truncate(time.Millisecond)
	return record
}

// Complete gives a started record its outcome, once: a second call is ErrNotFound.
func (tx Audits) Complete(ctx context.Context, uid string, outcome audit.Outcome, reason string, report []byte) error {
	if err := tx.changeOne(ctx, sqlCompleteAudit, uid, string(outcome), recordText(reason), report); err != nil {
		return err
	}
	return tx.q.ExecDeferred(ctx, sqlReadyAudit, []any{uid, unfinishedAfter.Milliseconds()})
}

// Get looks a record up in any organization.
func (tx Audits) Get(ctx context.Context, uid string) (audit.Record, error) {
	return one(ctx, tx.conn, scanAudit, sqlAudit, uid)
}

// List lists records without their reports, the newest first.
func (tx Audits) List(ctx context.Context, f AuditFilter, limit int) ([]audit.Record, error) {
	return all(ctx, tx.conn, scanAudit, f.text(sqlAudits, sqlAuditsOfOrg, sqlAuditsOfActor), f.args(limit)...)
}

// RegistryChanges is List for changes of registries and of their health. Refused and failed changes are left out.
func (tx Audits) RegistryChanges(ctx context.Context, f AuditFilter, limit int) ([]audit.Record, error) {
	return all(ctx, tx.conn, scanAudit, sqlRegistryChanges, f.args(limit)...)
}

// Count counts records, up to atMost: counting all of a large table is slow.
func (tx Audits) Count(ctx context.Context, f AuditFilter, atMost int) (int64, error) {
	return one(ctx, tx.conn, scanCount,
		f.text(sqlCountAudits, sqlCountOfOrg, sqlCountOfActor), f.args(atMost)...)
}

// DeleteBefore deletes at most limit audit records from before a moment, and returns how many.
func (tx Audits) DeleteBefore(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.change(ctx, sqlDeleteAudits, millis(before), limit)
}

func scanAudit(row scanner, record *audit.Record) error {
	return row.Scan(&record.UID, moment{&record.At}, text{&record.OrgUID}, text{&record.ActorUID}, &record.ActorName, &record.Method, &record.Action, &record.Object,
		&record.Outcome, &record.Reason, &record.Origin.RequestID, &record.Origin.Address, &record.Report, &record.Repeats, text{&record.Target})
}

// recordText returns text from outside for a record that is shown as one line: valid UTF-8, bounded, and
// without control or format characters (line breaks, escapes, bidi overrides).
func recordText(claimed string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(claimed, "\uFFFD"))
	return cutText(clean, maxAuditText)
}

// cutText returns at most limit bytes of valid UTF-8, and holds none of the rest in memory.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.Clone(text[:limit])
}

// Package audits stores audit records, and their chain.
package audits

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/seal"
)

const maxAuditText = 256 // bytes; a validation's endpoint may be longer and is cut

const (
	auditColumns = `uid, at, org_uid, actor_uid, actor_name, means, action, object, outcome, reason, request_id, address, report`

	sqlAppendAudit = `INSERT INTO audits (` + auditColumns + `, target) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
		$14)`
	sqlCompleteAudit = `UPDATE audits SET outcome = $2, reason = $3, report = $4 WHERE uid = $1 AND outcome = 'started'`
	// A partition knows whether a uid is unique, the table does not. Those that share a uid are in one partition: they have the same hour.
	sqlRepeatAudit = `UPDATE audits SET repeats = repeats + $2 WHERE uid = $1 AND at >= $3 AND at < $4`
	sqlShareAudit  = `INSERT INTO audits (` + auditColumns + `, target)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
		WHERE NOT EXISTS (SELECT 1 FROM audits WHERE uid = $1 AND at >= $15 AND at < $16) ON CONFLICT DO NOTHING`
	sqlAudit = `SELECT ` + auditColumns + auditRepeats + ` FROM audits WHERE uid = $1`

	// A session counts its newest refreshes itself.
	auditRepeats = `, repeats + CASE WHEN action = 'auth.refresh'
		THEN COALESCE((SELECT refreshes FROM sessions WHERE sessions.uid = audits.object AND refresh_uid = audits.uid), 0)
		ELSE 0 END, target`

	// A list leaves the reports out, which are long. The filters that every list has; an empty one selects
	// all. Which index is used depends on the records that a list covers, so there is a text for each.
	auditList = `SELECT uid, at, org_uid, actor_uid, actor_name, means, action, object, outcome, reason, request_id, address, NULL` +
		auditRepeats + ` FROM audits`
	auditFilter = ` at >= $2 AND (at, uid) < ($3, $4) AND ($5 = '' OR object = $5) AND ($6 = '' OR outcome = $6) AND ($7 = ''
		OR $7 LIKE '%,' || action || ',%')`
	auditOrder = ` ORDER BY at DESC, uid DESC LIMIT $8`
	ofAll      = ` WHERE $1 = '' AND $9 = '' AND`
	ofOrg      = ` WHERE org_uid = $1 AND $9 = '' AND`
	ofActor    = ` WHERE org_uid = $1 AND actor_uid = $9 AND`

	// The conditions are those of the index audits_registry_changes.
	ofRegistries = ` WHERE org_uid = $1 AND ($9 = '' OR actor_uid = $9) AND action IN ('registry.create', 'registry.update',
		'registry.delete', 'registry.watch') AND outcome IN ('succeeded', 'valid', 'notValid', 'unknown') AND`

	sqlDeleteAudits = `DELETE FROM audits WHERE uid IN (SELECT uid FROM audits WHERE at < $1 LIMIT $2)`

	sqlAudits          = auditList + ofAll + auditFilter + auditOrder
	sqlAuditsOfOrg     = auditList + ofOrg + auditFilter + auditOrder
	sqlAuditsOfActor   = auditList + ofActor + auditFilter + auditOrder
	sqlRegistryChanges = auditList + ofRegistries + auditFilter + auditOrder
	sqlCountAudits     = `SELECT COUNT(*) FROM (SELECT 1 FROM audits` + ofAll + auditFilter + ` LIMIT $8) AS counted`
	sqlCountOfOrg      = `SELECT COUNT(*) FROM (SELECT 1 FROM audits` + ofOrg + auditFilter + ` LIMIT $8) AS counted`
	sqlCountOfActor    = `SELECT COUNT(*) FROM (SELECT 1 FROM audits` + ofActor + auditFilter + ` LIMIT $8) AS counted`
)

// Filter selects records of a list. A zero field selects all.
type Filter struct {
	OrgUID, ActorUID string // requires OrgUID
	Object           string
	Outcome          audit.Outcome
	Actions          []audit.Action // any of them
	From, Until      time.Time      // at or after From, before Until
	BeforeUID        string         // of the records at Until itself, those before this uid too: where a page ended
}

func (f Filter) args(limit int) []any {
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
func (f Filter) text(all, ofOrg, ofActor string) string {
	switch {
	case f.ActorUID != "":
		return ofActor
	case f.OrgUID != "":
		return ofOrg
	}
	return all
}

// Records reads and changes audit records.
type Records struct {
	db   *rows.Conn
	ring *seal.Keyring
}

// In returns the records in the view of a transaction. The keyring authenticates their chain.
func In(db *rows.Conn, ring *seal.Keyring) Records { return Records{db, ring} }

// Append adds a record, in the transaction of the change that it is about. Only the commit may
// report its failure. One that shares a record (audit.Record.Window) gets the uid of audit.SharedUID, and is counted by the record of that
// uid if there is one.
func (tx Records) Append(ctx context.Context, record audit.Record) error {
	if record.Window() > 0 {
		record.UID = audit.SharedUID(record)
	}
	record = asStored(record)
	if err := tx.noteUnlinked(ctx, record); err != nil {
		return err
	}
	values := []any{record.UID, rows.Millis(record.At), rows.OrNull(record.OrgUID), rows.OrNull(record.ActorUID), record.ActorName,
		string(record.Method), string(record.Action), record.Object, string(record.Outcome), record.Reason,
		record.Origin.RequestID, record.Origin.Address, record.Report, rows.OrNull(record.Target)}
	if record.Window() == 0 {
		return tx.db.Insert(ctx, sqlAppendAudit, values...)
	}
	return errors.Join(tx.addRepeats(ctx, record.UID, 1), tx.db.Insert(ctx, sqlShareAudit, append(values, sharedTime(record.UID)...)...))
}

// AddRepeats adds refreshes that a session counted to their record.
func (tx Records) AddRepeats(ctx context.Context, refreshUID string, refreshes int64) error {
	if refreshes == 0 {
		return nil
	}
	return tx.addRepeats(ctx, refreshUID, refreshes)
}

func (tx Records) addRepeats(ctx context.Context, uid string, n int64) error {
	return tx.db.Insert(ctx, sqlRepeatAudit, append([]any{uid, n}, sharedTime(uid)...)...)
}

// sharedTime returns the bounds of the time of a record with a shared uid, as arguments.
func sharedTime(uid string) []any {
	from, until := audit.SharedTime(uid)
	return []any{from.UnixMilli(), until.UnixMilli()}
}

// asStored returns a record with its texts and its time as the database has them.
func asStored(record audit.Record) audit.Record {
	for _, claimed := range []*string{&record.ActorName, &record.Object, &record.Target, &record.Reason,
		&record.Origin.RequestID, &record.Origin.Address} {
		*claimed = recordText(*claimed)
	}
	record.At = record.At.Truncate(time.Millisecond)
	return record
}

// Complete gives a started record its outcome, once: a second call is sqldb.ErrNotFound.
func (tx Records) Complete(ctx context.Context, uid string, outcome audit.Outcome, reason string, report []byte) error {
	if err := tx.db.ChangeOne(ctx, sqlCompleteAudit, uid, string(outcome), recordText(reason), report); err != nil {
		return err
	}
	return tx.db.Insert(ctx, sqlReadyAudit, uid, unfinishedAfter.Milliseconds())
}

// Get looks a record up in any organization.
func (tx Records) Get(ctx context.Context, uid string) (audit.Record, error) {
	return rows.One(ctx, tx.db, scanAudit, sqlAudit, uid)
}

// List lists records without their reports, the newest first.
func (tx Records) List(ctx context.Context, f Filter, limit int) ([]audit.Record, error) {
	return rows.All(ctx, tx.db, scanAudit, f.text(sqlAudits, sqlAuditsOfOrg, sqlAuditsOfActor), f.args(limit)...)
}

// RegistryChanges is List for changes of registries and of their health. Refused and failed changes are left out.
func (tx Records) RegistryChanges(ctx context.Context, f Filter, limit int) ([]audit.Record, error) {
	return rows.All(ctx, tx.db, scanAudit, sqlRegistryChanges, f.args(limit)...)
}

// Count counts records, up to atMost: counting all of a large table is slow.
func (tx Records) Count(ctx context.Context, f Filter, atMost int) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount,
		f.text(sqlCountAudits, sqlCountOfOrg, sqlCountOfActor), f.args(atMost)...)
}

// DeleteBefore deletes at most limit audit records from before a moment, and returns how many.
func (tx Records) DeleteBefore(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.db.Change(ctx, sqlDeleteAudits, rows.Millis(before), limit)
}

func scanAudit(row rows.Scanner, record *audit.Record) error {
	return row.Scan(&record.UID, rows.Moment(&record.At), rows.Text(&record.OrgUID), rows.Text(&record.ActorUID), &record.ActorName,
		&record.Method,
		&record.Action, &record.Object, &record.Outcome, &record.Reason, &record.Origin.RequestID, &record.Origin.Address, &record.Report,
		&record.Repeats, rows.Text(&record.Target))
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
	return rows.CutText(clean, maxAuditText)
}

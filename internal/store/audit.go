package store

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/regwarden/regwarden/internal/audit"
)

const maxAuditText = 256 // bytes; a validation's endpoint may be longer and is cut

const (
	auditColumns = `uid, at, org_uid, actor_uid, actor_name, means, action, object, outcome, reason, request_id, address, report`

	sqlAppendAudit   = `INSERT INTO audits (` + auditColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`
	sqlCompleteAudit = `UPDATE audits SET outcome = $2, reason = $3, report = $4 WHERE uid = $1 AND outcome = 'started'`
	sqlAudit         = `SELECT ` + auditColumns + ` FROM audits WHERE uid = $1`
	sqlAuditsOfOrg   = `SELECT ` + auditColumns + ` FROM audits WHERE org_uid = $1 ORDER BY at DESC, uid DESC LIMIT $2`
	sqlAuditsNewest  = `SELECT ` + auditColumns + ` FROM audits ORDER BY at DESC LIMIT $1`
)

// AppendAudit adds a record. It belongs in the transaction of the change that it tells of.
func (tx *Tx) AppendAudit(ctx context.Context, e audit.Event) error {
	return tx.changeOne(ctx, sqlAppendAudit, e.UID, millis(e.At), orNull(e.OrgUID), orNull(e.ActorUID), recordText(e.ActorName),
		e.Means, string(e.Action), recordText(e.Object), string(e.Outcome), recordText(e.Reason),
		recordText(e.Origin.RequestID), recordText(e.Origin.Address), e.Report)
}

// CompleteAudit gives a started record its outcome, once: a second call is ErrNotFound.
func (tx *Tx) CompleteAudit(ctx context.Context, uid string, outcome audit.Outcome, reason string, report []byte) error {
	return tx.changeOne(ctx, sqlCompleteAudit, uid, string(outcome), recordText(reason), report)
}

// Audit looks one record up, of whatever organization.
func (tx *Tx) Audit(ctx context.Context, uid string) (audit.Event, error) {
	return one(ctx, tx, scanAudit, sqlAudit, uid)
}

// AuditsOfOrg lists an organization's newest records, the newest first.
func (tx *Tx) AuditsOfOrg(ctx context.Context, orgUID string, limit int) ([]audit.Event, error) {
	return all(ctx, tx, scanAudit, sqlAuditsOfOrg, orgUID, limit)
}

// AuditsNewest lists the newest records of all organizations and of none, the newest first.
func (tx *Tx) AuditsNewest(ctx context.Context, limit int) ([]audit.Event, error) {
	return all(ctx, tx, scanAudit, sqlAuditsNewest, limit)
}

func scanAudit(row scanner, e *audit.Event) error {
	return row.Scan(&e.UID, moment{&e.At}, text{&e.OrgUID}, text{&e.ActorUID}, &e.ActorName, &e.Means, &e.Action, &e.Object,
		&e.Outcome, &e.Reason, &e.Origin.RequestID, &e.Origin.Address, &e.Report)
}

// recordText makes claimed text fit for a record that is shown as one line: valid UTF-8, bounded, and
// without control or format characters (line breaks, escapes, bidi overrides).
func recordText(claimed string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(claimed, "\uFFFD"))
	if len(clean) <= maxAuditText {
		return clean
	}
	end := maxAuditText
	for !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end]
}

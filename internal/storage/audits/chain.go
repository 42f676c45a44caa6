package audits

import (
	"cmp"
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/auditbatch"
	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
)

const (
	// refusalSettled is when a refusal is linked: after the minute in which others are counted by its record, and one more for servers
	// whose clocks differ.
	refusalSettled = 2 * time.Minute
	// unfinishedAfter is when a record that is still started is linked. It is of a process that crashed: nothing takes that long.
	unfinishedAfter = 24 * time.Hour

	// Purposes of the keyed hashes, which are part of what is stored.
	recordPurpose, batchPurpose, chainPurpose = "audit record", "audit batch", "audit chain"

	sqlNoteUnlinked = `INSERT INTO audit_unlinked (uid, ready_at, mac) VALUES ($1, $2, $3)`
	// What is counted by an older record was linked with it.
	sqlNoteUnlinkedShared = `INSERT INTO audit_unlinked (uid, ready_at, mac)
		SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT 1 FROM audits WHERE uid = $1 AND at >= $4 AND at < $5) ON CONFLICT (uid) DO NOTHING`

	sqlReadyAudit  = `UPDATE audit_unlinked SET ready_at = ready_at - $2 WHERE uid = $1`
	sqlReadyAudits = `SELECT a.uid, a.at, a.org_uid, a.actor_uid, a.actor_name, a.means, a.action, a.object, a.outcome, a.reason,
		a.request_id, a.address, a.report, a.repeats, a.target, u.mac
		FROM audit_unlinked u JOIN audits a ON a.uid = u.uid AND a.at >= u.ready_at - 86400000 AND a.at <= u.ready_at
		WHERE u.ready_at <= $1 AND u.uid > $2 ORDER BY u.uid LIMIT $3`
	sqlUnlinked     = `SELECT mac FROM audit_unlinked WHERE uid = $1`
	sqlLostUnlinked = `SELECT uid, ready_at FROM audit_unlinked u
		WHERE NOT EXISTS (SELECT 1 FROM audits a WHERE a.uid = u.uid) ORDER BY uid LIMIT $1`
	sqlFirstUnlinked  = `SELECT MIN(ready_at) FROM audit_unlinked WHERE ready_at <= $1`
	sqlDeleteUnlinked = `DELETE FROM audit_unlinked WHERE uid = $1`
	sqlSweepUnlinked  = `DELETE FROM audit_unlinked
		WHERE ready_at < $1 AND NOT EXISTS (SELECT 1 FROM audits a WHERE a.uid = audit_unlinked.uid)`
	sqlAuditsInOrder = `SELECT ` + auditColumns + auditRepeats + ` FROM audits WHERE (at, uid) > ($1, $2) ORDER BY at, uid LIMIT $3`
	sqlNewestBefore  = `SELECT MAX(at) FROM audits WHERE at < $1`
	sqlAnyUnchained  = `SELECT uid FROM audits a WHERE NOT EXISTS (SELECT 1 FROM audit_unlinked u WHERE u.uid = a.uid) LIMIT 1`

	batchColumns       = `number, org_uid, linked_at, entries, previous, org_previous, hash`
	sqlInsertBatch     = `INSERT INTO audit_batches (` + batchColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	sqlBatches         = `SELECT ` + batchColumns + ` FROM audit_batches WHERE number > $1 ORDER BY number LIMIT $2`
	sqlNewestBatch     = `SELECT ` + batchColumns + ` FROM audit_batches ORDER BY number DESC LIMIT 1`
	sqlNewestBatchOf   = `SELECT ` + batchColumns + ` FROM audit_batches WHERE org_uid = $1 ORDER BY number DESC LIMIT 1`
	sqlDeleteBatches   = `DELETE FROM audit_batches WHERE number <= $1`
	sqlAuditChain      = `SELECT began_at, swept_before, swept_batches, mac FROM audit_chain WHERE id = 1`
	sqlBeginAuditChain = `INSERT INTO audit_chain (id, began_at, swept_before, swept_batches, mac)
		VALUES (1, $1, $2, $3, $4) ON CONFLICT DO NOTHING`
	sqlLockAuditChain = `UPDATE audit_chain SET id = id WHERE id = 1`
	sqlSetAuditChain  = `UPDATE audit_chain SET began_at = $1, swept_before = $2, swept_batches = $3, mac = $4 WHERE id = 1`
)

// ErrChainChanged is returned if the row of the audit chain is missing, or was not written by this service.
var ErrChainChanged = errors.New("the row of the audit chain was deleted or changed")

// Chain is what is known of the chain as a whole.
type Chain struct {
	BeganAt      time.Time // every record since is in the chain, or is not linked yet
	SweptBefore  time.Time // older records may have been deleted by the retention time
	SweptBatches int64     // so have the batches up to this number
}

// Ready is a record that changes no more and is not linked yet.
type Ready struct {
	Record  audit.Record
	MAC     auditbatch.MAC
	Written bool // it is the record that the service wrote
}

// MAC returns the keyed hash of a stored record.
func (tx Records) MAC(r audit.Record) auditbatch.MAC {
	return auditbatch.MAC(tx.ring.MAC(recordPurpose, auditbatch.RecordText(r))[:len(auditbatch.MAC{})])
}

// noteUnlinked makes a new record wait for the chain.
func (tx Records) noteUnlinked(ctx context.Context, r audit.Record) error {
	ready, mac := r.At, tx.MAC(r)
	switch r.Outcome {
	case audit.Refused:
		ready = r.At.Add(refusalSettled)
	case audit.Started:
		ready = r.At.Add(unfinishedAfter)
	default: // it does not change any more
	}
	values := []any{r.UID, rows.Millis(ready), mac[:]}
	if r.Window() > 0 {
		return tx.db.Insert(ctx, sqlNoteUnlinkedShared, append(values, sharedTime(r.UID)...)...)
	}
	return tx.db.Insert(ctx, sqlNoteUnlinked, values...)
}

// written reports whether mac is that of the record when it was written. Only a started record was completed since.
func (tx Records) written(r audit.Record, mac []byte) bool {
	if now := tx.MAC(r); hmac.Equal(now[:], mac) {
		return true
	}
	r.Outcome, r.Reason, r.Report = audit.Started, "", nil
	then := tx.MAC(r)
	return hmac.Equal(then[:], mac)
}

// Ready lists at most limit records that can be linked, by uid.
func (tx Records) Ready(ctx context.Context, now time.Time, after string, limit int) ([]Ready, error) {
	return rows.All(ctx, tx.db, func(row rows.Scanner, ready *Ready) error {
		var mac []byte
		err := scanAudit(withLast{row, &mac}, &ready.Record)
		uid, notUUID := uuid.Parse(ready.Record.UID)
		ready.MAC = tx.MAC(ready.Record)
		ready.Written = notUUID == nil && uid.String() == ready.Record.UID && tx.written(ready.Record, mac)
		return err
	}, sqlReadyAudits, rows.Millis(now), after, limit)
}

// withLast is a row with one more column than its reader knows.
type withLast struct {
	rows.Scanner
	last any
}

func (w withLast) Scan(dest ...any) error { return w.Scanner.Scan(append(dest, w.last)...) }

// Unlinked returns whether a record waits to be linked, and whether it is as it was written.
func (tx Records) Unlinked(ctx context.Context, r audit.Record) (waits, written bool, err error) {
	mac, err := rows.One(ctx, tx.db, func(row rows.Scanner, mac *[]byte) error { return row.Scan(mac) }, sqlUnlinked, r.UID)
	if errors.Is(err, sqldb.ErrNotFound) {
		return false, false, nil
	}
	return err == nil, tx.written(r, mac), err
}

// LostUnlinked lists at most limit records that wait to be linked, but do not exist; only their uid and time are known.
func (tx Records) LostUnlinked(ctx context.Context, limit int) ([]auditbatch.Entry, error) {
	return rows.All(ctx, tx.db, func(row rows.Scanner, e *auditbatch.Entry) error {
		return row.Scan(&e.UID, rows.Moment(&e.At))
	}, sqlLostUnlinked, limit)
}

// FirstUnlinked returns since when the oldest record that could be linked waits, the zero time if none does.
func (tx Records) FirstUnlinked(ctx context.Context, now time.Time) (time.Time, error) {
	return rows.One(ctx, tx.db, rows.ScanMoment, sqlFirstUnlinked, rows.Millis(now))
}

// OldestFirst lists at most limit records with their reports, those after one of that time and uid.
func (tx Records) OldestFirst(ctx context.Context, at time.Time, uid string, limit int) ([]audit.Record, error) {
	return rows.All(ctx, tx.db, scanAudit, sqlAuditsInOrder, at.UnixMilli(), uid, limit)
}

// Chain returns the row of the chain: sqldb.ErrNotFound if none has begun, ErrChainChanged if it is not what the service wrote.
func (tx Records) Chain(ctx context.Context) (Chain, error) {
	var mac []byte
	chain, err := rows.One(ctx, tx.db, func(row rows.Scanner, c *Chain) error {
		return row.Scan(rows.Moment(&c.BeganAt), rows.Moment(&c.SweptBefore), &c.SweptBatches, &mac)
	}, sqlAuditChain)
	if err == nil && !hmac.Equal(mac, tx.chainMAC(chain)) {
		err = ErrChainChanged
	}
	return chain, err
}

func (c Chain) args() []any {
	return []any{c.BeganAt.UnixMilli(), c.SweptBefore.UnixMilli(), c.SweptBatches}
}

func (tx Records) chainMAC(c Chain) []byte {
	return tx.ring.MAC(chainPurpose, fmt.Append(nil, c.args()...))
}

// BeginChain begins the chain unless it has begun. If there are records from before it, servers of the former version may still be
// writing, so that records of the next while need not be in the chain either.
func (tx Records) BeginChain(ctx context.Context, now time.Time, while time.Duration) error {
	_, noBatch := tx.NewestBatch(ctx) // first: another server may begin the chain, then append a batch
	if _, err := tx.Chain(ctx); !errors.Is(err, sqldb.ErrNotFound) {
		return err
	}
	if !errors.Is(noBatch, sqldb.ErrNotFound) {
		return cmp.Or(noBatch, ErrChainChanged)
	}
	chain := Chain{BeganAt: time.UnixMilli(0), SweptBefore: time.UnixMilli(0)}
	_, err := rows.One(ctx, tx.db, rows.ScanText, sqlAnyUnchained)
	if err == nil {
		chain.BeganAt = now.Add(while)
	} else if !errors.Is(err, sqldb.ErrNotFound) {
		return err
	}
	return tx.db.ChangeAny(ctx, sqlBeginAuditChain, append(chain.args(), tx.chainMAC(chain))...)
}

// NewestBatch returns the newest batch.
func (tx Records) NewestBatch(ctx context.Context) (auditbatch.Batch, error) {
	return rows.One(ctx, tx.db, tx.scanBatch, sqlNewestBatch)
}

// NewestBatchOf is NewestBatch for an organization.
func (tx Records) NewestBatchOf(ctx context.Context, orgUID string) (auditbatch.Batch, error) {
	return rows.One(ctx, tx.db, tx.scanBatch, sqlNewestBatchOf, orgUID)
}

// Batches lists at most limit batches after that number.
func (tx Records) Batches(ctx context.Context, after int64, limit int) ([]auditbatch.Batch, error) {
	return rows.All(ctx, tx.db, tx.scanBatch, sqlBatches, after, limit)
}

// HashOf returns the hash of a batch.
func (tx Records) HashOf(b auditbatch.Batch) []byte { return tx.ring.MAC(batchPurpose, b.Text()) }

// Link appends batches to the chain, whose records wait no more. When another server was first, it is ErrExists.
func (tx Records) Link(ctx context.Context, batches []auditbatch.Batch) error {
	for _, b := range batches {
		err := tx.db.Insert(ctx, sqlInsertBatch, b.Number, b.OrgUID, rows.Millis(b.LinkedAt), auditbatch.Encode(b.Entries),
			b.Previous, b.OrgPrevious, b.Hash)
		for i := 0; i < len(b.Entries) && err == nil; i++ {
			err = tx.db.Insert(ctx, sqlDeleteUnlinked, b.Entries[i].UID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Sweep notes that records from before a moment are being deleted, and deletes batches that have only such records: at most limit, the
// oldest first, and never the newest batch. It reports whether it deleted that many.
func (tx Records) Sweep(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	err = tx.db.ChangeOne(ctx, sqlLockAuditChain)
	if errors.Is(err, sqldb.ErrNotFound) { // no server has begun it
		return false, nil
	}
	var chain Chain
	if err == nil {
		chain, err = tx.Chain(ctx)
	}
	if err != nil {
		return false, err
	}
	before = before.Truncate(time.Millisecond) // as the records' times are stored
	newest, errN := rows.One(ctx, tx.db, rows.ScanMoment, sqlNewestBefore, rows.Millis(before))
	oldest, errB := tx.Batches(ctx, chain.SweptBatches, limit+1)
	if err := errors.Join(errN, errB); err != nil {
		return false, err
	}
	chain.sweep(before, newest)
	for i := 0; i < len(oldest)-1 && oldest[i].LastAt().Before(before); i++ {
		if !oldest[i].Authentic || oldest[i].Number != chain.SweptBatches+1 { // it stays as the trace of an attacker
			break
		}
		chain.SweptBatches++
		more = i == limit-1
	}
	return more, errors.Join(
		tx.db.ChangeAny(ctx, sqlDeleteBatches, chain.SweptBatches),
		tx.db.ChangeAny(ctx, sqlSweepUnlinked, rows.Millis(chain.SweptBefore)),
		tx.db.ChangeOne(ctx, sqlSetAuditChain, append(chain.args(), tx.chainMAC(chain))...))
}

// sweep notes that records from before a moment are deleted, of which newest is the newest. A clock that is years ahead must not hide for
// years what somebody else deletes, so the moment is not later than newest can wait to be linked. It does not go back with the clock, or if
// the retention time is longer than it was.
func (c *Chain) sweep(before, newest time.Time) {
	if latest := newest.Add(unfinishedAfter + time.Millisecond); latest.Before(before) {
		before = latest
	}
	if before.After(c.SweptBefore) {
		c.SweptBefore = before
	}
}

func (tx Records) scanBatch(row rows.Scanner, b *auditbatch.Batch) error {
	var entries []byte
	err := row.Scan(&b.Number, &b.OrgUID, rows.Moment(&b.LinkedAt), &entries, &b.Previous, &b.OrgPrevious, &b.Hash)
	var complete bool
	b.Entries, complete = auditbatch.Decode(entries)
	b.Authentic = complete && hmac.Equal(b.Hash, tx.HashOf(*b))
	return err
}

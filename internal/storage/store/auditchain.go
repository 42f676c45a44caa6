package store

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
)

const (
	// refusalSettled is when a refusal is linked: after the minute in which others are counted by its record, and one more for servers
	// whose clocks differ.
	refusalSettled = 2 * time.Minute
	// unfinishedAfter is when a record that is still started is linked. It is of a process that crashed: nothing takes that long.
	unfinishedAfter = 24 * time.Hour

	entrySize = 16 + 8 + 8 + macSize
	macSize   = 16

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

// AuditMAC is a keyed hash of an audit record without its repeats, which count up.
type AuditMAC [macSize]byte

// AuditEntry is a record in a batch of the chain.
type AuditEntry struct {
	UID     string
	At      time.Time
	Repeats int64 // when it was linked
	MAC     AuditMAC
}

// AuditBatch is a part of the chain: records of one organization.
type AuditBatch struct {
	Number                      int64
	OrgUID                      string // empty for records without an organization
	LinkedAt                    time.Time
	Entries                     []AuditEntry
	Previous, OrgPrevious, Hash []byte
	Authentic                   bool // when read: Hash is that of its content
}

// AuditChain is what is known of the chain as a whole.
type AuditChain struct {
	BeganAt      time.Time // every record since is in the chain, or is not linked yet
	SweptBefore  time.Time // older records may have been deleted by the retention time
	SweptBatches int64     // so have the batches up to this number
}

// ReadyAudit is a record that changes no more and is not linked yet.
type ReadyAudit struct {
	Record  audit.Record
	MAC     AuditMAC
	Written bool // it is the record that the service wrote
}

// MAC returns the keyed hash of a stored record.
func (tx Audits) MAC(r audit.Record) AuditMAC {
	text := binary.BigEndian.AppendUint64(nil, uint64(r.At.UnixMilli())) // #nosec G115 -- the same bytes for the same time
	for _, part := range []string{r.UID, r.OrgUID, r.ActorUID, r.ActorName, string(r.Method), string(r.Action), r.Object, r.Target,
		string(r.Outcome), r.Reason, r.Origin.RequestID, r.Origin.Address, string(r.Report)} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	return AuditMAC(tx.ring.MAC(recordPurpose, text)[:macSize])
}

// noteUnlinked makes a new record wait for the chain.
func (tx Audits) noteUnlinked(ctx context.Context, r audit.Record) error {
	ready, mac := r.At, tx.MAC(r)
	switch r.Outcome {
	case audit.Refused:
		ready = r.At.Add(refusalSettled)
	case audit.Started:
		ready = r.At.Add(unfinishedAfter)
	}
	values := []any{r.UID, millis(ready), mac[:]}
	if r.Window() > 0 {
		return tx.insert(ctx, sqlNoteUnlinkedShared, append(values, sharedTime(r.UID)...)...)
	}
	return tx.insert(ctx, sqlNoteUnlinked, values...)
}

// written reports whether mac is that of the record when it was written. Only a started record was completed since.
func (tx Audits) written(r audit.Record, mac []byte) bool {
	if now := tx.MAC(r); hmac.Equal(now[:], mac) {
		return true
	}
	r.Outcome, r.Reason, r.Report = audit.Started, "", nil
	then := tx.MAC(r)
	return hmac.Equal(then[:], mac)
}

// Ready lists at most limit records that can be linked, by uid.
func (tx Audits) Ready(ctx context.Context, now time.Time, after string, limit int) ([]ReadyAudit, error) {
	return all(ctx, tx.conn, func(row scanner, ready *ReadyAudit) error {
		var mac []byte
		err := scanAudit(withLast{row, &mac}, &ready.Record)
		uid, notUUID := uuid.Parse(ready.Record.UID)
		ready.MAC = tx.MAC(ready.Record)
		ready.Written = notUUID == nil && uid.String() == ready.Record.UID && tx.written(ready.Record, mac)
		return err
	}, sqlReadyAudits, millis(now), after, limit)
}

// withLast is a row with one more column than its reader knows.
type withLast struct {
	scanner
	last any
}

func (w withLast) Scan(dest ...any) error { return w.scanner.Scan(append(dest, w.last)...) }

// Unlinked returns whether a record waits to be linked, and whether it is as it was written.
func (tx Audits) Unlinked(ctx context.Context, r audit.Record) (waits, written bool, err error) {
	mac, err := one(ctx, tx.conn, func(row scanner, mac *[]byte) error { return row.Scan(mac) }, sqlUnlinked, r.UID)
	if errors.Is(err, ErrNotFound) {
		return false, false, nil
	}
	return err == nil, tx.written(r, mac), err
}

// LostUnlinked lists at most limit records that wait to be linked, but do not exist; only their uid and time are known.
func (tx Audits) LostUnlinked(ctx context.Context, limit int) ([]AuditEntry, error) {
	return all(ctx, tx.conn, func(row scanner, e *AuditEntry) error { return row.Scan(&e.UID, moment{&e.At}) }, sqlLostUnlinked, limit)
}

// FirstUnlinked returns since when the oldest record that could be linked waits, the zero time if none does.
func (tx Audits) FirstUnlinked(ctx context.Context, now time.Time) (time.Time, error) {
	return one(ctx, tx.conn, scanMoment, sqlFirstUnlinked, millis(now))
}

// OldestFirst lists at most limit records with their reports, those after one of that time and uid.
func (tx Audits) OldestFirst(ctx context.Context, at time.Time, uid string, limit int) ([]audit.Record, error) {
	return all(ctx, tx.conn, scanAudit, sqlAuditsInOrder, at.UnixMilli(), uid, limit)
}

// Chain returns the row of the chain: ErrNotFound if none has begun, ErrChainChanged if it is not what the service wrote.
func (tx Audits) Chain(ctx context.Context) (AuditChain, error) {
	var mac []byte
	chain, err := one(ctx, tx.conn, func(row scanner, c *AuditChain) error {
		return row.Scan(moment{&c.BeganAt}, moment{&c.SweptBefore}, &c.SweptBatches, &mac)
	}, sqlAuditChain)
	if err == nil && !hmac.Equal(mac, tx.chainMAC(chain)) {
		err = ErrChainChanged
	}
	return chain, err
}

func (c AuditChain) args() []any {
	return []any{c.BeganAt.UnixMilli(), c.SweptBefore.UnixMilli(), c.SweptBatches}
}

func (tx Audits) chainMAC(c AuditChain) []byte {
	return tx.ring.MAC(chainPurpose, fmt.Append(nil, c.args()...))
}

// BeginChain begins the chain unless it has begun. If there are records from before it, servers of the former version may still be
// writing, so that records of the next while need not be in the chain either.
func (tx Audits) BeginChain(ctx context.Context, now time.Time, while time.Duration) error {
	_, noBatch := tx.NewestBatch(ctx) // first: another server may begin the chain, then append a batch
	if _, err := tx.Chain(ctx); !errors.Is(err, ErrNotFound) {
		return err
	}
	if !errors.Is(noBatch, ErrNotFound) {
		return cmp.Or(noBatch, ErrChainChanged)
	}
	chain := AuditChain{BeganAt: time.UnixMilli(0), SweptBefore: time.UnixMilli(0)}
	_, err := one(ctx, tx.conn, scanText, sqlAnyUnchained)
	if err == nil {
		chain.BeganAt = now.Add(while)
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	return tx.changeAny(ctx, sqlBeginAuditChain, append(chain.args(), tx.chainMAC(chain))...)
}

// NewestBatch returns the newest batch.
func (tx Audits) NewestBatch(ctx context.Context) (AuditBatch, error) {
	return one(ctx, tx.conn, tx.scanBatch, sqlNewestBatch)
}

// NewestBatchOf is NewestBatch for an organization.
func (tx Audits) NewestBatchOf(ctx context.Context, orgUID string) (AuditBatch, error) {
	return one(ctx, tx.conn, tx.scanBatch, sqlNewestBatchOf, orgUID)
}

// Batches lists at most limit batches after that number.
func (tx Audits) Batches(ctx context.Context, after int64, limit int) ([]AuditBatch, error) {
	return all(ctx, tx.conn, tx.scanBatch, sqlBatches, after, limit)
}

// HashOf returns the hash of a batch.
func (tx Audits) HashOf(b AuditBatch) []byte {
	text := fmt.Appendf(nil, "%d|%q|%d|%x|%x|", b.Number, b.OrgUID, b.LinkedAt.UnixMilli(), b.Previous, b.OrgPrevious)
	return tx.ring.MAC(batchPurpose, append(text, encodeEntries(b.Entries)...))
}

// Link appends batches to the chain, whose records wait no more. When another server was first, it is ErrExists.
func (tx Audits) Link(ctx context.Context, batches []AuditBatch) error {
	for _, b := range batches {
		err := tx.insert(ctx, sqlInsertBatch, b.Number, b.OrgUID, millis(b.LinkedAt), encodeEntries(b.Entries),
			b.Previous, b.OrgPrevious, b.Hash)
		for i := 0; i < len(b.Entries) && err == nil; i++ {
			err = tx.q.ExecDeferred(ctx, sqlDeleteUnlinked, []any{b.Entries[i].UID})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Sweep notes that records from before a moment are being deleted, and deletes batches that have only such records: at most limit, the
// oldest first, and never the newest batch. It reports whether it deleted that many.
func (tx Audits) Sweep(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	err = tx.changeOne(ctx, sqlLockAuditChain)
	if errors.Is(err, ErrNotFound) { // no server has begun it
		return false, nil
	}
	var chain AuditChain
	if err == nil {
		chain, err = tx.Chain(ctx)
	}
	if err != nil {
		return false, err
	}
	before = before.Truncate(time.Millisecond) // as the records' times are stored
	if before.Before(chain.SweptBefore) {      // the clock went back, or the retention time is longer than it was
		before = chain.SweptBefore
	}
	chain.SweptBefore = before
	oldest, err := tx.Batches(ctx, chain.SweptBatches, limit+1)
	if err != nil {
		return false, err
	}
	for i := 0; i < len(oldest)-1 && oldest[i].lastAt().Before(before); i++ {
		if !oldest[i].Authentic || oldest[i].Number != chain.SweptBatches+1 { // it stays as the trace of an attacker
			break
		}
		chain.SweptBatches++
		more = i == limit-1
	}
	return more, errors.Join(
		tx.changeAny(ctx, sqlDeleteBatches, chain.SweptBatches),
		tx.changeAny(ctx, sqlSweepUnlinked, millis(before)),
		tx.changeOne(ctx, sqlSetAuditChain, append(chain.args(), tx.chainMAC(chain))...))
}

func (b AuditBatch) lastAt() (last time.Time) {
	for _, e := range b.Entries {
		if e.At.After(last) {
			last = e.At
		}
	}
	return last
}

func (tx Audits) scanBatch(row scanner, b *AuditBatch) error {
	var entries []byte
	err := row.Scan(&b.Number, &b.OrgUID, moment{&b.LinkedAt}, &entries, &b.Previous, &b.OrgPrevious, &b.Hash)
	b.Entries = decodeEntries(entries)
	b.Authentic = len(entries)%entrySize == 0 && hmac.Equal(b.Hash, tx.HashOf(*b))
	return err
}

// encodeEntries returns the stored form of entries. Each uid is that of a UUID.
func encodeEntries(entries []AuditEntry) []byte {
	out := make([]byte, 0, len(entries)*entrySize)
	for _, e := range entries {
		uid, _ := uuid.Parse(e.UID) // Ready lists no other
		out = append(out, uid[:]...)
		out = binary.BigEndian.AppendUint64(out, uint64(e.At.UnixMilli())) // #nosec G115 -- read back as signed
		out = binary.BigEndian.AppendUint64(out, uint64(e.Repeats))        // #nosec G115 -- as above
		out = append(out, e.MAC[:]...)
	}
	return out
}

func decodeEntries(stored []byte) []AuditEntry {
	entries := make([]AuditEntry, 0, len(stored)/entrySize)
	for ; len(stored) >= entrySize; stored = stored[entrySize:] {
		entries = append(entries, AuditEntry{
			UID:     uuid.UUID(stored[:16]).String(),
			At:      time.UnixMilli(int64(binary.BigEndian.Uint64(stored[16:]))).UTC(), // #nosec G115 -- as it was written
			Repeats: int64(binary.BigEndian.Uint64(stored[24:])),                       // #nosec G115 -- as above
			MAC:     AuditMAC(stored[32:entrySize]),
		})
	}
	return entries
}

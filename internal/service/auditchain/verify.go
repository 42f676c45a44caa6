package auditchain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/storage/auditbatch"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	recordPage = 200
	batchPage  = 20
	lostLimit  = 1000
)

// Kinds of problem.
const (
	RecordChanged = "recordChanged"
	RecordDeleted = "recordDeleted"
	RecordAdded   = "recordAdded" // the service did not write it
	BatchChanged  = "batchChanged"
	BatchDeleted  = "batchDeleted" // before the named one
	ChainChanged  = "chainChanged" // the row that says when the chain began and what the retention time deleted
	NotBegun      = "notBegun"     // no server of a version with a chain was started
	HashNotFound  = "hashNotFound" // the chain does not have the hash that was noted: its end was cut off, or it is another one
)

// Problem is something that does not fit.
type Problem struct {
	Kind      string
	RecordUID string // empty unless it is a record
	OrgUID    string
	At        time.Time // of the record; when the batch was linked
	Batch     int64     // 0 if unknown
}

// Result is what Verify found.
type Result struct {
	Records  int64 // that fit
	Unlinked int64 // that are not linked yet, and are as they were written
	Before   int64 // from before the chain, of which nothing is known
	Orgs     int
	Batches  int64
	BeganAt  time.Time // zero: with the store
	Newest   auditbatch.Batch
	Problems int64
	First    Problem // the oldest
}

// Hex returns a hash as people compare it.
func Hex(hash []byte) string { return hex.EncodeToString(hash) }

type verifier struct {
	db    *store.DB
	chain audits.Chain
	// entries are of the batches that were read, without the records that fit. waiting are records without an entry so far.
	entries map[string]entry
	waiting map[string]seen
	orgs    map[string]link // the newest batch of each
	pending []pendingProblem
	noted   []byte
	found   bool
	Result
}

// link is a batch that another one follows.
type link struct {
	hash   []byte // nil if unknown
	number int64
}

// pendingProblem is a problem unless the retention time has deleted the batches up to a number since they were read.
type pendingProblem struct {
	Problem
	deleted int64
}

// entry is an entry of the chain.
type entry struct {
	auditbatch.Entry
	org   string
	batch int64
}

// seen is a record that was read, without its texts.
type seen struct {
	auditbatch.Entry
	org string
}

func seenOf(records audits.Records, r audit.Record) seen {
	return seen{auditbatch.Entry{UID: r.UID, At: r.At, Repeats: r.Repeats, MAC: records.MAC(r)}, r.OrgUID}
}

// fits reports whether a record is as it was when it was linked. A refusal may count others since.
func (s seen) fits(e entry) bool { return s.MAC == e.MAC && s.Repeats >= e.Repeats }

// Verify compares all records with the chain, while servers may run. Both are read once, in the order of time. noted is a hash that was
// the newest one at some time, or nil: a batch must have it.
func Verify(ctx context.Context, db *store.DB, noted []byte) (Result, error) {
	v := newVerifier(db, noted)
	if err := v.readChain(ctx); err != nil || v.Problems > 0 {
		return v.Result, err
	}
	err := v.readRecords(ctx)
	if err == nil {
		err = v.settle(ctx)
	}
	delete(v.orgs, "") // the batches of no organization
	if v.Orgs = len(v.orgs); noted != nil && !v.found {
		v.problem(Problem{Kind: HashNotFound, At: v.Newest.LinkedAt, Batch: v.Newest.Number})
	}
	return v.Result, err
}

func newVerifier(db *store.DB, noted []byte) *verifier {
	return &verifier{db: db, entries: map[string]entry{}, waiting: map[string]seen{}, orgs: map[string]link{}, noted: noted}
}

func (v *verifier) problem(p Problem) {
	if v.Problems++; v.Problems == 1 || p.At.Before(v.First.At) {
		v.First = p
	}
}

func (v *verifier) recordProblem(kind string, e auditbatch.Entry, org string, batch int64) {
	v.problem(Problem{Kind: kind, RecordUID: e.UID, OrgUID: org, At: e.At, Batch: batch})
}

func (v *verifier) view(ctx context.Context, read func(audits.Records) error) error {
	return v.db.View(ctx, func(tx *store.Tx) error { return read(tx.Audits) })
}

// readChain reads when the chain began. Without that, nothing can be verified.
func (v *verifier) readChain(ctx context.Context) error {
	return v.view(ctx, func(records audits.Records) (err error) {
		_, noBatch := records.NewestBatch(ctx) // first: a server may begin the chain, then append a batch
		if v.chain, err = records.Chain(ctx); errors.Is(err, store.ErrNotFound) {
			if errors.Is(noBatch, store.ErrNotFound) {
				v.problem(Problem{Kind: NotBegun})
				return nil
			}
			err = cmp.Or(noBatch, audits.ErrChainChanged)
		}
		if errors.Is(err, audits.ErrChainChanged) {
			v.problem(Problem{Kind: ChainChanged})
			return nil
		}
		if v.chain.BeganAt.UnixMilli() > 0 {
			v.BeganAt = v.chain.BeganAt
		}
		return err
	})
}

// readRecords reads all records, and as many batches as were linked at their times.
func (v *verifier) readRecords(ctx context.Context) error {
	last := audit.Record{At: time.UnixMilli(-1 << 60)}
	for {
		var page []audit.Record
		if err := v.view(ctx, func(records audits.Records) (err error) {
			page, err = records.OldestFirst(ctx, last.At, last.UID, recordPage)
			for i := 0; i < len(page) && err == nil; i++ {
				v.record(seenOf(records, page[i]))
			}
			return err
		}); err != nil {
			return err
		}
		if len(page) == 0 {
			return v.readBatches(ctx, nil)
		}
		last = page[len(page)-1]
		if err := v.readBatches(ctx, &last.At); err != nil {
			return err
		}
	}
}

// record compares a record with its entry, if that was read. What does not fit yet is for settle.
func (v *verifier) record(s seen) {
	e, linked := v.entries[s.UID]
	switch {
	case linked && s.fits(e):
		delete(v.entries, s.UID)
		v.Records++
	case linked, s.At.Before(v.chain.SweptBefore): // the latter is about to be deleted
	case s.At.Before(v.chain.BeganAt):
		v.Before++
	default:
		v.waiting[s.UID] = s
	}
}

// readBatches reads the next batches, until one was linked after a time, or all.
func (v *verifier) readBatches(ctx context.Context, until *time.Time) error {
	for until == nil || !v.Newest.LinkedAt.After(*until) {
		var page []auditbatch.Batch
		if err := v.view(ctx, func(records audits.Records) (err error) {
			page, err = records.Batches(ctx, v.Newest.Number, batchPage)
			return err
		}); err != nil || len(page) == 0 {
			return err
		}
		for _, b := range page {
			v.batch(b)
		}
	}
	return nil
}

func (v *verifier) batch(b auditbatch.Batch) {
	previous, number := v.Newest.Hash, v.Newest.Number+1
	if number == 1 { // nothing is known of what the retention time deleted
		previous, number = b.Previous, v.chain.SweptBatches+1
	}
	of, p := v.orgs[b.OrgUID], Problem{Kind: BatchChanged, OrgUID: b.OrgUID, At: b.LinkedAt, Batch: b.Number}
	switch {
	case b.Number != number:
		for org := range v.orgs { // they may have batches in the gap
			v.orgs[org] = link{}
		}
		p.Kind = BatchDeleted
		v.pending = append(v.pending, pendingProblem{p, b.Number - 1})
	case !b.Authentic, !bytes.Equal(b.Previous, previous):
		v.problem(p)
	case of.hash != nil && len(b.OrgPrevious) == 0: // the organization's batches were deleted before this one was linked
		v.pending = append(v.pending, pendingProblem{p, of.number})
	case of.hash != nil && !bytes.Equal(b.OrgPrevious, of.hash):
		v.problem(p)
	}
	v.found = v.found || bytes.Equal(b.Hash, v.noted)
	v.orgs[b.OrgUID] = link{b.Hash, b.Number}
	v.Batches++
	for _, linked := range b.Entries {
		v.entry(entry{linked, b.OrgUID, b.Number})
	}
	b.Entries = nil
	v.Newest = b
}

func (v *verifier) entry(e entry) {
	s, read := v.waiting[e.UID]
	delete(v.waiting, e.UID)
	former, twice := v.entries[e.UID]
	switch {
	case read && s.fits(e):
		v.Records++
	case twice && former.MAC != e.MAC:
		v.recordProblem(RecordChanged, e.Entry, e.org, e.batch)
	default:
		v.entries[e.UID] = e
	}
}

// Package auditchain shows whether audit records were changed. It links them to a chain of batches, and verifies the chain.
//
// Every hash is keyed, so that somebody with only the database can compute none. A record waits in the store, in the transaction that
// writes it, until a server links it. Requests neither wait for the chain nor lock a row of it.
package auditchain

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/storage/auditbatch"
	"github.com/regwarden/regwarden/internal/storage/audits"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	linkInterval = 5 * time.Second
	batchSize    = 200       // records linked in a transaction
	upgradeTime  = time.Hour // in which servers of a version without a chain may still write records
	logInterval  = time.Hour // of the newest hash, and of records that were changed
	unknown      = -1        // the number of the newest batch
)

// Linker links records while a server runs. Of several servers, the first one to append a batch of a number wins.
type Linker struct {
	db     *store.DB
	log    *slog.Logger
	now    func() time.Time
	newest atomic.Int64 // number of the newest batch; unknown before it was read
	logged time.Time    // the newest hash
	warned time.Time    // of changed records
}

// NewLinker returns a linker, which Run runs.
func NewLinker(db *store.DB, log *slog.Logger, now func() time.Time) *Linker {
	l := &Linker{db: db, log: log, now: now}
	l.newest.Store(unknown)
	return l
}

// Run links records until ctx ends.
func (l *Linker) Run(ctx context.Context) {
	loop.Retry(ctx, linkInterval, l.log, "audit records not linked", l.Link)
}

// Link links all records that are ready, a part in each transaction.
func (l *Linker) Link(ctx context.Context) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	for after, more := "", true; more; {
		began := time.Now()
		ready, newest, err := l.read(ctx, after)
		if err != nil {
			return err
		}
		if more = len(ready) == batchSize; len(ready) > 0 {
			after = ready[len(ready)-1].Record.UID
		}
		err = l.append(ctx, newest, l.known(ready))
		if errors.Is(err, store.ErrExists) { // another server was first
			return nil
		}
		if err != nil {
			return err
		}
		if more { // at most half of what the store can do
			_ = loop.Sleep(ctx, time.Since(began))
		}
	}
	return nil
}

// begin begins the chain of a store without one.
func (l *Linker) begin(ctx context.Context) error {
	begun := func(tx *store.Tx) error { _, err := tx.Audits.Chain(ctx); return err }
	if err := l.db.View(ctx, begun); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return l.db.InTx(ctx, func(tx *store.Tx) error { return tx.Audits.BeginChain(ctx, l.now(), upgradeTime) })
}

// read returns records to link, and the batch that they follow, which is read first: if another server links the records since, it
// also appends a batch.
func (l *Linker) read(ctx context.Context, after string) (ready []audits.Ready, newest auditbatch.Batch, err error) {
	err = l.db.View(ctx, func(tx *store.Tx) (err error) {
		if newest, err = tx.Audits.NewestBatch(ctx); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		ready, err = tx.Audits.Ready(ctx, l.now(), after, batchSize)
		return err
	})
	if err == nil {
		l.newest.Store(newest.Number)
	}
	if now := time.Now(); newest.Number > 0 && now.Sub(l.logged) > logInterval {
		l.logged = now
		l.log.Info("audit chain", "batch", newest.Number, "hash", Hex(newest.Hash))
	}
	return ready, newest, err
}

// known leaves out records that the service did not write, which stay for Verify to name.
func (l *Linker) known(ready []audits.Ready) (written []audits.Ready) {
	var changed []audits.Ready
	for _, r := range ready {
		if r.Written {
			written = append(written, r)
		} else {
			changed = append(changed, r)
		}
	}
	if now := time.Now(); len(changed) > 0 && now.Sub(l.warned) > logInterval {
		l.warned = now
		l.log.Error("audit records were changed", "records", len(changed), "audit", changed[0].Record.UID, "org", changed[0].Record.OrgUID)
	}
	return written
}

// append appends a batch for each organization of the records.
func (l *Linker) append(ctx context.Context, newest auditbatch.Batch, ready []audits.Ready) error {
	if len(ready) == 0 {
		return nil
	}
	batches := byOrganization(ready)
	if err := l.db.View(ctx, func(tx *store.Tx) error {
		for i := range batches {
			b := &batches[i]
			former, err := tx.Audits.NewestBatchOf(ctx, b.OrgUID)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			b.Number, b.LinkedAt, b.Previous, b.OrgPrevious = newest.Number+1, l.now(), newest.Hash, former.Hash
			b.Hash = tx.Audits.HashOf(*b)
			newest = *b
		}
		return nil
	}); err != nil {
		return err
	}
	err := l.db.InTx(ctx, func(tx *store.Tx) error { return tx.Audits.Link(ctx, batches) })
	if err == nil {
		l.newest.Store(newest.Number)
	}
	return err
}

// byOrganization returns a batch for each organization, in the order of their first records.
func byOrganization(ready []audits.Ready) (batches []auditbatch.Batch) {
	at := map[string]int{}
	for _, r := range ready {
		i, known := at[r.Record.OrgUID]
		if !known {
			i, batches = len(batches), append(batches, auditbatch.Batch{OrgUID: r.Record.OrgUID})
			at[r.Record.OrgUID] = i
		}
		batches[i].Entries = append(batches[i].Entries,
			auditbatch.Entry{UID: r.Record.UID, At: r.Record.At, Repeats: r.Record.Repeats, MAC: r.MAC})
	}
	return batches
}

// Lag returns the number of the newest batch, -1 before Link has read it, and how long the oldest record that could be linked waits.
func (l *Linker) Lag(ctx context.Context) (newest int64, waits time.Duration, err error) {
	first, err := store.Read(ctx, l.db, func(tx *store.Tx) (time.Time, error) { return tx.Audits.FirstUnlinked(ctx, l.now()) })
	if !first.IsZero() {
		waits = max(0, l.now().Sub(first))
	}
	return l.newest.Load(), waits, err
}

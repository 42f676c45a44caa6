package sqldb

import (
	"context"
	"errors"
	"sync"
	"time"
)

const probeInterval = time.Second // any client may request /readyz

// writeHealth stores the failure of a write until a probe succeeds. A database with a full disk still runs queries, and
// commits transactions that change nothing.
type writeHealth struct {
	mu       sync.Mutex
	failure  error // nil: writes succeed
	probedAt time.Time
}

// note stores the error of a write if it is of kind Unavailable. Other errors are caused by the caller.
func (h *writeHealth) note(err error) {
	if _, ok := errors.AsType[*unavailableError](err); ok {
		h.set(err)
	}
}

func (h *writeHealth) set(failure error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failure = failure
}

// due returns the failure of the last write, and whether to probe now.
func (h *writeHealth) due(now time.Time) (failure error, probe bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failure == nil || now.Sub(h.probedAt) < probeInterval {
		return h.failure, false
	}
	h.probedAt = now
	return h.failure, true
}

// touch is an update that changes no value, and is nevertheless written to the disk.
const touch = `UPDATE schema_floor SET least = least WHERE id = 1`

// Ready returns nil while the database runs queries and writes, else an error of kind Unavailable. After a failed write
// it tries a small one itself, so that a server without requests becomes ready again.
func (db *DB) Ready(ctx context.Context) error {
	if err := db.Ping(ctx); err != nil {
		return err
	}
	failure, probe := db.writes.due(time.Now())
	if !probe {
		return failure
	}
	if err := db.checkDisk(); err != nil {
		return unavailable(err)
	}
	err := db.InTx(ctx, func(q Querier) error {
		_, err := q.Exec(ctx, touch, nil)
		return err
	})
	if err == nil {
		db.writes.set(nil)
	}
	return err
}

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	probeEvery = time.Second // anybody may ask /readyz
	probeBytes = 1 << 20     // more than a few transactions need
)

// writeHealth remembers a failed write until a probe succeeds. A database with a full disk still answers questions, and
// commits what changes nothing.
type writeHealth struct {
	mu       sync.Mutex
	failure  error // nil: writes succeed
	probedAt time.Time
}

// note takes the outcome of a write. Only a store that cannot write counts: other failures are the caller's.
func (h *writeHealth) note(err error) {
	if _, away := errors.AsType[*awayError](err); away {
		h.set(err)
	}
}

func (h *writeHealth) set(failure error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failure = failure
}

// due returns the failure of the last write, and whether to try another one now.
func (h *writeHealth) due(now time.Time) (failure error, probe bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failure == nil || now.Sub(h.probedAt) < probeEvery {
		return h.failure, false
	}
	h.probedAt = now
	return h.failure, true
}

// sqlTouch changes nothing, and has to be committed all the same.
const sqlTouch = `UPDATE schema_floor SET least = least WHERE id = 1`

// Ready returns nil while the store answers questions and takes changes, else an error of kind Unavailable. After a
// failed write it tries a small one itself, so that a server without requests becomes ready again.
func (db *DB) Ready(ctx context.Context) error {
	if err := db.Ping(ctx); err != nil {
		return err
	}
	failure, probe := db.writes.due(time.Now())
	if !probe {
		return failure
	}
	if err := db.room(); err != nil {
		return unavailable(err)
	}
	if err := db.InTx(ctx, func(tx *Tx) error { return tx.changeOne(ctx, sqlTouch) }); err != nil {
		return err
	}
	db.writes.set(nil)
	return nil
}

// room writes a file next to the database: SQLite's own files may have room for a small write on a full disk.
func (s *sqliteDB) room() error {
	path := filepath.Join(s.dataDir, "room.tmp")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write in the data directory: %w", err)
	}
	_, err = file.Write(make([]byte, probeBytes))
	if err = errors.Join(err, file.Sync(), file.Close(), os.Remove(path)); err != nil {
		return fmt.Errorf("write %d bytes in the data directory: %w", probeBytes, err)
	}
	return nil
}

// room has no meaning for PostgreSQL, whose disk is its own.
func (p *postgres) room() error { return nil }

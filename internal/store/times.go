package store

import (
	"context"
	"time"
)

const (
	sqlNoteTime   = `UPDATE service_clock SET newest = $1 WHERE id = 1 AND newest < $1`
	sqlSetTime    = `UPDATE service_clock SET newest = $1 WHERE id = 1`
	sqlNewestTime = `SELECT newest FROM service_clock WHERE id = 1`
)

// Times reads and changes the newest time that a server of the store has seen.
type Times struct{ *conn }

// Note stores a time if it is newer than the stored one.
func (tx Times) Note(ctx context.Context, at time.Time) error {
	return tx.changeAny(ctx, sqlNoteTime, millis(at))
}

// Set stores a time, whatever the stored one is.
func (tx Times) Set(ctx context.Context, at time.Time) error {
	return tx.changeOne(ctx, sqlSetTime, millis(at))
}

// Newest returns the stored time, that of 1970 if there is none.
func (tx Times) Newest(ctx context.Context) (time.Time, error) {
	at, err := one(ctx, tx.conn, scanCount, sqlNewestTime)
	return time.UnixMilli(at).UTC(), err
}

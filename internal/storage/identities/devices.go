package identities

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Device is a login that a program without a browser has begun.
type Device struct {
	Hash       []byte // of the code of the program
	UserCode   string
	Address    string // of the program
	CreatedAt  time.Time
	ExpiresAt  time.Time
	PolledAt   time.Time // by the program, before this time; zero: never
	Denied     bool
	SessionUID string // of the person who confirmed it; empty: not yet
}

const (
	deviceColumns   = `SELECT hash, user_code, address, created_at, expires_at, polled_at, denied, session_uid FROM device_logins`
	sqlInsertDevice = `INSERT INTO device_logins (hash, user_code, address, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`
	sqlDevice       = deviceColumns + ` WHERE hash = $1`
	sqlPending      = deviceColumns + ` WHERE user_code = $1 AND expires_at > $2 AND denied = 0 AND session_uid IS NULL`
	sqlPollDevice   = `UPDATE device_logins SET polled_at = $2 WHERE hash = $1`
	sqlConfirm      = `UPDATE device_logins SET session_uid = $2, denied = $3
		WHERE user_code = $1 AND expires_at > $4 AND denied = 0 AND session_uid IS NULL`
	sqlDeleteDevice  = `DELETE FROM device_logins WHERE hash = $1`
	sqlDeleteDevices = `DELETE FROM device_logins WHERE hash IN (SELECT hash FROM device_logins WHERE expires_at < $1 LIMIT $2)`
)

func scanDevice(row rows.Scanner, d *Device) error {
	return row.Scan(&d.Hash, &d.UserCode, &d.Address, rows.Moment(&d.CreatedAt), rows.Moment(&d.ExpiresAt), rows.Moment(&d.PolledAt),
		rows.Truth(&d.Denied), rows.Text(&d.SessionUID))
}

// InsertDevice adds a login. Its user code being in use is sqldb.ErrExists.
func (tx Identities) InsertDevice(ctx context.Context, d Device) error {
	return tx.db.ChangeOne(ctx, sqlInsertDevice, d.Hash, d.UserCode, d.Address, rows.Millis(d.CreatedAt), rows.Millis(d.ExpiresAt))
}

// PendingDevice returns the login with a user code that may be confirmed at that time.
func (tx Identities) PendingDevice(ctx context.Context, userCode string, now time.Time) (Device, error) {
	return rows.One(ctx, tx.db, scanDevice, sqlPending, userCode, rows.Millis(now))
}

// Device returns the login of a program.
func (tx Identities) Device(ctx context.Context, hash []byte) (Device, error) {
	return rows.One(ctx, tx.db, scanDevice, sqlDevice, hash)
}

// PollDevice sets when a program asked for its tokens.
func (tx Identities) PollDevice(ctx context.Context, hash []byte, now time.Time) error {
	return tx.db.ChangeOne(ctx, sqlPollDevice, hash, rows.Millis(now))
}

// ConfirmDevice confirms a login by a session, or denies it. ErrNotFound: it cannot be confirmed any more.
func (tx Identities) ConfirmDevice(ctx context.Context, userCode, sessionUID string, allow bool, now time.Time) error {
	if !allow {
		sessionUID = ""
	}
	return tx.db.ChangeOne(ctx, sqlConfirm, userCode, rows.OrNull(sessionUID), rows.Flag(!allow), rows.Millis(now))
}

// DeleteDevice deletes a login. ErrNotFound: another call did.
func (tx Identities) DeleteDevice(ctx context.Context, hash []byte) error {
	return tx.db.ChangeOne(ctx, sqlDeleteDevice, hash)
}

// DeleteDevices deletes at most limit logins that expired before that moment, and returns how many.
func (tx Identities) DeleteDevices(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.db.Change(ctx, sqlDeleteDevices, rows.Millis(before), limit)
}

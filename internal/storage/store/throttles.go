package store

import (
	"bytes"
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Throttle counts failed logins for an account from one source, for an account from all sources, or from one source
// for all accounts. The zero value has no failures.
type Throttle struct {
	Failures     int64     // since the last success
	BlockedUntil time.Time // no attempt before
	SucceededAt  time.Time // the last success from this source, zero for none
	ForgetAt     time.Time // from then on the row counts as the zero value
}

// Throttles are the three counts that a login depends on.
type Throttles struct {
	Pair    Throttle // of the account from the source
	Account Throttle // of the account from all sources without an own allowance
	Source  Throttle // of the source for all accounts with which it has no own allowance
}

// Every is the account of a row that counts for all accounts, and the source of a row that counts for all sources. No
// account and no source has this name.
const Every = "*"

const (
	throttleColumns = `failures, blocked_until, succeeded_at, forget_at`

	sqlThrottle  = `SELECT ` + throttleColumns + ` FROM login_throttles WHERE account = $1 AND source = $2 AND forget_at > $3`
	sqlThrottles = `SELECT ` + throttleColumns + `, account, source FROM login_throttles WHERE account IN ($1, $2) 
		AND source IN ($3, $4) AND forget_at > $5`
	sqlCountFailure = `INSERT INTO login_throttles (account, source, failures, blocked_until, forget_at) VALUES ($1, $2, 1, 0, $3)
		ON CONFLICT (account, source) DO UPDATE SET
			failures = CASE WHEN login_throttles.forget_at > $3 THEN login_throttles.failures + 1 ELSE 1 END,
			succeeded_at = CASE WHEN login_throttles.forget_at > $3 THEN login_throttles.succeeded_at END
		RETURNING ` + throttleColumns
	sqlDelayAttempts  = `UPDATE login_throttles SET blocked_until = $3, forget_at = $4 WHERE account = $1 AND source = $2`
	sqlReserveAttempt = `UPDATE login_throttles SET blocked_until = $5 WHERE account = $1 AND source = $2 AND failures = $3
		AND blocked_until = $4`
	sqlNoteSuccess = `INSERT INTO login_throttles (account, source, failures, blocked_until, succeeded_at, forget_at)
		VALUES ($1, $2, 0, 0, $3, $4) ON CONFLICT (account, source) DO UPDATE SET failures = 0, blocked_until = 0, succeeded_at = $3,
		forget_at = $4`
	sqlForgetFailures  = `DELETE FROM login_throttles WHERE account = $1 AND source = $2`
	forgive            = `UPDATE login_throttles SET failures = 0, blocked_until = 0 WHERE account = $1 AND source `
	sqlForgivePairs    = forgive + `<> $2`
	sqlForgiveShared   = forgive + `= $2`
	sqlDeleteThrottles = `DELETE FROM login_throttles WHERE (account, source) IN (SELECT account, source FROM login_throttles
		WHERE forget_at < $1 LIMIT $2)`
	neverBlocked = int64(0)
)

func scanThrottle(row rows.Scanner, t *Throttle) error { return scanThrottleAnd(row, t) }

// scanThrottleAnd scans the columns of a throttle and the columns after them.
func scanThrottleAnd(row rows.Scanner, t *Throttle, more ...any) error {
	var blocked int64
	if err := row.Scan(append([]any{&t.Failures, &blocked, rows.Moment(&t.SucceededAt), rows.Moment(&t.ForgetAt)},
		more...)...); err != nil {
		return err
	}
	if blocked != neverBlocked {
		t.BlockedUntil = time.UnixMilli(blocked).UTC()
	}
	return nil
}

func blockedMillis(t time.Time) int64 {
	if t.IsZero() {
		return neverBlocked
	}
	return t.UnixMilli()
}

// Throttling reads and changes failed logins and the waits that follow.
type Throttling struct{ *conn }

// Both reads the counts of an account and a source with one query. A missing row is the zero value.
func (tx Throttling) Both(ctx context.Context, account, source []byte, now time.Time) (found Throttles, err error) {
	every := []byte(Every)
	err = tx.db.Each(ctx, func(row rows.Scanner) error {
		var t Throttle
		var ofAccount, ofSource []byte
		if err := scanThrottleAnd(row, &t, &ofAccount, &ofSource); err != nil {
			return err
		}
		switch {
		case bytes.Equal(ofAccount, every):
			found.Source = t
		case bytes.Equal(ofSource, every):
			found.Account = t
		default:
			found.Pair = t
		}
		return nil
	}, sqlThrottles, account, every, source, every, rows.Millis(now))
	return found, err
}

// Get reads the count of an account from a source. A missing row is the zero value.
func (tx Throttling) Get(ctx context.Context, account, source []byte, now time.Time) (Throttle, error) {
	return rows.OneOrZero(ctx, tx.db, scanThrottle, sqlThrottle, account, source, rows.Millis(now))
}

// CountFailure adds one failure and returns the new count. The row stays locked until the transaction ends. Delay must follow,
// which stores the wait.
func (tx Throttling) CountFailure(ctx context.Context, account, source []byte, now time.Time) (Throttle, error) {
	return rows.One(ctx, tx.db, scanThrottle, sqlCountFailure, account, source, rows.Millis(now))
}

// Delay stores until when further attempts are blocked, and when the row expires.
func (tx Throttling) Delay(ctx context.Context, account, source []byte, blockedUntil, forgetAt time.Time) error {
	return tx.db.ChangeOne(ctx, sqlDelayAttempts, account, source, blockedMillis(blockedUntil), rows.Millis(forgetAt))
}

// ReserveAttempt reserves the one attempt that a row allows after its wait, and blocks the next until that moment. Of any number of
// callers that have read the same row exactly one gets true.
func (tx Throttling) ReserveAttempt(ctx context.Context, account, source []byte, read Throttle, blockedUntil time.Time) (bool, error) {
	return tx.db.Changed(ctx, sqlReserveAttempt, account, source, read.Failures, blockedMillis(read.BlockedUntil),
		blockedMillis(blockedUntil))
}

// NoteSuccess clears the failures of a source and stores its success.
func (tx Throttling) NoteSuccess(ctx context.Context, account, source []byte, at, forgetAt time.Time) error {
	return tx.db.ChangeOne(ctx, sqlNoteSuccess, account, source, rows.Millis(at), rows.Millis(forgetAt))
}

// Delete deletes one row.
func (tx Throttling) Delete(ctx context.Context, account, source []byte) error {
	return tx.db.ChangeAny(ctx, sqlForgetFailures, account, source)
}

// ForgiveAccount allows the next attempt for an account at once, from any source. Like a failure, it locks the row of all sources last.
func (tx Throttling) ForgiveAccount(ctx context.Context, account []byte) error {
	every := []byte(Every)
	if err := tx.db.ChangeAny(ctx, sqlForgivePairs, account, every); err != nil {
		return err
	}
	return tx.db.ChangeAny(ctx, sqlForgiveShared, account, every)
}

// DeleteBefore deletes at most limit rows that expired before that moment, and returns how many.
func (tx Throttling) DeleteBefore(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.db.Change(ctx, sqlDeleteThrottles, rows.Millis(before), limit)
}

package throttle

import (
	"context"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Attempt is one attempt at an account from a source, and the counts that it was last decided by.
type Attempt struct {
	Rules
	Account []byte // a user by its uid, an unknown name by its MAC
	Source  []byte
	State   store.Throttles

	reserved []reservation
}

// reservation is a row whose only attempt this one is.
type reservation struct {
	row   row
	until time.Time // the wait of the others
}

// Read reads the counts.
func (a *Attempt) Read(ctx context.Context, tx *store.Tx, now time.Time) (err error) {
	a.State, err = tx.Throttling.Both(ctx, a.Account, a.Source, now)
	return fault.Wrap("look up failed logins", err)
}

// Limit returns a fault of kind Limited if the attempt has to wait.
func (a *Attempt) Limit(now time.Time) error { return limited(a.wait(a.State, now)) }

// OwnAllowance reports whether the source has an allowance of its own with the account.
func (a *Attempt) OwnAllowance() bool { return ownAllowance(a.State.Pair) }

// rows returns the rows that count the attempt: of the pair, and if that has no allowance of its own, of the account and of the source.
func (a *Attempt) rows() []row {
	every := []byte(store.Every)
	return []row{{a.Account, a.Source, a.State.Pair, a.afterPair, forgetPairAt},
		{a.Account, every, a.State.Account, a.afterShared, forgetSharedAt},
		{every, a.Source, a.State.Source, a.afterSource, forgetSourceAt}}
}

// reservable returns the rows that allow one attempt after a wait.
func (a *Attempt) reservable() []row {
	rows := a.rows()
	if a.OwnAllowance() {
		rows = rows[:1]
	}
	return slices.DeleteFunc(rows, func(r row) bool { return r.wait(r.read.Failures) == 0 })
}

// Reserve makes sure that only one of several concurrent attempts continues after a wait.
func (a *Attempt) Reserve(ctx context.Context, db *store.DB, now time.Time) error {
	rows := a.reservable()
	if len(rows) == 0 {
		return nil
	}
	return db.InTx(ctx, func(tx *store.Tx) error {
		a.reserved = nil
		for _, row := range rows {
			until := now.Add(row.wait(row.read.Failures))
			if err := row.reserve(ctx, tx, now, until); err != nil {
				return err
			}
			a.reserved = append(a.reserved, reservation{row, until})
		}
		return nil
	})
}

// Return ends the waits of Reserve, for a password that was right and has to be followed by a code, which is an attempt of its own.
// Where others have failed since then, their waits stay.
func (a *Attempt) Return(ctx context.Context, tx *store.Tx) error {
	for _, r := range a.reserved {
		of := store.Throttle{Failures: r.row.read.Failures, BlockedUntil: r.until}
		if _, err := tx.Throttling.ReserveAttempt(ctx, r.row.account, r.row.source, of, r.row.read.BlockedUntil); err != nil {
			return err
		}
	}
	return nil
}

// CountFailure reports whether the failure reaches the alert threshold. All transactions lock the row of the source after the rows of
// the account, so that they cannot deadlock.
func (a *Attempt) CountFailure(ctx context.Context, tx *store.Tx, now time.Time) (alert bool, err error) {
	rows := a.rows()
	pair, err := rows[0].countFailure(ctx, tx, now)
	if err != nil || ownAllowance(pair) {
		return false, err
	}
	account, err := rows[1].countFailure(ctx, tx, now)
	if err != nil {
		return false, err
	}
	_, err = rows[2].countFailure(ctx, tx, now)
	return account.Failures == AlertAfter, err
}

// CountSuccess deletes the failures of the account that limited the attempt. A login from a source with its own
// allowance does not reset the shared count, so attackers at other sources do not benefit from the owner's login. The
// count of the source is never reset: an attacker with an account does not benefit from logging in to it.
func (a *Attempt) CountSuccess(ctx context.Context, tx *store.Tx, now time.Time) error {
	pair, err := tx.Throttling.Get(ctx, a.Account, a.Source, now)
	if err != nil {
		return err
	}
	if ownAllowance(pair) && pair.Failures == 0 && now.Sub(pair.SucceededAt) < successNoteEvery {
		return nil
	}
	if err := tx.Throttling.NoteSuccess(ctx, a.Account, a.Source, now, now.Add(forgetSuccess)); err != nil || ownAllowance(pair) {
		return err
	}
	return tx.Throttling.Delete(ctx, a.Account, []byte(store.Every))
}

// row is a row that counts an attempt, as it was read, and its rules.
type row struct {
	account, source []byte
	read            store.Throttle
	wait            func(failures int64) time.Duration
	forgetAt        func(counted store.Throttle, wait time.Duration, now time.Time) time.Time
}

// reserve reserves the one attempt after the wait of a row. It returns a fault of kind Limited if another attempt has it.
func (r row) reserve(ctx context.Context, tx *store.Tx, now, until time.Time) error {
	reserved, err := tx.Throttling.ReserveAttempt(ctx, r.account, r.source, r.read, until)
	if err == nil && !reserved {
		return limited(until.Sub(now))
	}
	return err
}

// countFailure counts a failed attempt.
func (r row) countFailure(ctx context.Context, tx *store.Tx, now time.Time) (store.Throttle, error) {
	counted, err := tx.Throttling.CountFailure(ctx, r.account, r.source, now)
	if err != nil {
		return counted, err
	}
	wait := r.wait(counted.Failures)
	return counted, tx.Throttling.Delay(ctx, r.account, r.source, blockedUntil(wait, now), r.forgetAt(counted, wait, now))
}

// limited returns the fault of an attempt that has to wait, nil if it does not.
func limited(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
		Message: "Too many failed logins. Retry after the time in Retry-After. Earlier attempts do not extend the wait."}
}

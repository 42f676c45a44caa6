package store

import (
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// An allowance is one row with the time at which all of it is available again. Each use adds the time after which one use is
// available again, and a use that exceeds the bound is refused (the generic cell rate algorithm, ITU-T I.371). A time beyond
// every bound comes from a wrong clock, and counts as past.

const (
	sqlReserveSlot = `INSERT INTO allowances (holder, full_at) VALUES ($1, CAST($2 AS BIGINT) + CAST($3 AS BIGINT))
		ON CONFLICT (holder) DO UPDATE SET
			full_at = CASE WHEN allowances.full_at > $2 AND allowances.full_at <= CAST($5 AS BIGINT) THEN allowances.full_at
			ELSE $2 END + CAST($3 AS BIGINT) WHERE allowances.full_at <= CAST($4 AS BIGINT) OR allowances.full_at > CAST($5 AS BIGINT)
		RETURNING full_at`
	sqlAllowance             = `SELECT full_at FROM allowances WHERE holder = $1`
	sqlDeleteAllowancesOfOrg = `DELETE FROM allowances WHERE holder IN (SELECT uid FROM users WHERE org_uid = $1
		UNION ALL SELECT '` + ContactsOf + `' || uid FROM users WHERE org_uid = $1
		UNION ALL SELECT '` + MailsOf + `' || uid FROM orgs WHERE uid = $1
		UNION ALL SELECT '` + LinksOf + `' || uid FROM orgs WHERE uid = $1)`
	sqlDeleteAllowances = `DELETE FROM allowances WHERE holder IN (SELECT holder FROM allowances WHERE full_at < $1 LIMIT $2)`
)

// Holders of allowances are uids of users, for their validations, and the uids of users or organizations after one of these.
const (
	ContactsOf = "changes of " // users
	MailsOf    = "mails of "   // organizations
	LinksOf    = "links of "   // organizations
	OrgNamesOf = "names of "   // hashes of addresses
)

// Allowances reads and changes the use of operations that are limited per period.
type Allowances struct{ *conn }

// Reserve reserves a holder's next slot. A period has that number of slots: all of them at once after a pause, then evenly
// spaced. It returns how long to wait for the slot. If that were longer than within, it reserves nothing, and wait is the
// time until a reservation succeeds.
func (tx Allowances) Reserve(ctx context.Context, holder string, slots int, period, within time.Duration,
	now time.Time) (wait time.Duration, reserved bool, err error) {
	each := max(1, period.Microseconds()/int64(slots))
	usedUp := now.UnixMicro() + each*int64(slots)
	latest := usedUp - each + within.Microseconds()
	end, err := rows.One(ctx, tx.db, rows.ScanCount, sqlReserveSlot, holder, now.UnixMicro(), each, latest,
		latest+2*(period+within).Microseconds())
	if !errors.Is(err, ErrNotFound) {
		return time.Duration(max(0, end-usedUp)) * time.Microsecond, err == nil, err
	}
	end, err = rows.One(ctx, tx.db, rows.ScanCount, sqlAllowance, holder)
	return time.Duration(end-latest) * time.Microsecond, false, err
}

// ContactsAhead bounds how far ahead the contacts that a user causes are reserved. It is at most the default interval of scheduled
// checks, which run without a request.
const ContactsAhead = 15 * time.Minute

// ReserveContact reserves the next contact of a host that a user causes by a change: the check of a definition, or the first
// delivery to a webhook's origin. It returns how long to wait for it, and reserves none further than ContactsAhead.
// Validations have a separate allowance, so that stored definitions never make a validation fail.
func (tx Allowances) ReserveContact(ctx context.Context, userUID string, perMinute int,
	now time.Time) (wait time.Duration, reserved bool, err error) {
	wait, reserved, err = tx.Reserve(ctx, ContactsOf+userUID, perMinute, time.Minute, ContactsAhead, now)
	if !reserved {
		wait += ContactsAhead
	}
	return wait, reserved, err
}

// DeleteBefore deletes at most limit allowances that were whole before that moment, and returns how many.
func (tx Allowances) DeleteBefore(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.db.Change(ctx, sqlDeleteAllowances, before.UnixMicro(), limit)
}

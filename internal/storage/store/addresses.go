package store

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// AlertAddress is an email address to which an organization sends alerts. Its owner confirms it by a link that is sent to it.
type AlertAddress struct {
	OrgUID, Address string // the address in lower case
	RequestedAt     time.Time
	ConfirmedAt     time.Time // zero until then
	OrgName         string    // read by ByToken only
}

const (
	sqlAlertAddresses      = `SELECT org_uid, address, asked_at, confirmed_at, '' FROM alert_addresses WHERE org_uid = $1`
	sqlAlertAddressByToken = `SELECT a.org_uid, a.address, a.asked_at, a.confirmed_at, o.name
		FROM alert_addresses a JOIN orgs o ON o.uid = a.org_uid WHERE a.token_hash = $1`
	sqlRequestAddress = `INSERT INTO alert_addresses (org_uid, address, token_hash, asked_at)
		VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
	sqlDeleteUnconfirmed = `DELETE FROM alert_addresses WHERE org_uid = $1 AND address = $2 AND asked_at <= $3
		AND confirmed_at IS NULL`
	sqlConfirmAddress          = `UPDATE alert_addresses SET confirmed_at = $2 WHERE token_hash = $1 AND confirmed_at IS NULL`
	sqlDeleteUnconfirmedBefore = `DELETE FROM alert_addresses WHERE confirmed_at IS NULL AND (org_uid, address) IN
		(SELECT org_uid, address FROM alert_addresses WHERE confirmed_at IS NULL AND asked_at < $1 LIMIT $2)`
)

func scanAlertAddress(row rows.Scanner, a *AlertAddress) error {
	return row.Scan(&a.OrgUID, &a.Address, rows.Moment(&a.RequestedAt), rows.Moment(&a.ConfirmedAt), &a.OrgName)
}

// Addresses reads and changes the addresses that get alerts by email.
type Addresses struct{ *conn }

// List lists the addresses of an organization that confirmed or were requested to.
func (tx Addresses) List(ctx context.Context, orgUID string) ([]AlertAddress, error) {
	return rows.All(ctx, tx.db, scanAlertAddress, sqlAlertAddresses, orgUID)
}

// ByToken looks an address up by the hash of the token that its newest link has.
func (tx Addresses) ByToken(ctx context.Context, tokenHash []byte) (AlertAddress, error) {
	return rows.One(ctx, tx.db, scanAlertAddress, sqlAlertAddressByToken, tokenHash)
}

// Request stores that a link is sent to an address, and reports whether it is the first one.
func (tx Addresses) Request(ctx context.Context, a AlertAddress, tokenHash []byte) (bool, error) {
	return tx.db.Changed(ctx, sqlRequestAddress, a.OrgUID, a.Address, tokenHash, rows.Millis(a.RequestedAt))
}

// DeleteUnconfirmed deletes an address that did not confirm, so that it can be requested again, unless that was done after requestedUntil.
func (tx Addresses) DeleteUnconfirmed(ctx context.Context, orgUID, address string, requestedUntil time.Time) error {
	return tx.db.ChangeAny(ctx, sqlDeleteUnconfirmed, orgUID, address, rows.Millis(requestedUntil))
}

// Confirm confirms the address whose newest link has that token, and reports whether it was not confirmed before.
func (tx Addresses) Confirm(ctx context.Context, tokenHash []byte, at time.Time) (bool, error) {
	return tx.db.Changed(ctx, sqlConfirmAddress, tokenHash, rows.Millis(at))
}

// DeleteUnconfirmedBefore deletes at most limit addresses with a request before that time and no confirmation, and returns how many.
func (tx Addresses) DeleteUnconfirmedBefore(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.db.Change(ctx, sqlDeleteUnconfirmedBefore, rows.Millis(before), limit)
}

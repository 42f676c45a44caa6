package store

import (
	"context"
	"time"
)

// AlertAddress is an email address to which an organization wants to send alerts. It agrees by a link that is sent to it.
type AlertAddress struct {
	OrgUID, Address string // the address in lower case
	AskedAt         time.Time
	ConfirmedAt     time.Time // zero until then
	OrgName         string    // read by ByToken only
}

const (
	sqlAlertAddresses      = `SELECT org_uid, address, asked_at, confirmed_at, '' FROM alert_addresses WHERE org_uid = $1`
	sqlAlertAddressByToken = `SELECT a.org_uid, a.address, a.asked_at, a.confirmed_at, o.name FROM alert_addresses a JOIN orgs o ON o.uid = a.org_uid WHERE a.token_hash = $1`
	sqlAskAddress          = `INSERT INTO alert_addresses (org_uid, address, token_hash, asked_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
	sqlForgetAddress       = `DELETE FROM alert_addresses WHERE org_uid = $1 AND address = $2 AND asked_at <= $3 AND confirmed_at IS NULL`
	sqlConfirmAddress      = `UPDATE alert_addresses SET confirmed_at = $2 WHERE token_hash = $1 AND confirmed_at IS NULL`
	sqlDeleteAsked         = `DELETE FROM alert_addresses WHERE confirmed_at IS NULL AND (org_uid, address) IN
		(SELECT org_uid, address FROM alert_addresses WHERE confirmed_at IS NULL AND asked_at < $1 LIMIT $2)`
)

func scanAlertAddress(row scanner, a *AlertAddress) error {
	return row.Scan(&a.OrgUID, &a.Address, moment{&a.AskedAt}, moment{&a.ConfirmedAt}, &a.OrgName)
}

// Addresses reads and changes the addresses that get alerts by email.
type Addresses struct{ *conn }

// List lists the addresses of an organization that confirmed or were asked to.
func (tx Addresses) List(ctx context.Context, orgUID string) ([]AlertAddress, error) {
	return all(ctx, tx.conn, scanAlertAddress, sqlAlertAddresses, orgUID)
}

// ByToken looks an address up by the hash of the token that its newest link has.
func (tx Addresses) ByToken(ctx context.Context, tokenHash []byte) (AlertAddress, error) {
	return one(ctx, tx.conn, scanAlertAddress, sqlAlertAddressByToken, tokenHash)
}

// Ask notes that an address is sent a link, and reports whether it is the first to do so.
func (tx Addresses) Ask(ctx context.Context, a AlertAddress, tokenHash []byte) (bool, error) {
	n, err := tx.change(ctx, sqlAskAddress, a.OrgUID, a.Address, tokenHash, millis(a.AskedAt))
	return n == 1, err
}

// Forget has an address that did not confirm asked anew, unless it was asked after that moment.
func (tx Addresses) Forget(ctx context.Context, orgUID, address string, askedUntil time.Time) error {
	_, err := tx.change(ctx, sqlForgetAddress, orgUID, address, millis(askedUntil))
	return err
}

// Confirm confirms the address whose newest link has that token, and reports whether it was not confirmed before.
func (tx Addresses) Confirm(ctx context.Context, tokenHash []byte, at time.Time) (bool, error) {
	n, err := tx.change(ctx, sqlConfirmAddress, tokenHash, millis(at))
	return n == 1, err
}

// DeleteAsked deletes at most limit addresses that were asked before that moment and did not confirm, and returns how many.
func (tx Addresses) DeleteAsked(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.change(ctx, sqlDeleteAsked, millis(before), limit)
}

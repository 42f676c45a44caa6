package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/rows"
)

// Alert reports one change. Body is JSON, and the same for every channel. The channels of OtherComponent, if it is not empty, get the
// alert too.
type Alert struct {
	UID, OrgUID, Component, OtherComponent string
	RegistryUID                            string // whose incident the alert begins, changes or ends; empty: none
	At                                     time.Time
	Body                                   []byte
}

// AlertedChannel is a channel of an alert. DueAt is zero if it has no incident of the registry.
type AlertedChannel struct {
	UID string
	AlertTimes
	DueAt time.Time
	Sent  int64
}

// Delivery is the delivery of one alert by one channel. Processed lists the email addresses that have accepted or
// refused it; Refused is the number of the latter.
type Delivery struct {
	UID, ChannelUID  string
	CreatedAt        time.Time
	NextAt           time.Time // zero when there is no next attempt
	Attempts         int64
	Processed        []string
	Refused          int64
	EndedAt          time.Time
	Delivered        bool
	AlertBody        []byte // read with the delivery
	AlertUID, OrgUID string // read with the delivery
	RegistryUID      string // Alert.RegistryUID
}

// ClaimedChannel is a channel that has something to send, and the claim's owner.
type ClaimedChannel struct{ UID, OrgUID, Owner string }

// maxOrdered is how many attempts of a delivery later ones of the registry wait for. A receiver that refuses one for more than an hour may
// accept others.
const maxOrdered = 8

const (
	sqlInsertAlert    = `INSERT INTO alerts (uid, org_uid, component, at, body) VALUES ($1, $2, $3, $4, $5)`
	sqlActiveChannels = `SELECT c.uid, c.after_minutes, c.repeat_hours, i.due_at, COALESCE(i.sent, 0) FROM alert_channels c
		LEFT JOIN alert_incidents i ON i.channel_uid = c.uid AND i.registry_uid = $4
		WHERE c.org_uid = $1 AND c.component IN ($2, $3) AND c.active = 1 ORDER BY c.uid`
	sqlAlertBody = `SELECT body FROM alerts WHERE org_uid = $1 AND uid = $2`
	// Before the delivery is written, even if this changes nothing: the lock on the row orders this before or after
	// an attempt that ends, which reads the pending deliveries only after it has the lock.
	// A channel that has not failed waits for the next attempt of one of its deliveries only.
	sqlWakeChannel = `UPDATE alert_channels SET next_at = CASE WHEN active = 1 AND (next_at IS NULL OR next_at > $4
		OR next_at > $3 AND failures = 0 AND lease_owner IS NULL) THEN CAST($3 AS BIGINT) ELSE next_at END
		WHERE org_uid = $1 AND uid = $2`

	// A recovery does not arrive before the failure that it ends, which would then stay at the receiver. An email that some addresses got
	// delays nothing for the others.
	sqlInsertDelivery = `INSERT INTO alert_deliveries (uid, org_uid, alert_uid, channel_uid, created_at, next_at, registry_uid)
		VALUES ($1, $2, $3, $4, $5, COALESCE((SELECT MAX(next_at) FROM alert_deliveries WHERE channel_uid = $4 AND registry_uid = $6
		AND $6 <> '' AND next_at > $5 AND next_at <= $7 AND told = '' AND attempts < $8), $5), $6)`
	sqlDelayLater = `UPDATE alert_deliveries SET next_at = $3 WHERE channel_uid = $1 AND next_at < $3 AND created_at >= $4
		AND registry_uid = $2`
	sqlNextDelivery = `SELECT d.uid, d.channel_uid, d.created_at, d.next_at, d.attempts, d.told, d.refused, a.body, a.uid, a.org_uid,
		d.registry_uid FROM alert_deliveries d JOIN alerts a ON a.uid = d.alert_uid
		WHERE d.channel_uid = $1 AND d.next_at <= $2 ORDER BY d.next_at, d.created_at LIMIT 1`
	sqlEndDelivery = `UPDATE alert_deliveries SET next_at = $2, attempts = $3, told = $4, ended_at = $5, delivered = $6, refused = $7
		WHERE uid = $1 AND ended_at IS NULL`
	sqlHurryDeliveries = `UPDATE alert_deliveries SET next_at = $2 WHERE channel_uid = $1 AND next_at > $2`
	sqlDeliveryLeft    = `SELECT next_at FROM alert_deliveries WHERE channel_uid = $1 AND next_at IS NOT NULL ORDER BY next_at LIMIT 1`
	// An alert that waits for the end of a mute is sent after it, however old it is, if the registry still fails.
	sqlDeleteAlerts = `DELETE FROM alerts WHERE uid IN (SELECT uid FROM alerts a WHERE a.at < $1 AND NOT EXISTS
		(SELECT 1 FROM alert_incidents i JOIN registry_watch w ON w.registry_uid = i.registry_uid
		WHERE i.org_uid = a.org_uid AND i.alert_uid = a.uid AND w.valid = 0) LIMIT $2)`
	sqlCountDeliveries = `SELECT COUNT(*) FROM (SELECT 1 FROM alert_deliveries WHERE next_at IS NOT NULL LIMIT $1) AS counted`

	sqlChannelsDue = oldestDue + `alert_channels WHERE next_at <= $1` + newestDue + `alert_channels WHERE next_at <= $1` + endDue
	sqlChannelOrgs = orgsOf + `alert_channels` + firstOrg + `alert_channels` + nextOrg +
		`(SELECT MIN(next_at) FROM alert_channels WHERE org_uid = waiting.org_uid AND next_at IS NOT NULL) <= $1` + endOrgs
	claimChannels       = `UPDATE alert_channels SET lease_owner = $2, next_at = $3 WHERE uid `
	sqliteClaimChannels = claimChannels + `IN (SELECT uid FROM alert_channels WHERE org_uid = $4 AND next_at <= $1
		ORDER BY next_at LIMIT $5) RETURNING uid, org_uid, lease_owner`
	postgresClaimChannels = claimChannels + eachShare + `(SELECT uid FROM alert_channels WHERE ` + ofShare + endShare +
		`uid, org_uid, lease_owner`
	sqlFreeChannel    = `UPDATE alert_channels SET lease_owner = NULL WHERE uid = $1 AND lease_owner = $2`
	sqlNoteAttempt    = `UPDATE alert_channels SET failures = $2, status_ok = $3, status_message = $4, status_at = $5 WHERE uid = $1`
	sqlPlanChannel    = `UPDATE alert_channels SET next_at = CASE WHEN active = 1 THEN CAST($2 AS BIGINT) ELSE NULL END WHERE uid = $1`
	sqlReleaseChannel = `UPDATE alert_channels SET lease_owner = NULL, next_at = CASE WHEN active = 1 THEN CAST($3 AS BIGINT)
		ELSE NULL END WHERE uid = $1 AND lease_owner = $2`

	sqlAlertedEmails = `SELECT u.email FROM users u WHERE u.org_uid = $1 AND u.workload = 0 AND u.disabled_at IS NULL
		AND (u.role = 'admin' OR EXISTS (SELECT 1 FROM project_members m WHERE m.user_uid = u.uid AND m.project_uid = $2))
		ORDER BY u.canonical LIMIT $3`
)

// Outbox reads and changes alerts and their pending deliveries.
type Outbox struct{ *conn }

// Store stores an alert without deliveries. It belongs in the transaction of the change that the alert reports.
func (tx Outbox) Store(ctx context.Context, a Alert) error {
	return tx.db.ChangeOne(ctx, sqlInsertAlert, a.UID, a.OrgUID, a.Component, rows.Millis(a.At), a.Body)
}

// AlertedChannels lists the active channels of an alert's organization and components.
func (tx Outbox) AlertedChannels(ctx context.Context, a Alert) ([]AlertedChannel, error) {
	return rows.All(ctx, tx.db, func(row rows.Scanner, c *AlertedChannel) error {
		return row.Scan(&c.UID, &c.AfterMinutes, &c.RepeatHours, rows.Moment(&c.DueAt), &c.Sent)
	}, sqlActiveChannels, a.OrgUID, a.Component, a.OtherComponent, a.RegistryUID)
}

// Body returns the body of a stored alert.
func (tx Outbox) Body(ctx context.Context, orgUID, uid string) ([]byte, error) {
	return rows.One(ctx, tx.db, func(row rows.Scanner, body *[]byte) error { return row.Scan(body) }, sqlAlertBody, orgUID, uid)
}

// Enqueue adds a pending delivery of a stored alert to a channel, which may have been deleted. A channel that waits until after latest, as
// none does unless a clock was wrong, waits no longer.
func (tx Outbox) Enqueue(ctx context.Context, a Alert, channelUID string, latest time.Time) error {
	woken, err := tx.db.Change(ctx, sqlWakeChannel, a.OrgUID, channelUID, rows.Millis(a.At), rows.Millis(latest))
	if err != nil || woken == 0 {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlInsertDelivery, uuid.NewString(), a.OrgUID, a.UID, channelUID, rows.Millis(a.At), a.RegistryUID,
		rows.Millis(latest), maxOrdered)
}

// DueOrgs lists the organizations that have something to send at that moment, by uid.
func (tx Outbox) DueOrgs(ctx context.Context, now time.Time) ([]string, error) {
	return dueOrgs(ctx, tx.conn, sqlChannelsDue, sqlChannelOrgs, now)
}

// Claim claims channels that have something to send, the longest overdue of each organization first: no other caller sends by
// them before leaseUntil. owner identifies this claim.
func (tx Outbox) Claim(ctx context.Context, owner string, now, leaseUntil time.Time, shares []Share) ([]ClaimedChannel, error) {
	scan := func(row rows.Scanner, c *ClaimedChannel) error { return row.Scan(&c.UID, &c.OrgUID, &c.Owner) }
	return claim(ctx, tx.conn, scan, sqliteClaimChannels, postgresClaimChannels, owner, now, leaseUntil, shares)
}

// Next returns the first due delivery of a channel, with its alert.
func (tx Outbox) Next(ctx context.Context, channelUID string, now time.Time) (Delivery, error) {
	return rows.One(ctx, tx.db, func(row rows.Scanner, d *Delivery) error {
		return row.Scan(&d.UID, &d.ChannelUID, rows.Moment(&d.CreatedAt), rows.Moment(&d.NextAt), &d.Attempts, jsontext.To(&d.Processed),
			&d.Refused, &d.AlertBody, &d.AlertUID, &d.OrgUID, &d.RegistryUID)
	}, sqlNextDelivery, channelUID, rows.Millis(now))
}

// EndAttempt stores how an attempt ended: the delivery d, and the channel's status and failures in a row. The channel is
// due again at notBefore, or later when no delivery is due by then.
func (tx Outbox) EndAttempt(ctx context.Context, c ClaimedChannel, d Delivery, failures int64, status ChannelStatus,
	notBefore time.Time) error {
	held, err := tx.db.Change(ctx, sqlFreeChannel, c.UID, c.Owner) // first: see sqlWakeChannel
	if err != nil {
		return err
	}
	processed := ""
	if len(d.Processed) > 0 {
		if processed, err = jsontext.List(d.Processed); err != nil {
			return err
		}
	}
	err = tx.db.ChangeAny(ctx, sqlEndDelivery, d.UID, rows.Millis(d.NextAt), d.Attempts, processed, rows.Millis(d.EndedAt),
		rows.Flag(d.Delivered), d.Refused)
	if err == nil && d.RegistryUID != "" && !d.NextAt.IsZero() && processed == "" && d.Attempts < maxOrdered {
		err = tx.db.ChangeAny(ctx, sqlDelayLater, c.UID, d.RegistryUID, rows.Millis(d.NextAt), rows.Millis(d.CreatedAt))
	}
	if err == nil {
		err = tx.db.ChangeAny(ctx, sqlNoteAttempt, c.UID, failures, rows.Flag(status.OK), status.Message, rows.Millis(status.At))
	}
	if err == nil && d.Delivered { // the receiver works again: other deliveries need not wait longer
		err = tx.db.ChangeAny(ctx, sqlHurryDeliveries, c.UID, rows.Millis(status.At))
	}
	if err != nil {
		return err
	}
	return tx.plan(ctx, c, held == 1, notBefore)
}

// EndIdle releases a claimed channel that has nothing to send now.
func (tx Outbox) EndIdle(ctx context.Context, c ClaimedChannel) error {
	held, err := tx.db.Change(ctx, sqlFreeChannel, c.UID, c.Owner)
	if err != nil {
		return err
	}
	return tx.plan(ctx, c, held == 1, time.Time{})
}

// plan stores when a channel is due again: never, when no delivery is pending. It changes nothing when the lease was lost.
func (tx Outbox) plan(ctx context.Context, c ClaimedChannel, held bool, notBefore time.Time) error {
	if !held {
		return nil
	}
	next, err := rows.One(ctx, tx.db, rows.ScanMoment, sqlDeliveryLeft, c.UID)
	if errors.Is(err, ErrNotFound) {
		next, notBefore, err = time.Time{}, time.Time{}, nil
	}
	if err != nil {
		return fmt.Errorf("read the next pending delivery: %w", err)
	}
	if next.Before(notBefore) {
		next = notBefore
	}
	return tx.db.ChangeAny(ctx, sqlPlanChannel, c.UID, rows.Millis(next))
}

// Release releases a claimed channel untried, to be due at that moment. A lost lease is not an error.
func (tx Outbox) Release(ctx context.Context, c ClaimedChannel, next time.Time) error {
	return tx.db.ChangeAny(ctx, sqlReleaseChannel, c.UID, c.Owner, rows.Millis(next))
}

// Count counts the pending deliveries, up to atMost.
func (tx Outbox) Count(ctx context.Context, atMost int) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount, sqlCountDeliveries, atMost)
}

// DeleteBefore deletes at most limit alerts from before a moment with their pending deliveries, except those of incidents, and returns
// how many.
func (tx Outbox) DeleteBefore(ctx context.Context, before time.Time, limit int) (int64, error) {
	return tx.db.Change(ctx, sqlDeleteAlerts, rows.Millis(before), limit)
}

// Emails lists the addresses of a project's enabled users and of the organization's enabled administrators.
func (tx Outbox) Emails(ctx context.Context, orgUID, projectUID string, limit int) ([]string, error) {
	return rows.All(ctx, tx.db, rows.ScanText, sqlAlertedEmails, orgUID, projectUID, limit)
}

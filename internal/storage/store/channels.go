package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

// Channel is a way to deliver the alerts of a component of a project. Where an HTTP channel sends, and what,
// may hold secrets and is encrypted in the database.
type Channel struct {
	UID, OrgUID, ProjectUID, Component, Type string
	Name                                     string
	Position                                 int64
	Active, AlertAllUsers                    bool
	Identifiers                              []string // email addresses
	HTTP                                     ChannelHTTP
	Damaged                                  bool // HTTP cannot be decrypted, and is empty
	CreatedAt                                time.Time
	NextAt                                   time.Time // zero while no delivery is pending
	LeaseOwner                               string
	Failures                                 int64 // in a row
	Status                                   ChannelStatus
	AlertTimes
}

// AlertTimes are when a channel alerts of a registry: after it failed for so many minutes, and again each so many hours while it fails.
type AlertTimes struct{ AfterMinutes, RepeatHours int64 }

// ChannelHTTP is where and what an HTTP channel sends. Its strings are plain: callers that show them mask them.
type ChannelHTTP struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Secret  string            `json:"secret,omitempty"` // signs what is sent
}

// ChannelStatus is the result of the newest attempt to send. At is zero when there was none.
type ChannelStatus struct {
	OK      bool
	Message string
	At      time.Time
}

// String masks the URL, and omits everything else, which may be secret.
func (h ChannelHTTP) String() string { return secret.String(h.URL).String() }

const (
	channelColumns = `uid, org_uid, project_uid, component, position, type, active, alert_all_users, identifiers, sealed, created_at,
		next_at, lease_owner, failures, status_ok, status_message, status_at, name, after_minutes, repeat_hours`

	sqlInsertChannel = `INSERT INTO alert_channels (uid, org_uid, project_uid, component, position, type, active, alert_all_users,
		identifiers, sealed, created_at, name, after_minutes, repeat_hours)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`
	// Deliveries that were pending while the channel was not active are sent once it is again. A lease keeps its end: its owner, or the
	// next one, then reads the channel and reschedules it.
	sqlUpdateChannel = `UPDATE alert_channels SET position = $3, active = $4, alert_all_users = $5, identifiers = $6, sealed = $7,
		name = $9, after_minutes = $10, repeat_hours = $11, failures = 0,
		next_at = CASE WHEN lease_owner IS NOT NULL THEN next_at WHEN CAST($4 AS BIGINT) = 0 THEN NULL
		ELSE CAST($8 AS BIGINT) END WHERE org_uid = $1 AND uid = $2`
	sqlServeChannel = `UPDATE alert_channels SET next_at = $3 WHERE org_uid = $1 AND uid = $2 AND active = 1 AND lease_owner IS NULL
		AND (next_at IS NULL OR next_at > $3)`
	sqlDeleteChannel = `DELETE FROM alert_channels WHERE org_uid = $1 AND uid = $2`
	sqlChannels      = `SELECT ` + channelColumns + ` FROM alert_channels WHERE org_uid = $1 AND project_uid = $2 AND component = $3
		ORDER BY position, uid`
	sqlOrgChannels   = `SELECT ` + channelColumns + ` FROM alert_channels WHERE org_uid = $1 ORDER BY project_uid, component, position, uid`
	sqlWebhooks      = `SELECT ` + channelColumns + ` FROM alert_channels WHERE org_uid = $1 AND type = 'http'`
	sqlCountChannels = `SELECT COUNT(*) FROM alert_channels WHERE org_uid = $1 AND component = $2`
	sqlChannel       = `SELECT ` + channelColumns + ` FROM alert_channels WHERE org_uid = $1 AND uid = $2`
)

func channelLocation(orgUID, uid string) seal.Location {
	return seal.Location{Table: "alert_channels", Row: uid, Org: orgUID, Column: "sealed"}
}

// Channels reads and changes the channels of alerts.
type Channels struct{ *conn }

// encode returns the texts of the columns for identifiers and for the encrypted HTTP.
func (tx Channels) encode(c Channel) (identifiers string, ciphertext []byte, err error) {
	if identifiers, err = jsontext.List(c.Identifiers); err != nil || c.HTTP.URL == "" {
		return identifiers, nil, err
	}
	plain, err := json.Marshal(c.HTTP) // #nosec G117 -- encrypted below
	if err != nil {
		return "", nil, fmt.Errorf("encode an alert channel: %w", err)
	}
	ciphertext, err = tx.ring.Encrypt(plain, channelLocation(c.OrgUID, c.UID))
	return identifiers, ciphertext, err
}

// scan reads a channel. One that cannot be decrypted is Damaged, and affects no other.
func (tx Channels) scan(row rows.Scanner, c *Channel) error {
	var ciphertext []byte
	err := row.Scan(&c.UID, &c.OrgUID, &c.ProjectUID, &c.Component, &c.Position, &c.Type, rows.Truth(&c.Active),
		rows.Truth(&c.AlertAllUsers),
		jsontext.To(&c.Identifiers), &ciphertext, rows.Moment(&c.CreatedAt), rows.Moment(&c.NextAt), rows.Text(&c.LeaseOwner), &c.Failures,
		rows.Truth(&c.Status.OK), &c.Status.Message, rows.Moment(&c.Status.At), &c.Name, &c.AfterMinutes, &c.RepeatHours)
	if err != nil {
		return err
	}
	if ciphertext == nil {
		return nil
	}
	plain, err := tx.ring.Decrypt(ciphertext, channelLocation(c.OrgUID, c.UID))
	if errors.Is(err, seal.ErrDamaged) {
		c.Damaged = true
		return nil
	}
	if err != nil {
		return err
	}
	c.Damaged = json.Unmarshal(plain, &c.HTTP) != nil // the decoder's error may quote the text
	return nil
}

// Insert adds a channel. An unknown project is ErrNotFound: it may have been deleted since it was looked up.
func (tx Channels) Insert(ctx context.Context, c Channel) error {
	identifiers, ciphertext, err := tx.encode(c)
	if err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlInsertChannel, c.UID, c.OrgUID, c.ProjectUID, c.Component, c.Position, c.Type, rows.Flag(c.Active),
		rows.Flag(c.AlertAllUsers), identifiers, ciphertext, rows.Millis(c.CreatedAt), c.Name, c.AfterMinutes, c.RepeatHours)
}

// Update stores position, activity, addresses and HTTP of a channel. Its pending deliveries are due now.
func (tx Channels) Update(ctx context.Context, c Channel, now time.Time) error {
	identifiers, ciphertext, err := tx.encode(c)
	if err != nil {
		return err
	}
	if err := tx.db.ChangeOne(ctx, sqlUpdateChannel, c.OrgUID, c.UID, c.Position, rows.Flag(c.Active), rows.Flag(c.AlertAllUsers),
		identifiers, ciphertext, rows.Millis(now), c.Name, c.AfterMinutes, c.RepeatHours); err != nil {
		return err
	}
	return tx.db.ChangeAny(ctx, sqlHurryDeliveries, c.UID, rows.Millis(now))
}

// Wake makes an active channel without a lease due at that moment, if it is not due sooner.
func (tx Channels) Wake(ctx context.Context, orgUID, uid string, at time.Time) error {
	return tx.db.ChangeAny(ctx, sqlServeChannel, orgUID, uid, rows.Millis(at))
}

// Delete deletes a channel and its pending deliveries.
func (tx Channels) Delete(ctx context.Context, orgUID, uid string) error {
	return tx.db.ChangeOne(ctx, sqlDeleteChannel, orgUID, uid)
}

// DeleteOf deletes the channels of a project and their pending deliveries, and returns the channels. As for Projects.Clear,
// Projects.Lock must not come first.
func (tx Channels) DeleteOf(ctx context.Context, orgUID, projectUID string) ([]Channel, error) {
	return rows.All(ctx, tx.db, tx.scan, sqlDeleteChannelsOf, orgUID, projectUID)
}

// List lists the channels of a project's component in their order.
func (tx Channels) List(ctx context.Context, orgUID, projectUID, component string) ([]Channel, error) {
	return rows.All(ctx, tx.db, tx.scan, sqlChannels, orgUID, projectUID, component)
}

// OfOrg lists the channels of all components of an organization, in their order within a component.
func (tx Channels) OfOrg(ctx context.Context, orgUID string) ([]Channel, error) {
	return rows.All(ctx, tx.db, tx.scan, sqlOrgChannels, orgUID)
}

// Webhooks lists the channels of an organization that send to webhooks.
func (tx Channels) Webhooks(ctx context.Context, orgUID string) ([]Channel, error) {
	return rows.All(ctx, tx.db, tx.scan, sqlWebhooks, orgUID)
}

// Count counts the channels of a component in all projects of an organization.
func (tx Channels) Count(ctx context.Context, orgUID, component string) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount, sqlCountChannels, orgUID, component)
}

// Get looks a channel up within its organization.
func (tx Channels) Get(ctx context.Context, orgUID, uid string) (Channel, error) {
	return rows.One(ctx, tx.db, tx.scan, sqlChannel, orgUID, uid)
}

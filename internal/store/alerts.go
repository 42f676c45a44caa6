package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/secret"
)

// Channel is one way by which the alerts of a component leave a project. Where an HTTP channel sends, and what,
// may hold secrets and is sealed in the database.
type Channel struct {
	UID, OrgUID, ProjectUID, Component, Type string
	Position                                 int64
	Active, AlertAllUsers                    bool
	Identifiers                              []string // e-mail addresses
	HTTP                                     ChannelHTTP
	Damaged                                  bool // what is sealed does not open, and HTTP is empty
	CreatedAt                                time.Time
	NextAt                                   time.Time // zero while nothing waits to be sent
	LeaseOwner                               string
	Failures                                 int64 // in a row
	Status                                   ChannelStatus
}

// ChannelHTTP is where and what an HTTP channel sends. Its strings are plain: whoever shows them masks them.
type ChannelHTTP struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Secret  string            `json:"secret,omitempty"` // signs what is sent
}

// ChannelStatus is how the newest attempt to send ended. The zero At says that there was none.
type ChannelStatus struct {
	OK      bool
	Message string
	At      time.Time
}

// LogValue keeps the secrets of a channel out of a log.
func (h ChannelHTTP) String() string { return secret.String(h.URL).String() }

const (
	channelColumns = `uid, org_uid, project_uid, component, position, type, active, alert_all_users, identifiers, sealed, created_at,
		next_at, lease_owner, failures, status_ok, status_message, status_at`

	sqlInsertChannel = `INSERT INTO alert_channels (uid, org_uid, project_uid, component, position, type, active, alert_all_users, identifiers, sealed, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
	// What waited while the channel was not active is sent once it is again. A lease keeps its end, on or off: whoever
	// has it then, or takes the channel when it ran out, sees what the channel is and plans it anew.
	sqlUpdateChannel = `UPDATE alert_channels SET position = $3, active = $4, alert_all_users = $5, identifiers = $6, sealed = $7, failures = 0,
		next_at = CASE WHEN lease_owner IS NOT NULL THEN next_at WHEN CAST($4 AS BIGINT) = 0 THEN NULL ELSE CAST($8 AS BIGINT) END
		WHERE org_uid = $1 AND uid = $2`
	sqlServeChannel  = `UPDATE alert_channels SET next_at = $3 WHERE org_uid = $1 AND uid = $2 AND active = 1 AND lease_owner IS NULL AND (next_at IS NULL OR next_at > $3)`
	sqlDeleteChannel = `DELETE FROM alert_channels WHERE org_uid = $1 AND uid = $2`
	sqlChannels      = `SELECT ` + channelColumns + ` FROM alert_channels WHERE org_uid = $1 AND project_uid = $2 AND component = $3 ORDER BY position, uid`
	sqlWebhooks      = `SELECT ` + channelColumns + ` FROM alert_channels WHERE org_uid = $1 AND type = 'http'`
	sqlCountChannels = `SELECT COUNT(*) FROM alert_channels WHERE org_uid = $1 AND component = $2`
	sqlChannel       = `SELECT ` + channelColumns + ` FROM alert_channels WHERE org_uid = $1 AND uid = $2`
)

func channelPlace(orgUID, uid string) seal.Place {
	return seal.Place{Table: "alert_channels", Row: uid, Org: orgUID, Column: "sealed"}
}

// Channels reads and changes the channels of alerts.
type Channels struct{ *conn }

func (tx Channels) seal(c Channel) ([]byte, error) {
	if c.HTTP.URL == "" {
		return nil, nil
	}
	plain, err := json.Marshal(c.HTTP) // #nosec G117 -- sealed in the next line
	if err != nil {
		return nil, fmt.Errorf("encode an alert channel: %w", err)
	}
	return tx.ring.Seal(plain, channelPlace(c.OrgUID, c.UID))
}

// scan reads a channel. One that does not open is Damaged, and disturbs nothing else.
func (tx Channels) scan(row scanner, c *Channel) error {
	var identifiers string
	var sealed []byte
	err := row.Scan(&c.UID, &c.OrgUID, &c.ProjectUID, &c.Component, &c.Position, &c.Type, truth{&c.Active}, truth{&c.AlertAllUsers}, &identifiers,
		&sealed, moment{&c.CreatedAt}, moment{&c.NextAt}, text{&c.LeaseOwner}, &c.Failures, truth{&c.Status.OK}, &c.Status.Message, moment{&c.Status.At})
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(identifiers), &c.Identifiers); err != nil {
		return fmt.Errorf("identifiers of alert channel %s: %w", c.UID, err)
	}
	if sealed == nil {
		return nil
	}
	plain, err := tx.ring.Open(sealed, channelPlace(c.OrgUID, c.UID))
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

// Insert adds a channel. An unknown project is an internal error: it was looked up before.
func (tx Channels) Insert(ctx context.Context, c Channel) error {
	sealed, err := tx.seal(c)
	if err != nil {
		return err
	}
	identifiers, err := list(c.Identifiers)
	if err != nil {
		return err
	}
	return tx.changeOne(ctx, sqlInsertChannel, c.UID, c.OrgUID, c.ProjectUID, c.Component, c.Position, c.Type, flag(c.Active), flag(c.AlertAllUsers),
		identifiers, sealed, millis(c.CreatedAt))
}

// Update stores position, activity, addresses and HTTP of a channel. What waits to be sent is tried at now.
func (tx Channels) Update(ctx context.Context, c Channel, now time.Time) error {
	sealed, err := tx.seal(c)
	if err != nil {
		return err
	}
	identifiers, err := list(c.Identifiers)
	if err != nil {
		return err
	}
	if err := tx.changeOne(ctx, sqlUpdateChannel, c.OrgUID, c.UID, c.Position, flag(c.Active), flag(c.AlertAllUsers), identifiers, sealed, millis(now)); err != nil {
		return err
	}
	_, err = tx.change(ctx, sqlHurryDeliveries, c.UID, millis(now))
	return err
}

// Wake has an active channel that nobody serves now served at that moment, if not sooner.
func (tx Channels) Wake(ctx context.Context, orgUID, uid string, at time.Time) error {
	_, err := tx.change(ctx, sqlServeChannel, orgUID, uid, millis(at))
	return err
}

// list stores texts as JSON.
func list(of []string) (string, error) {
	if of == nil {
		of = []string{}
	}
	encoded, err := json.Marshal(of)
	return string(encoded), err
}

// Delete deletes a channel and what waits to be sent by it.
func (tx Channels) Delete(ctx context.Context, orgUID, uid string) error {
	return tx.changeOne(ctx, sqlDeleteChannel, orgUID, uid)
}

// List lists the channels of a project's component in their order.
func (tx Channels) List(ctx context.Context, orgUID, projectUID, component string) ([]Channel, error) {
	return all(ctx, tx.conn, tx.scan, sqlChannels, orgUID, projectUID, component)
}

// Webhooks lists the channels of an organization that lead to webhooks.
func (tx Channels) Webhooks(ctx context.Context, orgUID string) ([]Channel, error) {
	return all(ctx, tx.conn, tx.scan, sqlWebhooks, orgUID)
}

// Count counts the channels of a component in all projects of an organization.
func (tx Channels) Count(ctx context.Context, orgUID, component string) (int64, error) {
	return one(ctx, tx.conn, scanCount, sqlCountChannels, orgUID, component)
}

// Get looks a channel up within its organization.
func (tx Channels) Get(ctx context.Context, orgUID, uid string) (Channel, error) {
	return one(ctx, tx.conn, tx.scan, sqlChannel, orgUID, uid)
}

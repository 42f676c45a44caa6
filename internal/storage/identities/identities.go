// Package identities stores the identity providers of organizations, who their users are at these, and the sessions that began there.
package identities

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/regwarden/regwarden/internal/storage/jsontext"
	"github.com/regwarden/regwarden/internal/storage/rows"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

// Provider is the identity provider of an organization.
type Provider struct {
	OrgUID, Issuer string
	Settings       Settings
	Secret         secret.String // of the client; may be empty
	ChangedAt      time.Time
}

// Settings are those of a provider that are not secret. They are stored as JSON.
type Settings struct {
	Disabled       bool              `json:"disabled,omitempty"` // no login, and sessions end at their next check
	Name           string            `json:"name,omitempty"`     // for people
	ClientID       string            `json:"clientId"`
	Scopes         []string          `json:"scopes,omitempty"`
	EmailDomains   []string          `json:"emailDomains,omitempty"`   // canonical; empty: all
	EmailsVerified bool              `json:"emailsVerified,omitempty"` // addresses without the claim email_verified are verified too
	Claims         map[string]string `json:"claims,omitempty"`         // names of claims, by ClaimEmail and others
	UserInfo       map[string]string `json:"userInfo,omitempty"`       // like Claims, of the userinfo endpoint: they count before those
	SyncTeams      bool              `json:"syncTeams,omitempty"`      // a group without a team gets one
	DefaultTeams   []string          `json:"defaultTeams,omitempty"`   // uids of the teams of a person whose groups have none
	CA             string            `json:"ca,omitempty"`             // PEM, trusted for the provider in addition
}

// Keys of Settings.Claims.
const (
	ClaimEmail     = "email"
	ClaimFirstName = "firstName"
	ClaimLastName  = "lastName"
	ClaimGroups    = "groups" // read only if it is configured

	ClaimExternalID = "externalId" // what SCIM calls externalId
)

// UseTeams reports whether the provider decides about teams: a person without one may do nothing then.
func (s Settings) UseTeams() bool { return s.Claims[ClaimGroups] != "" || len(s.DefaultTeams) > 0 }

// Claim returns the name of the claim that has a value: the configured one, or that of OpenID Connect.
func (s Settings) Claim(key string) string {
	standard := map[string]string{ClaimEmail: "email", ClaimFirstName: "given_name", ClaimLastName: "family_name",
		ClaimExternalID: "sub"}
	return cmp.Or(s.Claims[key], standard[key])
}

// Identity is who a user is at an issuer.
type Identity struct {
	UID, OrgUID, UserUID string
	Issuer, Subject      string
	Refresh              secret.String // the provider's refresh token; may be empty
	RecheckAt            time.Time     // zero: the provider is not asked
	CreatedAt            time.Time
}

// Session is what is stored about a session that began at a provider.
type Session struct {
	SessionUID, IdentityUID string
	SID                     string // the provider's name of its own session; may be empty
	IDToken                 secret.String
}

const (
	sqlPutProvider = `INSERT INTO identity_providers (org_uid, issuer, settings, client_secret, changed_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (org_uid) DO UPDATE SET issuer = excluded.issuer, settings = excluded.settings, client_secret = excluded.client_secret,
		changed_at = excluded.changed_at`
	providerColumns   = `SELECT org_uid, issuer, settings, client_secret, changed_at FROM identity_providers`
	sqlProvider       = providerColumns + ` WHERE org_uid = $1`
	sqlAnyProvider    = `SELECT COUNT(*) FROM (SELECT 1 FROM identity_providers LIMIT 1) AS found`
	sqlDeleteProvider = `DELETE FROM identity_providers WHERE org_uid = $1`

	identityColumns = `SELECT i.uid, i.org_uid, i.user_uid, i.issuer, i.subject, i.refresh_token, i.recheck_at, i.created_at
		FROM identities i`
	sqlInsert       = `INSERT INTO identities (uid, org_uid, user_uid, issuer, subject, created_at) VALUES ($1, $2, $3, $4, $5, $6)`
	sqlBySubject    = identityColumns + ` WHERE i.org_uid = $1 AND i.issuer = $2 AND i.subject = $3`
	sqlBySession    = identityColumns + ` JOIN session_identities s ON s.identity_uid = i.uid WHERE s.session_uid = $1`
	sqlOfUser       = identityColumns + ` WHERE i.org_uid = $1 AND i.user_uid = $2 ORDER BY i.created_at, i.uid`
	sqlDeleteOfUser = `DELETE FROM identities WHERE org_uid = $1 AND user_uid = $2`
	sqlVerified     = `UPDATE identities SET refresh_token = $2, recheck_at = $3 WHERE uid = $1`
	sqlClaim        = `UPDATE identities SET recheck_at = $3 WHERE uid = $1 AND recheck_at <= $2`
	// The sessions of an identity have its time, so that renewing one reads no other row.
	sqlRecheckSessions = `UPDATE sessions SET recheck_at = (SELECT recheck_at FROM identities WHERE uid = $1)
		WHERE uid IN (SELECT session_uid FROM session_identities WHERE identity_uid = $1) AND ended_at IS NULL`

	sqlInsertSession = `INSERT INTO session_identities (session_uid, identity_uid, sid, id_token) VALUES ($1, $2, $3, $4)`
	sessionColumns   = `SELECT session_uid, identity_uid, sid, id_token FROM session_identities`
	sqlSession       = sessionColumns + ` WHERE session_uid = $1`
	// Sessions that live at $2.
	sqlLive = `SELECT x.session_uid FROM session_identities x JOIN sessions s ON s.uid = x.session_uid
		WHERE x.identity_uid = $1 AND s.ended_at IS NULL AND s.idle_until > $2 AND s.max_until > $2
		ORDER BY x.session_uid`
)

// Identities reads and changes providers and identities.
type Identities struct {
	db   *rows.Conn
	ring *seal.Keyring
}

// In returns the identities of one transaction.
func In(db *rows.Conn, ring *seal.Keyring) Identities { return Identities{db, ring} }

func providerLocation(orgUID string) seal.Location {
	return seal.Location{Table: "identity_providers", Row: orgUID, Org: orgUID, Column: "client_secret"}
}

func identityLocation(uid string) seal.Location {
	return seal.Location{Table: "identities", Row: uid, Column: "refresh_token"}
}

func sessionLocation(uid string) seal.Location {
	return seal.Location{Table: "session_identities", Row: uid, Column: "id_token"}
}

// encrypt returns the value of a column, NULL for an empty text.
func (tx Identities) encrypt(text secret.String, at seal.Location) (any, error) {
	if text == "" {
		return nil, nil
	}
	return tx.ring.Encrypt([]byte(text.Reveal()), at)
}

func (tx Identities) decrypt(ciphertext []byte, at seal.Location, to *secret.String) error {
	if ciphertext == nil {
		return nil
	}
	plain, err := tx.ring.Decrypt(ciphertext, at)
	*to = secret.String(plain)
	return err
}

// PutProvider adds or replaces the provider of an organization.
func (tx Identities) PutProvider(ctx context.Context, p Provider) error {
	ciphertext, err := tx.encrypt(p.Secret, providerLocation(p.OrgUID))
	if err != nil {
		return err
	}
	settings, err := json.Marshal(p.Settings)
	if err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlPutProvider, p.OrgUID, p.Issuer, string(settings), ciphertext, rows.Millis(p.ChangedAt))
}

func (tx Identities) scanProvider(row rows.Scanner, p *Provider) error {
	var ciphertext []byte
	if err := row.Scan(&p.OrgUID, &p.Issuer, jsontext.To(&p.Settings), &ciphertext, rows.Moment(&p.ChangedAt)); err != nil {
		return err
	}
	return tx.decrypt(ciphertext, providerLocation(p.OrgUID), &p.Secret)
}

// Provider returns the provider of an organization.
func (tx Identities) Provider(ctx context.Context, orgUID string) (Provider, error) {
	return rows.One(ctx, tx.db, tx.scanProvider, sqlProvider, orgUID)
}

// AnyProvider reports whether any organization has a provider.
func (tx Identities) AnyProvider(ctx context.Context) (bool, error) {
	n, err := rows.One(ctx, tx.db, rows.ScanCount, sqlAnyProvider)
	return n > 0, err
}

// DeleteProvider deletes the provider of an organization. Identities stay, for the same provider later.
func (tx Identities) DeleteProvider(ctx context.Context, orgUID string) error {
	return tx.db.ChangeOne(ctx, sqlDeleteProvider, orgUID)
}

func (tx Identities) scan(row rows.Scanner, i *Identity) error {
	var ciphertext []byte
	if err := row.Scan(&i.UID, &i.OrgUID, &i.UserUID, &i.Issuer, &i.Subject, &ciphertext, rows.Moment(&i.RecheckAt),
		rows.Moment(&i.CreatedAt)); err != nil {
		return err
	}
	return tx.decrypt(ciphertext, identityLocation(i.UID), &i.Refresh)
}

// Insert adds an identity, whose user exists. The subject being another user's is sqldb.ErrExists.
func (tx Identities) Insert(ctx context.Context, i Identity) error {
	return tx.db.ChangeOne(ctx, sqlInsert, i.UID, i.OrgUID, i.UserUID, i.Issuer, i.Subject, rows.Millis(i.CreatedAt))
}

// BySubject looks an identity up within an organization.
func (tx Identities) BySubject(ctx context.Context, orgUID, issuer, subject string) (Identity, error) {
	return rows.One(ctx, tx.db, tx.scan, sqlBySubject, orgUID, issuer, subject)
}

// OfSession returns the identity that began a session.
func (tx Identities) OfSession(ctx context.Context, sessionUID string) (Identity, error) {
	return rows.One(ctx, tx.db, tx.scan, sqlBySession, sessionUID)
}

// OfUser lists the identities of a user, the oldest first.
func (tx Identities) OfUser(ctx context.Context, orgUID, userUID string) ([]Identity, error) {
	return rows.All(ctx, tx.db, tx.scan, sqlOfUser, orgUID, userUID)
}

// DeleteOfUser deletes the identities of a user.
func (tx Identities) DeleteOfUser(ctx context.Context, orgUID, userUID string) error {
	return tx.db.ChangeAny(ctx, sqlDeleteOfUser, orgUID, userUID)
}

// Verified stores that the provider vouches for an identity until next, and the refresh token by which it is asked then. The caller has
// locked the user, as it does before ending sessions.
func (tx Identities) Verified(ctx context.Context, uid string, refresh secret.String, next time.Time) error {
	ciphertext, err := tx.encrypt(refresh, identityLocation(uid))
	if err != nil {
		return err
	}
	if err := tx.db.ChangeOne(ctx, sqlVerified, uid, ciphertext, rows.Millis(next)); err != nil {
		return err
	}
	return tx.db.ChangeAny(ctx, sqlRecheckSessions, uid)
}

// Claim moves the time of an identity from the past to next, and reports whether it was this call that did. Of several callers one asks
// the provider, and the sessions of all may be renewed. The caller has locked the user.
func (tx Identities) Claim(ctx context.Context, uid string, now, next time.Time) (bool, error) {
	claimed, err := tx.db.Changed(ctx, sqlClaim, uid, rows.Millis(now), rows.Millis(next))
	if err != nil {
		return false, err
	}
	return claimed, tx.db.ChangeAny(ctx, sqlRecheckSessions, uid)
}

// Bind stores that a session began by an identity.
func (tx Identities) Bind(ctx context.Context, s Session) error {
	ciphertext, err := tx.encrypt(s.IDToken, sessionLocation(s.SessionUID))
	if err != nil {
		return err
	}
	return tx.db.ChangeOne(ctx, sqlInsertSession, s.SessionUID, s.IdentityUID, s.SID, ciphertext)
}

// Session returns what Bind stored.
func (tx Identities) Session(ctx context.Context, uid string) (Session, error) {
	return rows.One(ctx, tx.db, func(row rows.Scanner, s *Session) error {
		var ciphertext []byte
		if err := row.Scan(&s.SessionUID, &s.IdentityUID, &s.SID, &ciphertext); err != nil {
			return err
		}
		return tx.decrypt(ciphertext, sessionLocation(s.SessionUID), &s.IDToken)
	}, sqlSession, uid)
}

// Live lists the uids of the live sessions of an identity.
func (tx Identities) Live(ctx context.Context, identityUID string, now time.Time) ([]string, error) {
	return rows.All(ctx, tx.db, rows.ScanText, sqlLive, identityUID, rows.Millis(now))
}

// Encrypt encrypts what a browser holds for a short time, as JSON. The purpose and the organization are part of what is authenticated.
func (tx Identities) Encrypt(value any, purpose, orgUID string) ([]byte, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return tx.ring.Encrypt(plain, seal.Location{Table: "browser", Org: orgUID, Column: purpose})
}

// Decrypt reads what Encrypt returned for the same purpose and organization.
func (tx Identities) Decrypt(ciphertext []byte, value any, purpose, orgUID string) error {
	plain, err := tx.ring.Decrypt(ciphertext, seal.Location{Table: "browser", Org: orgUID, Column: purpose})
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, value)
}

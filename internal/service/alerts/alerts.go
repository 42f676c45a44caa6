// Package alerts notifies people of changes. It stores alert channels, enqueues deliveries in the transaction of the change, and
// sends them by webhook and email, with retries for up to three days.
//
// Other packages decide what raises an alert. A receiver is a third-party host: it is contacted only through the egress policy, and
// of its response only the status is stored. The administrator who tests a channel also sees the beginning of the response.
package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// Components that raise alerts.
const (
	RegistryHealth = "RegistryHealth"
	APIKeyExpiry   = "ApiKeyExpiry"
	// ClusterHealth has channels of its own, and the alerts of RegistryHealth: Terraform's provider knows no other component, and replaces
	// all channels of a component.
	ClusterHealth = "ClusterHealth"
)

// Types of channels.
const (
	TypeEmail = "email"
	TypeHTTP  = "http"
)

// Component is a source of alerts.
type Component struct {
	Name, Description string
	Channels          []string
}

// Components returns all components.
func Components() []Component {
	channels := []string{TypeEmail, TypeHTTP}
	return []Component{
		{RegistryHealth, "A stored registry definition is no longer valid, is valid again, is not valid for another reason, or its " +
			"certificate or credentials expire soon.", channels},
		{APIKeyExpiry, "API keys expire soon.", channels},
		{ClusterHealth, "The same alerts as RegistryHealth, for clients that know only this component.", channels},
	}
}

// Kind is the kind of a change.
type Kind string

// Kinds of alerts.
const (
	RegistryNotValid       Kind = "registryNotValid"
	RegistryValid          Kind = "registryValid"       // again
	RegistryCodeChanged    Kind = "registryCodeChanged" // still not valid, now for another reason
	CertificateExpiresSoon Kind = "certificateExpiresSoon"
	CredentialsExpireSoon  Kind = "credentialsExpireSoon"
	APIKeyExpiresSoon      Kind = "apiKeyExpiresSoon"
)

// Alert describes one change. Webhooks receive its JSON, which is a contract.
type Alert struct {
	UID          string       `json:"alertUid"`
	Component    string       `json:"component"`
	Kind         Kind         `json:"kind"`
	At           time.Time    `json:"at"`
	Message      string       `json:"message"` // one line
	Organization Organization `json:"organization"`
	Registry     *Registry    `json:"registry,omitempty"`
	APIKeys      []APIKey     `json:"apiKeys,omitempty"`
	Channel      string       `json:"channel,omitempty"` // the name of the channel that sends it
	Test         bool         `json:"test,omitempty"`    // nothing has changed: a user tests the channel
	Repeat       int64        `json:"repeat,omitempty"`  // how often the channel has alerted of it before: the registry still fails
	Link         string       `json:"link,omitempty"`    // page of the registry, or of the API keys; empty without Config.Pages
}

// Organization is the organization that an alert belongs to.
type Organization struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}

// Registry is the stored definition of an alert, with its health before and after the change.
type Registry struct {
	UID      string        `json:"uid"`
	Name     string        `json:"name"`
	Endpoint string        `json:"endpoint"`
	Previous *HealthResult `json:"previous"` // null: not checked before
	Current  HealthResult  `json:"current"`
}

// HealthResult is the result of a check. Fields that do not apply are empty.
type HealthResult struct {
	Valid                  bool   `json:"valid"`
	Code                   string `json:"code"`
	Stage                  string `json:"stage"`
	Reason                 string `json:"reason"`
	Field                  string `json:"field"`
	Message                string `json:"message,omitempty"`
	Hint                   string `json:"hint,omitempty"`
	CertificateExpiresSoon bool   `json:"certificateExpiresSoon"`
	CredentialsExpireSoon  bool   `json:"credentialsExpireSoon"`

	CertificateNotAfter time.Time `json:"certificateNotAfter,omitzero"`
	CredentialsNotAfter time.Time `json:"credentialsNotAfter,omitzero"`
}

// APIKey is an API key of an alert.
type APIKey struct {
	UID       string    `json:"uid"`
	Name      string    `json:"name"`
	User      string    `json:"user"` // email
	ExpiresAt time.Time `json:"expiresAt"`
}

// Raise stores an alert with a new UID, and enqueues a delivery for each active channel of its component, and of ClusterHealth for
// RegistryHealth, that alerts of it at once. Call it in the transaction of the change.
func Raise(ctx context.Context, tx *store.Tx, a Alert) error {
	stored, err := encode(&a)
	if err == nil {
		err = tx.Outbox.Store(ctx, stored)
	}
	if err != nil {
		return err
	}
	if a.ofIncident() {
		stored.RegistryUID = a.Registry.UID
	}
	channels, err := tx.Outbox.AlertedChannels(ctx, stored)
	if err == nil && a.Kind == RegistryValid {
		channels, err = recovered(ctx, tx, a, channels)
	}
	if err != nil {
		return err
	}
	for _, c := range channels {
		send, err := atOnce(ctx, tx, a, c)
		if send && err == nil {
			err = tx.Outbox.Enqueue(ctx, stored, c.UID, latest(a.At))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// encode gives an alert a new UID, and returns what is stored of it.
func encode(a *Alert) (stored store.Alert, err error) {
	a.UID = uuid.NewString()
	body, err := json.Marshal(a)
	if err != nil {
		return stored, fmt.Errorf("encode an alert: %w", err)
	}
	stored = store.Alert{UID: a.UID, OrgUID: a.Organization.UID, Component: a.Component, At: a.At, Body: body}
	if a.Component == RegistryHealth {
		stored.OtherComponent = ClusterHealth
	}
	return stored, nil
}

// latest is until when a channel may wait with an alert because of earlier ones.
func latest(at time.Time) time.Time { return at.Add(blockedWait + leaseTime) }

// ResultOf returns the health of a registry as alerts have it.
func ResultOf(v store.HealthResult) HealthResult {
	return HealthResult{Valid: v.Valid, Code: v.Code, Stage: v.Stage, Reason: v.Reason, Field: v.Field,
		Message: v.Message, Hint: v.Hint,
		CertificateExpiresSoon: v.CertificateExpiresSoon, CredentialsExpireSoon: v.CredentialsExpireSoon,
		CertificateNotAfter: v.CertificateNotAfter.UTC(), CredentialsNotAfter: v.CredentialsNotAfter.UTC()}
}

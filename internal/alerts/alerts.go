// Package alerts tells people what changed: it keeps where they want to be told, writes what is owed to them in the
// transaction of the change itself, and delivers it by webhook and e-mail until it arrived or three days have gone.
//
// It does not decide what is worth an alert. A receiver is a stranger's server: it is contacted through the egress
// policy alone, and nothing that it answers is kept but its status.
package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/store"
)

// Components that alerts can be had about.
const (
	RegistryHealth = "RegistryHealth"
	APIKeyExpiry   = "ApiKeyExpiry"
)

// Types of channels.
const (
	TypeEmail = "email"
	TypeHTTP  = "http"
)

// Component is one thing that alerts can be had about.
type Component struct {
	Name, Description string
	Channels          []string
}

// Components returns the closed list.
func Components() []Component {
	channels := []string{TypeEmail, TypeHTTP}
	return []Component{
		{RegistryHealth, "A kept registry definition is no longer valid, is valid again, is not valid for another reason, or its server's certificate expires soon.", channels},
		{APIKeyExpiry, "API keys expire within seven days.", channels},
	}
}

// Kind says what happened.
type Kind string

// Kinds of alerts.
const (
	RegistryNotValid       Kind = "registryNotValid"
	RegistryValid          Kind = "registryValid"       // again
	RegistryCodeChanged    Kind = "registryCodeChanged" // not valid, but for another reason
	CertificateExpiresSoon Kind = "certificateExpiresSoon"
	APIKeyExpiresSoon      Kind = "apiKeyExpiresSoon"
)

// Alert tells of one change. Its JSON is what a webhook receives, and a contract.
type Alert struct {
	UID          string       `json:"alertUid"`
	Component    string       `json:"component"`
	Kind         Kind         `json:"kind"`
	At           time.Time    `json:"at"`
	Message      string       `json:"message"` // one line
	Organization Organization `json:"organization"`
	Registry     *Registry    `json:"registry,omitempty"`
	APIKeys      []APIKey     `json:"apiKeys,omitempty"`
}

// Organization is whose alert it is.
type Organization struct {
	UID  string `json:"uid"`
	Name string `json:"name"`
}

// Registry is the kept definition that an alert is about, with the verdicts before and after.
type Registry struct {
	UID      string        `json:"uid"`
	Name     string        `json:"name"`
	Endpoint string        `json:"endpoint"`
	Previous *HealthResult `json:"previous"` // null: there was none
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
}

// APIKey is a key that an alert is about.
type APIKey struct {
	UID       string    `json:"uid"`
	Name      string    `json:"name"`
	User      string    `json:"user"` // e-mail
	ExpiresAt time.Time `json:"expiresAt"`
}

// Raise writes an alert and what it owes to every active channel of its component. It belongs in the transaction of
// the change. The alert's UID is made here.
func Raise(ctx context.Context, tx *store.Tx, a Alert) error {
	a.UID = uuid.NewString()
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode an alert: %w", err)
	}
	return tx.Outbox.Insert(ctx, store.Alert{UID: a.UID, OrgUID: a.Organization.UID, Component: a.Component, At: a.At, Body: body}, a.At.Add(rareWait+lease))
}

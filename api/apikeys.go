package api

import (
	"time"

	"github.com/regwarden/regwarden/secret"
)

// APIKeys is the response of PathAPIKeys.
type APIKeys struct {
	Items []APIKey `json:"items"`
}

// APIKey describes a key without its secret.
type APIKey struct {
	Metadata Metadata     `json:"metadata"`
	Spec     APIKeySpec   `json:"spec"`
	Status   APIKeyStatus `json:"status"`
}

// APIKeySpec has the owner, the expiry, the first characters and the limits of a key. Prefix is missing for keys of older versions, and
// ProjectUID for those that are not limited to a project.
type APIKeySpec struct {
	Prefix     string     `json:"prefix,omitempty"`
	Expiry     time.Time  `json:"expiry"`
	User       APIKeyUser `json:"user"`
	Scope      string     `json:"scope"`
	ProjectUID string     `json:"projectUid,omitempty"`
}

// APIKeyUser is the owner of a key.
type APIKeyUser struct {
	UID     string `json:"uid"`
	EmailID string `json:"emailId"`
}

// APIKeyStatus reports whether a key is active. LastUsed is exact to five minutes.
type APIKeyStatus struct {
	IsActive bool      `json:"isActive"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
}

// APIKeyRequest is the body that creates or changes a key.
type APIKeyRequest struct {
	Metadata Named             `json:"metadata"`
	Spec     APIKeyRequestSpec `json:"spec"`
}

// APIKeyRequestSpec has the owner and the expiry (RFC 3339) of a key. An empty UserUID, or the tenant's uid, which a
// public client sends, means the caller. Scope is all (the default), read, check, registries, provision or calendar (see
// ExpiryCalendar); ProjectUID limits the key to a project. A change ignores UserUID, Scope and ProjectUID, and leaves empty fields
// unchanged.
type APIKeyRequestSpec struct {
	Expiry     string `json:"expiry"`
	UserUID    string `json:"userUid"`
	Scope      string `json:"scope,omitempty"`
	ProjectUID string `json:"projectUid,omitempty"`
}

// CreatedAPIKey is the response to the creation of a key. The key is not masked; no other response contains it.
type CreatedAPIKey struct {
	APIKey string `json:"apiKey"`
	UID    string `json:"uid"`
}

// APIKeyState activates or deactivates a key. Public clients omit IsActive to deactivate.
type APIKeyState struct {
	IsActive bool `json:"isActive"`
}

// APIKeyRevocation is the body of PathAPIKeyRevocation. The key itself is enough to revoke it.
type APIKeyRevocation struct {
	APIKey secret.String `json:"apiKey"`
}

package api

import "time"

// APIKeys answers PathAPIKeys.
type APIKeys struct {
	Items []APIKey `json:"items"`
}

// APIKey is one key, without the key itself.
type APIKey struct {
	Metadata Metadata     `json:"metadata"`
	Spec     APIKeySpec   `json:"spec"`
	Status   APIKeyStatus `json:"status"`
}

// APIKeySpec is whose a key is, and until when.
type APIKeySpec struct {
	Expiry time.Time  `json:"expiry"`
	User   APIKeyUser `json:"user"`
}

// APIKeyUser is the user that a key acts for.
type APIKeyUser struct {
	UID     string `json:"uid"`
	EmailID string `json:"emailId"`
}

// APIKeyStatus is whether a key may be used. LastUsed is exact to some minutes.
type APIKeyStatus struct {
	IsActive bool      `json:"isActive"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
}

// APIKeyRequest is the body that makes a key or changes one.
type APIKeyRequest struct {
	Metadata Named             `json:"metadata"`
	Spec     APIKeyRequestSpec `json:"spec"`
}

// APIKeyRequestSpec says whose a key is to be, and until when (RFC 3339). UserUID is the caller's when it is
// empty, or the tenant's own, which a public client sends. A change does not read it, and leaves as it is what is
// empty.
type APIKeyRequestSpec struct {
	Expiry  string `json:"expiry"`
	UserUID string `json:"userUid"`
}

// CreatedAPIKey answers what makes a key. It is plain because here, and nowhere else, it must be shown.
type CreatedAPIKey struct {
	APIKey string `json:"apiKey"`
	UID    string `json:"uid"`
}

// APIKeyState activates a key or deactivates it. Public clients leave IsActive out to say false.
type APIKeyState struct {
	IsActive bool `json:"isActive"`
}

package api

import "time"

// APIKeys is the response of PathAPIKeys.
type APIKeys struct {
	Items []APIKey `json:"items"`
}

// APIKey is one key, without the key itself.
type APIKey struct {
	Metadata Metadata     `json:"metadata"`
	Spec     APIKeySpec   `json:"spec"`
	Status   APIKeyStatus `json:"status"`
}

// APIKeySpec is the user and the expiry of a key.
type APIKeySpec struct {
	Expiry time.Time  `json:"expiry"`
	User   APIKeyUser `json:"user"`
}

// APIKeyUser is the user that a key acts for.
type APIKeyUser struct {
	UID     string `json:"uid"`
	EmailID string `json:"emailId"`
}

// APIKeyStatus is the status of a key. LastUsed is exact to some minutes.
type APIKeyStatus struct {
	IsActive bool      `json:"isActive"`
	LastUsed time.Time `json:"lastUsed,omitzero"`
}

// APIKeyRequest is the body that creates or changes a key.
type APIKeyRequest struct {
	Metadata Named             `json:"metadata"`
	Spec     APIKeyRequestSpec `json:"spec"`
}

// APIKeyRequestSpec is the user and the expiry (RFC 3339) of a key. An empty UserUID, or that of the tenant, which public
// clients send, means the caller. A change ignores UserUID and does not change empty members.
type APIKeyRequestSpec struct {
	Expiry  string `json:"expiry"`
	UserUID string `json:"userUid"`
}

// CreatedAPIKey is the response to the creation of a key. Only here the key is shown.
type CreatedAPIKey struct {
	APIKey string `json:"apiKey"`
	UID    string `json:"uid"`
}

// APIKeyState activates a key or deactivates it. Public clients omit IsActive for false.
type APIKeyState struct {
	IsActive bool `json:"isActive"`
}

package api

import (
	"time"

	"github.com/regwarden/regwarden/secret"
)

// Sessions is the response of PathMySessions.
type Sessions struct {
	Items []Session `json:"items"`
}

// Session is one session of the caller. Its name is the client address of the login.
type Session struct {
	Metadata Metadata      `json:"metadata"`
	Status   SessionStatus `json:"status"`
}

// SessionStatus is the status of a session.
type SessionStatus struct {
	IsCurrent bool      `json:"isCurrent"` // the token of the request belongs to it
	LastUsed  time.Time `json:"lastUsed"`
	Expiry    time.Time `json:"expiry"` // when it can no longer be refreshed, unless it is refreshed before
}

// RevokeTokens is the body of PathRevokeTokens.
type RevokeTokens struct {
	Tokens []secret.String `json:"tokens"`
}

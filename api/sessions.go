package api

import (
	"time"

	"github.com/regwarden/regwarden/secret"
)

// Sessions answers PathMySessions.
type Sessions struct {
	Items []Session `json:"items"`
}

// Session is one session of the caller. Its name is where the sign-in came from.
type Session struct {
	Metadata Metadata      `json:"metadata"`
	Status   SessionStatus `json:"status"`
}

// SessionStatus tells how a session is used.
type SessionStatus struct {
	IsCurrent bool      `json:"isCurrent"` // the request's own token belongs to it
	LastUsed  time.Time `json:"lastUsed"`
	Expiry    time.Time `json:"expiry"` // when it can be renewed no more, unless it is renewed before
}

// RevokeTokens is the body of PathRevokeTokens.
type RevokeTokens struct {
	Tokens []secret.String `json:"tokens"`
}

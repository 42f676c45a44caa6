package auth

import (
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/secret"
)

// Reasons of refused credentials: a closed list, shown to the caller and kept in audit records.
const (
	ReasonMissing   = "missing"   // neither token nor API key was sent
	ReasonMalformed = "malformed" // not a credential of ours, or its signature does not hold
	ReasonExpired   = "expired"
	ReasonRevoked   = "revoked"  // its session was ended
	ReasonInactive  = "inactive" // the key was deactivated, or the user disabled
	ReasonUnknown   = "unknown"  // well-formed, but there is no such key or session
	ReasonMismatch  = "mismatch" // token and API key belong to two users

	ReasonIdle        = "idle"        // refresh: not used for too long
	ReasonReused      = "reused"      // refresh: consumed before; the session is now ended
	ReasonAhead       = "ahead"       // refresh: newer than the store, which was restored from a backup
	ReasonSpent       = "spent"       // refresh: the authorization token was exchanged before
	ReasonNotAccepted = "notAccepted" // refresh: authorization tokens are not taken here
	reasonRetried     = "retried"     // refresh: not a refusal; the same answer again
)

var unauthorizedMessages = map[string]string{
	ReasonMissing:   "Sign in first: send a token as Authorization or an API key as ApiKey.",
	ReasonMalformed: "The token or API key is not one of this service.",
	ReasonExpired:   "The token or API key has expired. Refresh it, or get a new one.",
	ReasonRevoked:   "The session of this token was ended. Sign in again.",
	ReasonInactive:  "The API key is deactivated, or its user disabled.",
	ReasonUnknown:   "There is no such session or API key.",
	ReasonMismatch:  "Authorization and ApiKey belong to different users. Send one of them.",
}

func unauthorized(reason string) *fault.Error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeUnauthorizedAccess, Reason: reason, Message: unauthorizedMessages[reason]}
}

// Messages for a credential of ours in the header of the other kind. The kinds are never interchangeable.
const (
	messageSendAsAPIKey = "This is an API key. Send it in the header ApiKey, without a scheme, and not in Authorization."
	messageSendAsToken  = "This is an authorization token. Send it in the header Authorization, and not in ApiKey."

	tokenPrefix = "eyJ" // of every JWT: {" in base64url
)

// malformed refuses a credential by its form alone. message is for one that begins as the other kind does.
func malformed(credential secret.String, otherPrefix, message string) *fault.Error {
	f := unauthorized(ReasonMalformed)
	if strings.HasPrefix(withoutScheme(credential).Reveal(), otherPrefix) {
		f.Message = message
	}
	return f
}

var refreshMessages = map[string]string{
	ReasonMalformed:   "This is no refresh token of this service. Sign in again.",
	ReasonExpired:     "The session is over. Sign in again.",
	ReasonIdle:        "The session was not used for too long. Sign in again.",
	ReasonRevoked:     "The session was ended. Sign in again.",
	ReasonInactive:    "The session was ended. Sign in again.",
	ReasonUnknown:     "There is no such session. Sign in again.",
	ReasonReused:      "This refresh token was used before. The session is ended for safety; sign in again.",
	ReasonAhead:       "This refresh token is not known here. The session is ended for safety; sign in again.",
	ReasonSpent:       "This authorization token was exchanged before. Use the newer one, or sign in again.",
	ReasonNotAccepted: "Authorization tokens are not accepted here. Use the refresh token that came with it.",
}

func refreshRefused(reason string) *fault.Error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeInvalidRefreshToken, Reason: reason, Message: refreshMessages[reason]}
}

// loginRefused is the one answer to every refused sign-in (ASVS 6.3.8).
func loginRefused() *fault.Error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeAuthenticationFailed,
		Message: "E-mail, organization or password is wrong."}
}

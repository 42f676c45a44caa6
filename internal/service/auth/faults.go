package auth

import (
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/secret"
)

// Reasons for refused credentials: a closed list, shown to the caller and stored in audit records.
const (
	ReasonMissing   = "missing"   // neither token nor API key was sent
	ReasonMalformed = "malformed" // not a credential of this service, or its signature is not valid
	ReasonExpired   = "expired"
	ReasonRevoked   = "revoked"  // its session was ended
	ReasonInactive  = "inactive" // the key was deactivated, or the user disabled
	ReasonUnknown   = "unknown"  // well-formed, but the key or session does not exist
	ReasonMismatch  = "mismatch" // token and API key belong to different users

	ReasonPasswordExpired = refusedExpired // login: right, and to be replaced

	ReasonIdle        = "idle"        // refresh and console: not used for too long
	ReasonReused      = "reused"      // refresh: consumed before; the session is now ended
	ReasonAhead       = "ahead"       // refresh: newer than the store, which was restored from a backup
	ReasonConsumed    = "spent"       // refresh: the authorization token was exchanged before
	ReasonNotAccepted = "notAccepted" // refresh: authorization tokens are not accepted
	reasonRetried     = "retried"     // refresh: not a refusal; the same response again
)

var unauthorizedMessages = map[string]string{
	ReasonMissing:   "Credentials are required: send a token in Authorization or an API key in ApiKey.",
	ReasonMalformed: "The token or API key was not issued by this service.",
	ReasonExpired:   "The token or API key has expired. Refresh the token or create a new key.",
	ReasonRevoked:   "The session of this token has ended. Log in again.",
	ReasonInactive:  "The API key is deactivated or its user is disabled.",
	ReasonUnknown:   "Session or API key not found.",
	ReasonIdle:      "The session has expired because it was not used. Log in again.",
	ReasonMismatch:  "Authorization and ApiKey belong to different users. Send one of them.",
}

func unauthorized(reason string) *fault.Error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeUnauthorizedAccess, Reason: reason,
		Message: unauthorizedMessages[reason]}
}

// Messages for a credential sent in the wrong header. Tokens and API keys are not interchangeable.
const (
	messageSendAsAPIKey = "This is an API key. Send it in the header ApiKey, without a scheme, not in Authorization."
	messageSendAsToken  = "This is an authorization token. Send it in the header Authorization, not in ApiKey."

	messageCompleteLogin = "This token only completes a login: POST /v1/auth/mfa/verify with the code of your second factor."

	tokenPrefix = "eyJ" // of every JWT: {" in base64url
)

// malformed refuses a credential by its form alone. message is used if it begins like the other kind of credential.
func malformed(credential secret.String, otherPrefix, message string) *fault.Error {
	f := unauthorized(ReasonMalformed)
	if strings.HasPrefix(withoutScheme(credential).Reveal(), otherPrefix) {
		f.Message = message
	}
	if strings.HasPrefix(withoutScheme(credential).Reveal(), pendingPrefix) {
		f.Message = messageCompleteLogin
	}
	return f
}

var refreshMessages = map[string]string{
	ReasonMalformed: "The refresh token was not issued by this service. Log in again.",
	ReasonExpired:   "The session has expired. Log in again.",
	ReasonIdle:      "The session has expired because it was not used. Log in again.",
	ReasonRevoked:   "The session has ended. Log in again.",
	ReasonInactive:  "The session has ended. Log in again.",
	ReasonUnknown:   "Session not found. Log in again.",
	ReasonReused:    "This refresh token was used before. The session was ended for security. Log in again.",
	ReasonAhead: "The refresh token is newer than the store, which was restored from a backup. " +
		"The session was ended for security. Log in again.",
	ReasonConsumed:    "This authorization token was exchanged before. Use the newer token or log in again.",
	ReasonNotAccepted: "Authorization tokens are not accepted here. Use the refresh token that was issued with it.",
}

func refreshRefused(reason string) *fault.Error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeInvalidRefreshToken, Reason: reason, Message: refreshMessages[reason]}
}

// passwordExpired is the response of a login with the right password, which has expired.
func passwordExpired() *fault.Error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeAuthenticationFailed, Reason: ReasonPasswordExpired,
		Message: "Your password has expired. Log in with newPassword, or in the console, to set another one."}
}

// loginRefused is the same response for every refused login (ASVS 6.3.8).
func loginRefused() *fault.Error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeAuthenticationFailed,
		Message: "Wrong email, organization or password."}
}

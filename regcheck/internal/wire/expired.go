package wire

import (
	"slices"
	"strings"
)

// IsExpired reports whether a rejection says that the credentials have expired, and names no other cause: 403 DENIED of ECR, 400 of
// ECR Public (flipt#3043, aws/containers-roadmap#2835), "token is expired by 2h". They have no code for it, only text. GitLab returns
// "either incorrect, expired, or improperly scoped" for any wrong password.
func IsExpired(a *Response) bool {
	text := expiryText(a)
	text = strings.ReplaceAll(text, "token has invalid claims: token is expired", "token is expired") // golang-jwt
	words := strings.FieldsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })  // "invalid_token" is a code
	return slices.Contains(words, "expired") && !slices.ContainsFunc(words, namesOtherCause)
}

// MentionsExpiry reports whether a rejection names an expiry as a possible cause.
func MentionsExpiry(a *Response) bool { return strings.Contains(expiryText(a), "expired") }

func expiryText(a *Response) string { return strings.ToLower(string(a.Body[:min(len(a.Body), 4096)])) }

// namesOtherCause reports whether a word shows that an expiry is only one of several possible causes.
func namesOtherCause(word string) bool {
	switch word {
	case "or", "either", "incorrect", "invalid", "wrong", "bad", "improper", "improperly", "malformed", "missing", "unknown", "revoked",
		"disabled", "locked", "may", "might", "could", "maybe", "perhaps", "possibly", "probably", "if", "whether", "unless":
		return true
	}
	return false
}

// Package secret holds the one string type for passwords, tokens and private keys.
//
// A secret.String prints, logs and marshals as a mask, whatever verb or encoder meets it, so that a
// secret reaches a log, an error or an answer only where somebody wrote Reveal. The package refuses
// to do more: it neither encrypts nor compares.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask stands wherever a secret that is not empty would have been printed.
const Mask = "********"

// String is a secret text. The zero value is "no secret" and prints as the empty string, so that
// "absent" and "hidden" can be told apart. It is decoded like a plain string.
type String string

// Reveal returns the secret itself. Every call is a place to review.
func (s String) Reveal() string { return string(s) }

// String returns the mask, or "" when there is no secret.
func (s String) String() string {
	if s == "" {
		return ""
	}
	return Mask
}

// Format masks the secret for every verb of fmt: %x and %q would otherwise go round String.
func (s String) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue masks the secret in structured logs.
func (s String) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText masks the secret in JSON, YAML and every other text encoding.
func (s String) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

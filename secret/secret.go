// Package secret holds the one string type for passwords, tokens and private keys.
//
// A String prints, logs and marshals as a mask with every verb and encoder. A secret gets into a log, an error or a
// response only through Reveal. The package does not encrypt and does not compare.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask is printed in place of a secret that is not empty.
const Mask = "********"

// String is a secret text. The zero value means "no secret" and prints as the empty string, which distinguishes it from a
// masked secret. It is decoded like a plain string.
type String string

// Reveal returns the secret itself. Review every call.
func (s String) Reveal() string { return string(s) }

// String returns the mask, or "" when there is no secret.
func (s String) String() string {
	if s == "" {
		return ""
	}
	return Mask
}

// Format masks the secret for every verb of fmt: %x and %q do not call String.
func (s String) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue masks the secret in structured logs.
func (s String) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText masks the secret in JSON, YAML and every other text encoding.
func (s String) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

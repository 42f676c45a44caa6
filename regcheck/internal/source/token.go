package source

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/message"
)

// maxToken are the bytes of a file with a token.
const maxToken = 64 << 10

// readToken reads a file that a cluster renews. The error is a *Refusal.
func (a *Ambient) readToken(path string) (string, error) {
	text, err := a.read(path, maxToken)
	if err != nil {
		return "", err
	}
	token := string(bytes.TrimSpace(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", &Refusal{Reason: FileMissing, Seen: message.Of("%s has no token.", path)}
	}
	return token, nil
}

// read reads a file at use. The error is a *Refusal.
func (a *Ambient) read(path string, limit int) ([]byte, error) {
	text, err := a.ReadFile(path)
	if why := unreadable(err, len(text), limit); why != "" {
		return nil, &Refusal{Reason: FileMissing, Seen: message.Of("%s %s.", path, why)}
	}
	return text, nil
}

// unreadable returns why a file was not read, "" if it was.
func unreadable(err error, size, limit int) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read"
	case err != nil:
		return "cannot be read"
	case size > limit:
		return fmt.Sprintf("has more than %d bytes", limit)
	}
	return ""
}

// withClaims adds to a refusal of a token what it says of itself: issuer, subject and audience are no secrets.
func withClaims(err error, token string) error {
	r, ok := errors.AsType[*Refusal](err)
	if !ok || r.Reason != TokenRejected && r.Reason != RoleNotAssumed {
		return err
	}
	var claims struct {
		Issuer   string `json:"iss"`
		Subject  string `json:"sub"`
		Audience any    `json:"aud"`
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return err
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return r
	}
	r.Seen += message.Of(" The token is of issuer %q, subject %q, for audience %q.", shorten(claims.Issuer), shorten(claims.Subject),
		shorten(strings.Trim(fmt.Sprint(claims.Audience), "[]")))
	return r
}

// shorten returns the beginning of a text.
func shorten(text string) string { return text[:min(len(text), 200)] }

// unreachableLocal explains that a service of the machine does not respond: it usually has none.
func unreachableLocal(err error) error {
	if r, ok := errors.AsType[*Refusal](err); ok && r.Reason == Unreachable {
		r.Hint = "Run {program} where the cloud gives programs an identity, and let it reach this address: for IMDSv2 in a container the " +
			"hop limit of the instance must be 2. Or give a key in the definition."
	}
	return err
}

// excerpt returns the beginning of a body, cleaned.
func (a *Response) excerpt() string { return a.Show(shorten(string(a.Body))) }

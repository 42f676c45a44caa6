package wire

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/regwarden/regwarden/secret"
)

const (
	minMasked  = 6  // shorter texts may be words of any message
	maskedHead = 12 // the part of a secret that is recognized at the end of a text that was cut
)

// sentCredentials are the credentials that a check has sent. They are masked in texts of the registry, since a server may
// repeat them in error messages or challenges. The zero value is ready for use. It is safe for concurrent use.
type sentCredentials struct {
	mu    sync.Mutex
	forms []string
}

// note adds the credentials of a request.
func (t *sentCredentials) note(c *Request) {
	t.add(c.Form.Get("refresh_token"))
	_, credentials, _ := strings.Cut(c.Authorization, " ")
	t.add(credentials)
	if pair, err := base64.StdEncoding.DecodeString(credentials); err == nil {
		_, password, _ := strings.Cut(string(pair), ":")
		t.add(password)
	}
}

func (t *sentCredentials) add(value string) {
	if len(value) < minMasked {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, form := range []string{value, url.QueryEscape(value), url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(value))} {
		if form = strings.TrimRight(form, "="); !slices.Contains(t.forms, form) {
			t.forms = append(t.forms, form)
		}
	}
}

// Mark returns a position for Forget: a long inventory sends a token for each repository, and texts of earlier repositories
// are masked already.
func (t *sentCredentials) Mark() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.forms)
}

func (t *sentCredentials) Forget(mark int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forms = slices.Delete(t.forms, mark, len(t.forms))
}

// Masked returns a text with all credentials masked, including the beginning of a long one.
func (t *sentCredentials) Masked(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, form := range t.forms {
		text = maskedForm(text, form)
	}
	return text
}

func maskedForm(text, form string) string {
	head := form[:min(len(form), maskedHead)]
	var out strings.Builder
	for {
		i := strings.Index(text, head)
		if i < 0 {
			break
		}
		end := i + len(head)
		for n := len(head); n < len(form) && end < len(text) && text[end] == form[n]; n++ {
			end++
		}
		out.WriteString(text[:i] + secret.Mask)
		text = text[end:]
	}
	return out.String() + text
}

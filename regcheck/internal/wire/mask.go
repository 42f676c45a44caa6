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
	minMasked  = 6  // shorter ones are words of any message
	maskedHead = 12 // a text that was cut may end within a secret: this much of it is enough to know it by
)

// told are the credentials that a check has sent. A server that says them back, in an error message or a
// challenge, would otherwise put them into the report, and so into answers and audit records. The zero value
// is ready for use, also by several requests at once.
type told struct {
	mu    sync.Mutex
	forms []string
}

// note remembers what a request says of the credentials.
func (t *told) note(c *Request) {
	t.add(c.Form.Get("refresh_token"))
	_, credentials, _ := strings.Cut(c.Authorization, " ")
	t.add(credentials)
	if pair, err := base64.StdEncoding.DecodeString(credentials); err == nil {
		_, password, _ := strings.Cut(string(pair), ":")
		t.add(password)
	}
}

func (t *told) add(value string) {
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

// Mark is the place to which forget goes back: a long inventory sends a token per repository, and what was
// shown meanwhile is masked already.
func (t *told) Mark() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.forms)
}

func (t *told) Forget(mark int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forms = slices.Delete(t.forms, mark, len(t.forms))
}

// Masked is text with every credential, or the beginning of a long one, taken out.
func (t *told) Masked(text string) string {
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

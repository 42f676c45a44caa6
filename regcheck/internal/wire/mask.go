package wire

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/regwarden/regwarden/secret"
)

// A server may repeat credentials in any text that it sends. They are masked where such a text enters, by Client.Text and
// Client.Name, so our own sentences, what the user wrote and the URLs of the definition never change with a secret:
//
//   - In text, credentials of at least minMasked bytes are masked, encoded or cut off too. Those that stand there anyway are not,
//     since the mask would disclose them: words of messages, and what the definition shows.
//   - In names (of repositories and tags, also in the URLs of requests for them), only whole credentials of at least
//     minMaskedInName bytes are masked. Shorter ones may be part of a name by coincidence.
const (
	minMasked       = 6
	minMaskedInName = 16
	maskedHead      = 12 // the part of a secret that is recognized in a text that was cut
)

// messageWords are words of at least minMasked letters in messages of registries.
const messageWords = `access account action administrator allowed anonymous application artifact artifactory authenticated authentication
authorization authorized bearer catalog certificate challenge charts client config connection container content correct credentials denied
digest distribution docker dockerhub endpoint errors exceeded expired failed forbidden format gateway github gitlab google harbor header
incorrect internal invalid latest library limits manifest message method missing namespace network object operation organization package
parameter passwords permission please policy private problem project protected provided public reason refused registries registry rejected
remote repositories repository requested required resource response result schema scopes secret secure server service session signed storage
string subject supported system target tenant timeout tokens toomanyrequests unauthorized unavailable unexpected unknown unsupported
upstream username version workspace`

// sentCredentials are the credentials of a definition and those that a check has sent. The zero value is ready for use. It is safe
// for concurrent use.
type sentCredentials struct {
	visible string // in lowercase: what the definition shows

	mu    sync.Mutex
	forms []maskedForm
}

// maskedForm is a spelling of credentials in lowercase, and how many bytes of it are recognized in a text that was cut.
type maskedForm struct {
	text string
	head int
}

// Add adds credentials that no request has sent yet.
func (t *sentCredentials) Add(authorization string) { t.note(&Request{Authorization: authorization}) }

// note adds the credentials of a request.
func (t *sentCredentials) note(c *Request) {
	t.add(c.Form.Get("refresh_token"))
	if c.Raw != nil {
		for _, value := range c.Raw.Secret {
			t.add(value)
		}
	}
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
	for _, form := range []string{clean(value, math.MaxInt), url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), quoted(value), inJSON(value)} {
		form = asciiLower(strings.TrimRight(form, "="))
		known := slices.ContainsFunc(t.forms, func(f maskedForm) bool { return f.text == form })
		if len(form) < minMasked || known || t.expected(form) {
			continue
		}
		head := min(len(form), maskedHead)
		if t.expected(form[:head]) {
			head = len(form)
		}
		t.forms = append(t.forms, maskedForm{form, head})
	}
}

// quoted returns a value as errors of Go have it.
func quoted(value string) string {
	text := strconv.Quote(value)
	return text[1 : len(text)-1]
}

// inJSON returns a value as a JSON body has it that is shown as text.
func inJSON(value string) string {
	text, err := json.Marshal(value)
	if err != nil || len(text) < 2 {
		return ""
	}
	return string(text[1 : len(text)-1])
}

// expected reports whether a form stands in messages and names anyway.
func (t *sentCredentials) expected(form string) bool {
	return strings.Contains(messageWords, form) || strings.Contains(t.visible, form)
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

// inText returns a text with all credentials masked, including the beginning of a long one.
func (t *sentCredentials) inText(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, form := range t.forms { // whole ones first: spellings of a secret may begin alike
		text = form.masked(text, len(form.text))
	}
	for _, form := range t.forms {
		text = form.masked(text, form.head)
	}
	return text
}

func (t *sentCredentials) inName(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, form := range t.forms {
		if len(form.text) >= minMaskedInName {
			name = form.masked(name, len(form.text))
		}
	}
	return name
}

// masked masks a form of which the first bytes are there, in any case: the names of hosts and schemes are in lowercase.
func (f maskedForm) masked(text string, first int) string {
	head, lower := f.text[:first], asciiLower(text)
	var out strings.Builder
	for {
		i := strings.Index(lower, head)
		if i < 0 {
			break
		}
		end := i + len(head)
		for n := len(head); n < len(f.text) && end < len(lower) && lower[end] == f.text[n]; n++ {
			end++
		}
		out.WriteString(text[:i] + secret.Mask)
		text, lower = text[end:], lower[end:]
	}
	return out.String() + text
}

// asciiLower keeps the length of a text.
func asciiLower(text string) string {
	lower := []byte(text)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

// Text returns a text from the network as it may be shown: cleaned, without credentials.
func (w *Client) Text(text string) string { return w.Sent.inText(CleanText(text)) }

// ShowURL returns a URL from the network as it may be shown.
func (w *Client) ShowURL(u *url.URL) string { return w.Text(ShowURL(u)) }

// Name returns the name of a repository or tag, or a path of them, as it may be shown.
func (w *Client) Name(name string) string { return w.Sent.inName(CleanText(name)) }

// Text is Client.Text for a text of the response.
func (a *Response) Text(text string) string {
	if a.Conn == nil {
		return CleanText(text)
	}
	return a.Conn.Text(text)
}

// ShowURL returns the URL of the response to be shown. Without a redirect only names in it can be from the network.
func (a *Response) ShowURL() string {
	switch shown := ShowURL(a.URL); {
	case a.Conn == nil:
		return shown
	case a.Hops > 0:
		return a.Text(shown)
	default:
		return a.Conn.Peer.wire.Name(shown)
	}
}

// Text is Client.Text for a text of the peer.
func (c *Conn) Text(text string) string { return c.Peer.wire.Text(text) }

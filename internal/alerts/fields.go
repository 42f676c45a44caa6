package alerts

import (
	"fmt"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/secret"
)

// Bounds of what a channel may hold.
const (
	maxURL         = 2048
	maxHeaders     = 20
	maxValue       = 4096
	maxBody        = 16 << 10
	maxIdentifiers = 50
	maxAddress     = 254 // RFC 5321 section 4.5.3.1.3, without the brackets
	minSecret      = 16
)

const (
	mask    = secret.String(secret.Mask)
	tooMany = "would be more than 20 channels of this component, or 100 in the organization; delete one first"
)

// reserved are the headers that belong to the connection or to us.
var reserved = []string{"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

const ownHeaders = "Regwarden-"

// problems collects what is wrong with a channel.
type problems []fault.Field

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, fault.Field{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// below puts a prefix before the fields of problems.
func below(prefix string, list []fault.Field) []fault.Field {
	for i := range list {
		list[i].Field = prefix + list[i].Field
	}
	return list
}

// fill makes the channel that is wanted, with what is masked or left out taken from the stored one. A stored secret
// goes nowhere but to the scheme, host and port it was stored for: else whoever may change channels could read it.
func (s *Service) fill(w Channel, old store.Channel) (store.Channel, []fault.Field) {
	var found problems
	c := store.Channel{Type: w.Type, Active: w.Active, AlertAllUsers: w.AlertAllUsers, Identifiers: w.Identifiers}
	switch w.Type {
	case TypeEmail:
		s.checkEmail(w, &found)
	case TypeHTTP:
		checkIdentifiers(w.Identifiers, &found)
		if w.HTTP == nil {
			found.add("http", `is required for type "http"`)
			break
		}
		c.HTTP = fillHTTP(*w.HTTP, old, &found)
		checkHTTP(c.HTTP, &found)
		if c.HTTP.Body != old.HTTP.Body { // a stored template from before unknown placeholders were refused stays valid
			checkTemplate(c.HTTP.Body, &found)
		}
	default:
		found.add("type", `is none of "email" and "http"`)
	}
	if old.UID != "" && w.Type != old.Type && len(found) == 0 {
		found.add("type", "cannot be changed; delete the channel and make another one")
	}
	return c, found
}

func (s *Service) checkEmail(w Channel, found *problems) {
	if s.config.Mail == nil {
		found.add("type", "cannot be email here: the setting smtp-host is missing; an operator has to name a mail server")
	}
	if len(w.Identifiers) == 0 && !w.AlertAllUsers {
		found.add("identifiers", "has no address; give one, or set alertAllUsers")
	}
	if !checkIdentifiers(w.Identifiers, found) {
		return
	}
	for i, address := range w.Identifiers {
		parsed, err := mail.ParseAddress(address)
		if err != nil || parsed.Address != address || len(address) > maxAddress {
			found.add(fmt.Sprintf("identifiers[%d]", i), "is no e-mail address like name@example.com")
		}
	}
}

// checkIdentifiers reports whether there are few enough of them to look at each.
func checkIdentifiers(identifiers []string, found *problems) bool {
	if len(identifiers) > maxIdentifiers {
		found.add("identifiers", "has more than %d entries", maxIdentifiers)
		return false
	}
	for i, text := range identifiers {
		if !printable(text) || len(text) > maxValue {
			found.add(fmt.Sprintf("identifiers[%d]", i), "has control characters, or is too long")
		}
	}
	return true
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// fillHTTP puts what is stored in the place of masks.
func fillHTTP(w HTTP, old store.Channel, found *problems) store.ChannelHTTP {
	stored := old.HTTP
	h := store.ChannelHTTP{URL: w.URL.Reveal(), Method: w.Method, Body: w.Body.Reveal(), Secret: w.Secret.Reveal()}
	if h.Method == "" {
		h.Method = http.MethodPost
	}
	if stored.URL != "" && h.URL == maskURL(stored.URL) {
		h.URL = stored.URL
	}
	origin := originOf(h.URL)
	same := origin != "" && origin == originOf(stored.URL)
	if w.Body == mask {
		h.Body = keep("http.body", stored.Body, stored.Body != "", same, found)
	}
	if w.Secret == mask || w.Secret == "" {
		h.Secret = stored.Secret // no part of it is sent, so it may stay wherever the channel leads
	}
	if w.Secret == mask && stored.Secret == "" {
		found.add("http.secret", "is the mask of a stored secret, and none is stored; write the secret itself")
	}
	for name, value := range w.Headers {
		if value == mask {
			was, has := headerOf(stored.Headers, name)
			value = secret.String(keep("http.headers."+name, was, has, same, found))
		}
		if h.Headers == nil {
			h.Headers = map[string]string{}
		}
		h.Headers[name] = value.Reveal()
	}
	return h
}

func keep(field, stored string, has, same bool, found *problems) string {
	switch {
	case !has:
		found.add(field, "is the mask of a stored value, and none is stored; write the value itself")
	case !same:
		found.add(field, "must be sent: the stored value is used only with the stored scheme, host and port of http.url")
	}
	return stored
}

func headerOf(headers map[string]string, name string) (string, bool) {
	for stored, value := range headers {
		if http.CanonicalHeaderKey(stored) == http.CanonicalHeaderKey(name) {
			return value, true
		}
	}
	return "", false
}

func checkHTTP(h store.ChannelHTTP, found *problems) {
	checkURL(h.URL, found)
	if h.Method != http.MethodPost && h.Method != http.MethodPut {
		found.add("http.method", "is none of POST and PUT")
	}
	if len(h.Headers) > maxHeaders {
		found.add("http.headers", "has more than %d entries", maxHeaders)
		return
	}
	names := map[string]bool{}
	for name, value := range h.Headers {
		field, canonical := "http.headers."+name, http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			found.add("http.headers", "has a name that no header can have")
		case names[canonical]:
			found.add(field, "is given twice")
		case slices.Contains(reserved, canonical) || strings.HasPrefix(canonical, ownHeaders):
			found.add(field, "is not for you to set")
		case len(value) > maxValue || !httpguts.ValidHeaderFieldValue(value):
			found.add(field, "has a character that no header can carry, or is longer than %d bytes", maxValue)
		}
		names[canonical] = true
	}
	if len(h.Body) > maxBody || !utf8.ValidString(h.Body) {
		found.add("http.body", "is longer than %d bytes, or no valid UTF-8", maxBody)
	}
	if n := len(h.Secret); n > maxValue || n > 0 && n < minSecret {
		found.add("http.secret", "has from %d to %d bytes", minSecret, maxValue)
	}
}

func checkURL(text string, found *problems) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		found.add("http.url", "is required")
	case len(text) > maxURL:
		found.add("http.url", "is longer than %d bytes", maxURL)
	case err != nil || !printable(text) || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		found.add("http.url", "is no address of the form https://host/path")
	case originOf(text) == "":
		found.add("http.url", "has a host that is no name and no address")
	case u.User != nil:
		found.add("http.url", "holds a user name or password; put these into a header")
	case u.Fragment != "":
		found.add("http.url", "has a fragment (#), which is never sent")
	case strings.Contains(text, secret.Mask):
		found.add("http.url", "is the mask of another address; write the address itself")
	}
}

// maskURL is how a stored address is shown: its path and query may be all that keeps others from using it.
func maskURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || text == "" {
		return secret.Mask
	}
	return u.Scheme + "://" + u.Host + "/" + secret.Mask
}

// originOf is scheme, host and port in the one spelling that is connected to; empty for what has none.
func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	host, port := hostPort(u)
	if host == "" {
		return ""
	}
	return u.Scheme + "://" + net.JoinHostPort(host, port)
}

// hostPort is where a URL is connected to. Lower case alone is another mapping than IDNA's, by which two names that lead
// to different hosts can look alike ("İ" and "i"). host is empty for what is no name and no address.
func hostPort(u *url.URL) (host, port string) {
	port = u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host, problem := egress.ReadHost(u.Hostname())
	if problem != "" {
		return "", port
	}
	return host, port
}

// visible is a stored channel as it may be shown.
func visible(c store.Channel, consent consent) Channel {
	v := Channel{UID: c.UID, Type: c.Type, Active: c.Active, AlertAllUsers: c.AlertAllUsers, Identifiers: c.Identifiers, Status: c.Status, CreatedAt: c.CreatedAt}
	if c.Type != TypeHTTP {
		v.Unconfirmed = slices.DeleteFunc(slices.Clone(c.Identifiers), consent.given)
		return v
	}
	v.HTTP = &HTTP{URL: secret.String(maskURL(c.HTTP.URL)), Method: c.HTTP.Method, Body: hidden(c.HTTP.Body), Secret: hidden(c.HTTP.Secret)}
	for name := range c.HTTP.Headers {
		if v.HTTP.Headers == nil {
			v.HTTP.Headers = map[string]secret.String{}
		}
		v.HTTP.Headers[name] = mask
	}
	return v
}

func hidden(stored string) secret.String {
	if stored == "" {
		return ""
	}
	return mask
}

// match says which stored channel each wanted one is, -1 for none.
func match(wanted []Channel, stored []store.Channel) ([]int, []fault.Field) {
	matched, taken, unknown := make([]int, len(wanted)), map[int]bool{}, problems(nil)
	take := func(i int, fits func(store.Channel) bool) bool {
		for j, c := range stored {
			if !taken[j] && fits(c) {
				matched[i], taken[j] = j, true
				return true
			}
		}
		return false
	}
	for i, w := range wanted {
		matched[i] = -1
		if w.UID != "" && !take(i, func(c store.Channel) bool { return c.UID == w.UID }) {
			unknown.add(fmt.Sprintf("channels[%d].uid", i), "names no channel of this component, or one that is named twice")
		}
	}
	for i, w := range wanted {
		if w.UID == "" {
			take(i, func(c store.Channel) bool { return leadsTo(w, c) })
		}
	}
	return matched, unknown
}

// leadsTo reports whether a channel that names no uid is the stored one: public clients send the whole list anew.
func leadsTo(w Channel, c store.Channel) bool {
	if w.Type != c.Type {
		return false
	}
	if w.Type == TypeEmail {
		return w.AlertAllUsers == c.AlertAllUsers && slices.Equal(w.Identifiers, c.Identifiers)
	}
	return w.HTTP != nil && c.HTTP.URL != "" && (w.HTTP.URL.Reveal() == c.HTTP.URL || w.HTTP.URL.Reveal() == maskURL(c.HTTP.URL))
}

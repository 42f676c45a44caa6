package alerts

import (
	"fmt"
	"net"
	"net/http"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// Limits of a channel.
const (
	maxURL         = 2048
	maxHeaders     = 20
	maxValue       = 4096
	maxBody        = 16 << 10
	maxIdentifiers = 50
	maxAddress     = 254 // RFC 5321 section 4.5.3.1.3, without brackets
	minSecret      = 16

	maxAfterMinutes = 24 * 60
	maxRepeatHours  = 7 * 24
)

const (
	mask    = secret.String(secret.Mask)
	tooMany = "must be at most 20 channels of this component, and 100 in the organization; delete one first"
)

// reserved are the headers of the connection and of the proxy.
var reserved = []string{"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade"}

const ownHeaders = "Regwarden-"

// problems collects the field problems of a channel.
type problems []fault.Field

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, fault.Field{Field: field, Problem: fmt.Sprintf(format, args...)})
}

// fill returns the channel of an input, with masked or missing values taken from the stored one. A stored secret is sent only to the
// scheme, host and port that it was stored with: otherwise everyone who may change channels could read it.
func (s *Channels) fill(input Channel, old store.Channel) (store.Channel, []fault.Field) {
	var found problems
	c := store.Channel{Name: input.Name, Type: input.Type, Active: input.Active,
		AlertAllUsers: input.AlertAllUsers, Identifiers: input.Identifiers}
	if problem := names.NameProblem(input.Name); input.Name != "" && problem != "" {
		found.add("name", "%s", problem)
	}
	if input.KeepName {
		c.Name = old.Name
	}
	c.AlertTimes = fillTimes(input, old.AlertTimes, &found)
	switch input.Type {
	case TypeEmail:
		s.checkEmail(input, &found)
	case TypeHTTP:
		checkIdentifiers(input.Identifiers, &found)
		if input.HTTP == nil {
			found.add("http", `is required for type "http"`)
			break
		}
		c.HTTP = fillHTTP(*input.HTTP, old, &found)
		checkHTTP(c.HTTP, &found)
		if c.HTTP.Body != old.HTTP.Body { // a template stored by a version that accepted unknown placeholders stays valid
			checkTemplate(c.HTTP.Body, &found)
		}
	default:
		found.add("type", "must be one of email, http")
	}
	if old.UID != "" && input.Type != old.Type && len(found) == 0 {
		found.add("type", "cannot be changed; delete the channel and create another one")
	}
	return c, found
}

// fillTimes returns when the channel of an input alerts of registries.
func fillTimes(input Channel, times store.AlertTimes, found *problems) store.AlertTimes {
	if n := input.AfterMinutes; n != nil {
		if times.AfterMinutes = *n; *n < 0 || *n > maxAfterMinutes {
			found.add("afterMinutes", "must be 0–%d", maxAfterMinutes)
		}
	}
	if n := input.RepeatHours; n != nil {
		if times.RepeatHours = *n; *n < 0 || *n > maxRepeatHours {
			found.add("repeatHours", "must be 0–%d", maxRepeatHours)
		}
	}
	return times
}

func (s *Channels) checkEmail(input Channel, found *problems) {
	if s.config.Mail == nil {
		found.add("type", "cannot be email: the operator of the service has not set smtp-host")
	}
	if len(input.Identifiers) == 0 && !input.AlertAllUsers {
		found.add("identifiers", "is required unless alertAllUsers is true")
	}
	if !checkIdentifiers(input.Identifiers, found) {
		return
	}
	for i, address := range input.Identifiers {
		parsed, err := mail.ParseAddress(address)
		if err != nil || parsed.Address != address || len(address) > maxAddress || namesHost(address) {
			found.add(fmt.Sprintf("identifiers[%d]", i), "must be an email address such as name@example.com")
		}
	}
}

// namesHost reports whether an email address has an IP address instead of a domain, such as a@[127.0.0.1] (RFC 5321, 4.1.3): it would make
// the mail server connect to a host of the user's choice.
func namesHost(address string) bool {
	domain := address[strings.LastIndexByte(address, '@')+1:]
	_, err := netip.ParseAddr(domain)
	return err == nil || strings.HasPrefix(domain, "[")
}

// checkIdentifiers reports whether there are few enough identifiers to check each.
func checkIdentifiers(identifiers []string, found *problems) bool {
	if len(identifiers) > maxIdentifiers {
		found.add("identifiers", "must have at most %d entries", maxIdentifiers)
		return false
	}
	for i, text := range identifiers {
		if !printable(text) || len(text) > maxValue {
			found.add(fmt.Sprintf("identifiers[%d]", i), "must be at most %d bytes without control characters", maxValue)
		}
	}
	return true
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// fillHTTP replaces masks by stored values.
func fillHTTP(input HTTP, old store.Channel, found *problems) store.ChannelHTTP {
	stored := old.HTTP
	h := store.ChannelHTTP{URL: input.URL.Reveal(), Method: input.Method, Body: input.Body.Reveal(), Secret: input.Secret.Reveal()}
	if h.Method == "" {
		h.Method = http.MethodPost
	}
	if stored.URL != "" && h.URL == maskURL(stored.URL) {
		h.URL = stored.URL
	}
	origin := originOf(h.URL)
	same := origin != "" && origin == originOf(stored.URL)
	if input.Body == mask {
		h.Body = unmask("http.body", stored.Body, stored.Body != "", same, found)
	}
	if input.Secret == mask || input.Secret == "" {
		h.Secret = stored.Secret // never sent itself, so the destination may change
	}
	if input.Secret == mask && stored.Secret == "" {
		found.add("http.secret", "is a mask, but no secret is stored; send the secret itself")
	}
	for name, value := range input.Headers {
		if value == mask {
			storedValue, has := headerOf(stored.Headers, name)
			value = secret.String(unmask("http.headers."+name, storedValue, has, same, found))
		}
		if h.Headers == nil {
			h.Headers = map[string]string{}
		}
		h.Headers[name] = value.Reveal()
	}
	return h
}

// unmask returns the stored value for a mask, and adds a problem if there is none or it must not be sent to the destination.
func unmask(field, stored string, has, same bool, found *problems) string {
	switch {
	case !has:
		found.add(field, "is a mask, but no value is stored; send the value itself")
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
		found.add("http.method", "must be one of POST, PUT")
	}
	if len(h.Headers) > maxHeaders {
		found.add("http.headers", "must have at most %d entries", maxHeaders)
		return
	}
	names := map[string]bool{}
	for name, value := range h.Headers {
		field, canonical := "http.headers."+name, http.CanonicalHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			found.add("http.headers", "must have valid header names")
		case names[canonical]:
			found.add(field, "must be given only once")
		case slices.Contains(reserved, canonical) || strings.HasPrefix(canonical, ownHeaders):
			found.add(field, "is reserved and cannot be set")
		case len(value) > maxValue || !httpguts.ValidHeaderFieldValue(value):
			found.add(field, "must be a valid header value of at most %d bytes", maxValue)
		}
		names[canonical] = true
	}
	if len(h.Body) > maxBody || !utf8.ValidString(h.Body) {
		found.add("http.body", "must be valid UTF-8 of at most %d bytes", maxBody)
	}
	if n := len(h.Secret); n > maxValue || n > 0 && n < minSecret {
		found.add("http.secret", "must be %d–%d bytes", minSecret, maxValue)
	}
}

func checkURL(text string, found *problems) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		found.add("http.url", "is required")
	case len(text) > maxURL:
		found.add("http.url", "must be at most %d bytes", maxURL)
	case err != nil || !printable(text) || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		found.add("http.url", "must be a URL such as https://host/path")
	case originOf(text) == "":
		found.add("http.url", "must have a valid host")
	case u.User != nil:
		found.add("http.url", "must not contain a username or password; use a header instead")
	case u.Fragment != "":
		found.add("http.url", "must not have a fragment (#)")
	case strings.Contains(text, secret.Mask):
		found.add("http.url", "is the mask of another URL; send the URL itself")
	}
}

// maskURL returns a stored URL as it is shown: without its path and query, which may be the only protection of the webhook.
func maskURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || text == "" {
		return secret.Mask
	}
	return u.Scheme + "://" + u.Host + "/" + secret.Mask
}

// originOf returns scheme, host and port of a URL in canonical spelling, or "" for text without a valid host.
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

// hostPort returns the host and port that a URL is connected to. It maps the host by IDNA, not to lowercase: names of different hosts
// may be equal in lowercase ("İ" and "i"). host is empty if it is not a valid name or address.
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

// visible returns a stored channel with secrets masked.
func visible(c store.Channel, consent consent) Channel {
	v := Channel{UID: c.UID, Name: c.Name, Scope: Scope{c.OrgUID, c.ProjectUID, c.Component}, Type: c.Type, Active: c.Active,
		AlertAllUsers: c.AlertAllUsers, Identifiers: c.Identifiers, Status: c.Status, CreatedAt: c.CreatedAt,
		AfterMinutes: &c.AfterMinutes, RepeatHours: &c.RepeatHours}
	if c.Type != TypeHTTP {
		v.Unconfirmed = slices.DeleteFunc(slices.Clone(c.Identifiers), consent.given)
		return v
	}
	v.HTTP = &HTTP{URL: secret.String(maskURL(c.HTTP.URL)), Method: c.HTTP.Method, Body: masked(c.HTTP.Body), Secret: masked(c.HTTP.Secret)}
	for name := range c.HTTP.Headers {
		if v.HTTP.Headers == nil {
			v.HTTP.Headers = map[string]secret.String{}
		}
		v.HTTP.Headers[name] = mask
	}
	return v
}

func masked(stored string) secret.String {
	if stored == "" {
		return ""
	}
	return mask
}

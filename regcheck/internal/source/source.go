// Package source obtains credentials of a registry from the provider that issues them, just before they are used. A provider is one
// file, which alone knows its wire form. Requests go through a function of the caller, so that the rules for connections of a check hold.
package source

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/secret"
)

// Source obtains credentials. A source is a value that does not change and is safe for concurrent use.
type Source interface {
	// Obtain asks the provider. If the provider refuses, or its response is not valid, the error is a *Refusal; otherwise it is that
	// of call.
	Obtain(ctx context.Context, call Call, now time.Time) (Credentials, error)
	// Depends lists everything that the credentials depend on, secrets included.
	Depends() []string
}

// Settings are what a definition has to obtain credentials with.
type Settings interface {
	// Serves reports whether a registry with this host name is one of the provider. No other may get what it issues.
	Serves(host string) bool
	// Source returns the source for a registry, and notes each problem of a field of the definition.
	Source(registry *url.URL, note Note) Source
}

// Note adds a problem of a field, which may be empty.
type Note func(field string, problem message.Text)

// maxKey are the bytes of a private key or of a file with one.
const maxKey = 256 << 10

// required notes that a text is empty or not valid.
func required(note Note, field, value string) {
	if value == "" {
		note(field, "is required")
	}
	note(field, endpoint.TextProblem(value))
}

// Credentials are a username and password for a limited time.
type Credentials struct {
	Username string
	Password secret.String
	Expires  time.Time // zero if the provider does not say it
	Issuer   string    // the host that issued them
	Account  string    // whose they are, if that is another account than the registry's
	Region   string    // of the registry, if that has its own repositories in each
	Bearer   bool      // Password is a token

	Origin   message.Text // of those that have no Issuer
	Outdated message.Text // what to do if the registry rejects these
	Field    string       // the member of auth to correct then; "" for auth

	Remembered bool // by a Cache
}

// Describe says where credentials came from, and how long they are valid.
func (c Credentials) Describe() message.Text {
	text := c.Origin
	if c.Issuer != "" {
		text = message.Of("%s issued a password for %s", c.Issuer, c.Username)
	}
	if !c.Expires.IsZero() {
		text += message.Of(", valid until %s UTC", c.Expires.UTC().Format(time.DateTime))
	}
	if c.Account != "" {
		text += message.Of("; its key belongs to the account %s, the registry to another one", c.Account)
	}
	if c.Remembered {
		text += "; obtained by an earlier check"
	}
	return text
}

// Hint returns what to do if the registry denies access with the credentials, rejects them, or does not have the content. usual is what a
// check says in general, which for rejected ones is about a password in the definition.
func (c Credentials) Hint(usual message.Text, rejected, missing bool) message.Text {
	switch {
	case missing && c.Region != "":
		return usual + message.Of(" Each region has its own repositories, and that of {endpoint} is %s.", c.Region)
	case missing:
		return usual
	case rejected && c.Outdated != "":
		usual = c.Outdated
	case rejected && c.Issuer != "":
		usual = message.Of("%s issued these credentials for this check, so they have not expired. Allow the identity in {auth} to use the "+
			"registry, and check that {endpoint} is the registry of its account and region.", c.Issuer)
	}
	if c.Account == "" {
		return usual
	}
	return usual + message.Of(" The key belongs to account %s: the policy of the repository must allow that account.", c.Account)
}

// Call sends one request and returns the response, of which at most a few KiB are read. It follows no redirect.
type Call func(context.Context, *Request) (*Response, error)

// Request is a request to a provider.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
	Secret []string // what must not be shown if the response repeats it
	Local  bool     // to a service that the machine has for the identity of its programs, at exactly this address
}

// Response is the response of a provider.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	Show   func(string) string // cleans and masks text of the response
}

// Refusal is why a provider issues no credentials: a report about the definition, not a fault.
type Refusal struct {
	Reason Reason
	Field  string       // the member of auth to correct, "" if none is at fault
	Seen   message.Text // what the provider sent
	Hint   message.Text // "" for the usual one of the reason
	Retry  bool         // the same request may succeed later
}

func (r *Refusal) Error() string {
	return string(r.Reason) + ": " + r.Seen.Show(func(name string) string { return name })
}

// Reason is a regcheck.Reason of RegistryCredentialSourceFailed.
type Reason string

// The reasons.
const (
	KeyUnknown     Reason = "keyUnknown"          // no such access key, client, app or account
	SecretWrong    Reason = "secretWrong"         // the key exists, and its secret does not match
	KeyExpired     Reason = "keyExpired"          // the key or its session has expired
	ClockSkew      Reason = "clockSkew"           // our clock differs too much from the provider's
	NotAuthorized  Reason = "notAuthorized"       // the identity lacks a permission
	RoleNotAssumed Reason = "roleNotAssumed"      // the trust policy of the role does not allow it
	Unavailable    Reason = "providerUnavailable" // the provider is down, slow or limits requests
	Unreachable    Reason = "providerUnreachable"
	TLSFailed      Reason = "providerTls"
	BadResponse    Reason = "badProviderResponse" // the response is not one of the provider's API

	AmbientNotAllowed Reason = "ambientNotAllowed"     // the identity of the process must not be used
	IdentityMissing   Reason = "identityMissing"       // the machine or pod has none
	FileMissing       Reason = "fileMissing"           // a file that is read at use
	TokenRejected     Reason = "identityTokenRejected" // the provider does not accept the token of another issuer
	HelperMissing     Reason = "helperMissing"         // a credential helper is not installed
	HelperFailed      Reason = "helperFailed"          // a credential helper gave no credentials
)

// post returns a request with a body.
func post(u *url.URL, contentType string, body []byte) *Request {
	return &Request{Method: http.MethodPost, URL: u, Header: http.Header{"Content-Type": {contentType}, "Accept": {"application/json"}},
		Body: body}
}

// postForm returns a request with a form (RFC 6749 appendix B).
func postForm(u *url.URL, form url.Values) *Request {
	return post(u, "application/x-www-form-urlencoded", []byte(form.Encode()))
}

// apiURL returns an https URL of a provider's host.
func apiURL(host, path string) *url.URL { return &url.URL{Scheme: "https", Host: host, Path: path} }

// busy returns the refusal of a provider that is down or limits requests, nil for other responses.
func busy(host string, a *Response) *Refusal {
	if a.Status != http.StatusTooManyRequests && a.Status < 500 {
		return nil
	}
	return &Refusal{Reason: Unavailable, Seen: message.Of("%s returned %d.", host, a.Status), Retry: true}
}

// notAPI returns the refusal of a response that is not of the provider's API.
func notAPI(host string, a *Response) *Refusal {
	return &Refusal{Reason: BadResponse, Seen: message.Of("%s returned %d with a body that is not of its API.", host, a.Status)}
}

// maxSkew is how much the clock may differ from the provider's. AWS, Google and GitHub refuse signatures that are older
// than 5 to 15 minutes.
const maxSkew = 4 * time.Minute

// skewed returns the refusal of a signature that a wrong clock explains, nil if the clocks agree: the response has the provider's time.
func skewed(host string, a *Response, now time.Time) *Refusal {
	theirs, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		return nil
	}
	ahead := now.Sub(theirs).Round(time.Second)
	if ahead.Abs() <= maxSkew {
		return nil
	}
	direction := "ahead of"
	if ahead < 0 {
		direction = "behind"
	}
	return &Refusal{Reason: ClockSkew, Seen: message.Of("The clock of {program} is %v %s that of %s.", ahead.Abs(), direction, host)}
}

package client

import (
	"bytes"
	"context"
	"crypto/tls"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/secret"
)

const (
	maxAttempts = 3
	maxWait     = 30 * time.Second // for all attempts of a request
	maxTransfer = 5 * time.Minute  // for one attempt, with a response that arrives slowly
	jsonType    = "application/json"
)

// request is one operation of the API.
type request struct {
	method    string   // empty means GET
	path      string   // a path of package api
	args      []string // for the names in braces
	query     url.Values
	in        any        // the body, encoded as JSON; nil for none
	file      []byte     // the body as it is
	form      url.Values // the body as a form
	creates   bool       // not repeated after a 503, since that could create or send two, or be refused because it was done
	anonymous bool       // sent without credentials
	accepted  any        // for the body of a 202, where it differs from that of a 200
	lists     lists
	received  *int64 // counts the bytes of all pages of a list; nil for another request
}

// query returns the names with a value that is not empty. Arguments are name, value, name, value.
func query(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

// fetch sends a request and returns the body of its response.
func fetch[T any](ctx context.Context, c *Client, r request) (*T, error) {
	out := new(T)
	if err := c.do(ctx, r, out); err != nil {
		return nil, err
	}
	return out, nil
}

// read is fetch for a response of which only a part is wanted. With an error it is empty.
func read[T any](ctx context.Context, c *Client, r request) (out T, err error) {
	found, err := fetch[T](ctx, c, r)
	if err == nil {
		out = *found
	}
	return out, err
}

// create sends a request and returns the uid in its response.
func (c *Client) create(ctx context.Context, path string, in any) (uid string, err error) {
	var created api.Created
	err = c.do(ctx, request{method: http.MethodPost, path: path, in: in, creates: true}, &created)
	return created.UID, err
}

func (c *Client) put(ctx context.Context, path string, in any, args ...string) error {
	return c.do(ctx, request{method: http.MethodPut, path: path, args: args, in: in}, nil)
}

func (c *Client) delete(ctx context.Context, path string, args ...string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: path, args: args}, nil)
}

// deleteWith deletes something, with cascade also what it contains.
func (c *Client) deleteWith(ctx context.Context, path, uid string, cascade bool) error {
	r := request{method: http.MethodDelete, path: path, args: []string{uid}}
	if cascade {
		r.query = query("cascade", "true")
	}
	return c.do(ctx, r, nil)
}

// do sends a request with the credentials of the client, and decodes the body of the response into out unless out is nil. A
// token that the server refuses is renewed once.
func (c *Client) do(ctx context.Context, r request, out any) error {
	if r.anonymous {
		return c.send(ctx, r, "", out)
	}
	token, err := c.auth.current(ctx)
	if err != nil {
		return err
	}
	err = c.send(ctx, r, token, out)
	if refused, ok := errors.AsType[*api.Error](err); !ok || refused.Code != codeUnauthorized || !c.auth.renewable() {
		return err
	}
	if token, err = c.auth.replace(ctx, token); err != nil {
		return err
	}
	return c.send(ctx, r, token, out)
}

// send sends a request with this token, and repeats it where the API allows that.
func (c *Client) send(ctx context.Context, r request, token secret.String, out any) error {
	target, err := c.target(r)
	if err != nil {
		return err
	}
	body, err := r.body()
	if err != nil {
		return fmt.Errorf("encode the body of %s: %w", c.name(r), err)
	}
	end := time.Now().Add(maxWait)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	for attempt := 1; ; attempt++ {
		wait, err := c.attempt(ctx, r, target, token, body, out)
		if wait <= 0 || attempt == maxAttempts || time.Now().Add(wait).After(end) {
			return err
		}
		if c.onWait != nil {
			c.onWait(time.Now().Add(wait))
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// attempt sends a request once. The duration is when to repeat it, 0 for never.
func (c *Client) attempt(ctx context.Context, r request, target *url.URL, token secret.String, body []byte,
	out any) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTransfer)
	defer cancel()
	sent, err := http.NewRequestWithContext(ctx, r.verb(), "", bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.name(r), err)
	}
	sent.URL, sent.Host = target, target.Host
	c.setHeaders(sent, r, token)
	received, err := c.transport.RoundTrip(sent)
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(plain.RecordHeader[:]) == "HTTP/" {
		err = http.ErrSchemeMismatch // as an http.Client reports it
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.name(r), err)
	}
	defer func() { _ = received.Body.Close() }()
	content, err := r.read(received.Body)
	if err != nil {
		return 0, fmt.Errorf("%s: read the response: %w", c.name(r), err)
	}
	return r.repeatAfter(received), c.decode(r, received, content, out)
}

func (c *Client) setHeaders(sent *http.Request, r request, token secret.String) {
	sent.Header = c.headers.Clone()
	switch {
	case r.in != nil:
		sent.Header.Set("Content-Type", jsonType)
	case r.file != nil:
		sent.Header.Set("Content-Type", "application/octet-stream")
	case r.form != nil:
		sent.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if token != "" {
		sent.Header.Set(api.HeaderAuthorization, token.Reveal())
	}
	if key := c.auth.apiKey; key != "" && !r.anonymous {
		sent.Header.Set(api.HeaderAPIKey, key.Reveal())
	}
}

func (r request) verb() string {
	if r.method == "" {
		return http.MethodGet
	}
	return r.method
}

// name describes a request in errors. It has no values of parameters: one of them is a refresh token.
func (c *Client) name(r request) string { return r.verb() + " " + c.base.String() + r.path }

// parameter is a name in a path of package api.
var parameter = lazyregexp.New(`\{[a-zA-Z]+\}`)

// target returns the URL of a request. A slash in an argument is sent as %2F.
func (c *Client) target(r request) (*url.URL, error) {
	args, bad := r.args, false
	escaped := parameter.Get().ReplaceAllStringFunc(r.path, func(string) string {
		value := args[0]
		args = args[1:]
		// A proxy would remove these segments, and the request would be about something else.
		bad = bad || value == "" || value == "." || value == ".."
		return url.PathEscape(value)
	})
	plain, err := url.PathUnescape(escaped)
	if err != nil || bad {
		return nil, fmt.Errorf("%s: a uid must not be empty, \".\" or \"..\"", c.name(r))
	}
	target := *c.base
	target.RawPath = c.base.EscapedPath() + escaped
	target.Path += plain
	target.RawQuery = r.query.Encode()
	return &target, nil
}

// revealSecrets makes secrets readable, which print masked everywhere else: this is how they get to the server.
var revealSecrets = json.WithMarshalers(json.MarshalToFunc(func(encoder *jsontext.Encoder, s secret.String) error {
	return encoder.WriteToken(jsontext.String(s.Reveal()))
}))

func (r request) body() ([]byte, error) {
	switch {
	case r.form != nil:
		return []byte(r.form.Encode()), nil
	case r.in == nil:
		return r.file, nil
	}
	return json.Marshal(r.in, revealSecrets)
}

// repeatAfter returns how long to wait before a request is repeated, 0 if it must not be repeated.
func (r request) repeatAfter(received *http.Response) time.Duration {
	limited, unavailable := received.StatusCode == http.StatusTooManyRequests, received.StatusCode == http.StatusServiceUnavailable
	if !limited && (!unavailable || r.creates) {
		return 0
	}
	seconds, err := strconv.Atoi(received.Header.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > int(maxWait/time.Second) {
		return 0
	}
	return max(time.Duration(seconds)*time.Second, time.Millisecond)
}

// decode reads a response.
func (c *Client) decode(r request, received *http.Response, content []byte, out any) error {
	media, _, _ := mime.ParseMediaType(received.Header.Get("Content-Type")) // "" if it cannot be read
	if received.StatusCode < 200 || received.StatusCode > 299 {
		refused := &api.Error{}
		if media != jsonType || stdjson.Unmarshal(content, refused) != nil || refused.Code == "" {
			return c.foreign(r, received, content, media)
		}
		refused.Status = received.StatusCode
		return refused
	}
	accepted := received.StatusCode == http.StatusAccepted
	if accepted && r.accepted != nil {
		out = r.accepted
	}
	if len(content) == 0 && out == nil && (accepted || received.StatusCode == http.StatusNoContent) {
		return nil
	}
	if media != jsonType || stdjson.Unmarshal(content, out) != nil {
		return c.foreign(r, received, content, media)
	}
	return nil
}

// refusedWith reports whether the server refused a request with this status.
func refusedWith(err error, status int) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && refused.Status == status
}

// temporary reports whether a request may be done later: the server, or a proxy before it, did not respond or could not do it.
func temporary(err error) bool {
	status, ok := errors.AsType[statusError](err)
	if refused, isRefused := errors.AsType[*api.Error](err); isRefused {
		status, ok = statusError(refused.Status), true
	}
	if ok {
		return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return err != nil && !untrusted && !errors.Is(err, ErrSpeaksTLS) && !errors.Is(err, http.ErrSchemeMismatch)
}

// statusError is the status of a response that this API does not have.
type statusError int

func (s statusError) Error() string { return strconv.Itoa(int(s)) + " " + http.StatusText(int(s)) }

// ErrSpeaksTLS is the error of a plain http request to a port that speaks TLS.
var ErrSpeaksTLS = errors.New("the port speaks TLS; use https://")

// speaksTLS reports whether a server that got plain http on a port for TLS wrote this: Go, nginx or Apache.
func speaksTLS(content []byte) bool {
	text := strings.ToLower(string(content))
	return strings.Contains(text, "https server") || strings.Contains(text, "sent to https port") ||
		strings.Contains(text, "ssl-enabled server port")
}

// foreign is the error of a response that this API does not have. It does not repeat the body, which may repeat the path and so
// a refresh token.
func (c *Client) foreign(r request, received *http.Response, content []byte, media string) error {
	if c.base.Scheme == "http" && received.StatusCode == http.StatusBadRequest && speaksTLS(content) {
		return fmt.Errorf("%s: %w", c.name(r), ErrSpeaksTLS)
	}
	if media != "" {
		media = " with " + media
	}
	status := statusError(received.StatusCode)
	if to, err := received.Location(); err == nil {
		return fmt.Errorf("%s: the response is %w%s, a redirect to %s://%s; use the URL of the server itself",
			c.name(r), status, media, to.Scheme, to.Host)
	}
	return fmt.Errorf("%s: the response is %w%s, which is not of this API; check the URL of the server and the proxies before it",
		c.name(r), status, media)
}

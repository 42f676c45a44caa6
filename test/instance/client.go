package instance

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Client sends requests as any HTTP client would, byte by byte where a test needs it. Every response is
// compared with the API description.
type Client struct {
	t    testing.TB
	url  string
	http *http.Client
}

// Client returns a client that fails t when a response differs from the API description.
func (s *Server) Client(t testing.TB) *Client {
	t.Helper()
	base := &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}
	t.Cleanup(base.CloseIdleConnections)
	return s.ClientThrough(t, base)
}

// ClientThrough is Client over a transport of the test's own.
func (s *Server) ClientThrough(t testing.TB, base http.RoundTripper) *Client {
	t.Helper()
	return &Client{t: t, url: s.URL, http: &http.Client{
		Transport: Contract(t).Transport(t, base), Timeout: 40 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Response is a response, read whole.
type Response struct {
	t      testing.TB
	Status int
	Header http.Header
	Body   string
}

// Fault is the error body.
type Fault struct {
	Code    string
	Message string
	Details struct {
		Fields []struct{ Field, Problem string }
		Reason string
		Stage  string
		Field  string
		Hint   string
		Valid  *bool
	}
	Ref string
}

// Try sends one request. Headers come as name, value, name, value; a name may repeat.
func (c *Client) Try(method, path, body string, headers ...string) (Response, error) {
	c.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, reader)
	if err != nil {
		c.t.Fatalf("make a request: %v", err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Content-Type" {
			request.Header.Del("Content-Type")
		}
		request.Header.Add(headers[i], headers[i+1])
	}
	request.Host = request.Header.Get("Host") // empty means that of the URL
	response, err := c.http.Do(request)
	if err != nil {
		return Response{}, err
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	return Response{t: c.t, Status: response.StatusCode, Header: response.Header, Body: string(all)}, err
}

// Do is Try that ends the test without a response.
func (c *Client) Do(method, path, body string, headers ...string) Response {
	c.t.Helper()
	response, err := c.Try(method, path, body, headers...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return response
}

// Tokens are in the response to a login or a refresh.
type Tokens struct {
	Authorization string `json:"Authorization"`
	RefreshToken  string `json:"refreshToken"`
}

// Login logs in the first administrator.
func (c *Client) Login() Tokens {
	c.t.Helper()
	return c.Do(http.MethodPost, "/v1/auth/authenticate", Credentials(Email, Org, Password)).Want(http.StatusOK).Tokens()
}

// Credentials is the body of a login.
func Credentials(email, org, password string) string {
	return JSON(map[string]string{"emailId": email, "org": org, "password": password})
}

// JSON encodes what a test made itself.
func JSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Want ends the test unless the status is this one.
func (r Response) Want(status int) Response {
	r.t.Helper()
	if r.Status != status {
		r.t.Fatalf("status %d, want %d; body: %.2000s", r.Status, status, r.Body)
	}
	return r
}

// Tokens decodes the response to a login.
func (r Response) Tokens() Tokens {
	r.t.Helper()
	var tokens Tokens
	r.Into(&tokens)
	return tokens
}

// Fault decodes an error body.
func (r Response) Fault() Fault {
	r.t.Helper()
	var f Fault
	r.Into(&f)
	return f
}

// Into decodes the body.
func (r Response) Into(v any) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.Body), v); err != nil {
		r.t.Fatalf("read the response %.500q: %v", r.Body, err)
	}
}

package instance

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Client talks to a server as a stranger's program would, byte by byte if need be. Every answer is
// held against the API description.
type Client struct {
	t    testing.TB
	url  string
	http *http.Client
}

// Client returns a client whose breaches of contract fail t.
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

// Answer is a response, read whole.
type Answer struct {
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
func (c *Client) Try(method, path, body string, headers ...string) (Answer, error) {
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
	response, err := c.http.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	return Answer{t: c.t, Status: response.StatusCode, Header: response.Header, Body: string(all)}, err
}

// Do is Try with an answer or the end of the test.
func (c *Client) Do(method, path, body string, headers ...string) Answer {
	c.t.Helper()
	answer, err := c.Try(method, path, body, headers...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer
}

// Tokens are what a sign-in or a refresh answers.
type Tokens struct {
	Authorization string `json:"Authorization"`
	RefreshToken  string `json:"refreshToken"`
}

// SignIn is a good sign-in of the first administrator.
func (c *Client) SignIn() Tokens {
	c.t.Helper()
	return c.Do(http.MethodPost, "/v1/auth/authenticate", Credentials(Email, Org, Password)).Want(http.StatusOK).Tokens()
}

// Credentials is the body of a sign-in.
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
func (a Answer) Want(status int) Answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("status %d, want %d; body: %.2000s", a.Status, status, a.Body)
	}
	return a
}

// Tokens reads a sign-in's answer.
func (a Answer) Tokens() Tokens {
	a.t.Helper()
	var tokens Tokens
	a.Into(&tokens)
	return tokens
}

// Fault reads an error body.
func (a Answer) Fault() Fault {
	a.t.Helper()
	var f Fault
	a.Into(&f)
	return f
}

// Into decodes the body.
func (a Answer) Into(v any) {
	a.t.Helper()
	if err := json.Unmarshal([]byte(a.Body), v); err != nil {
		a.t.Fatalf("read the answer %.500q: %v", a.Body, err)
	}
}

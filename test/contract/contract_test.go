package contract_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/test/contract"
)

const good = `{"Authorization":"a.b.c","refreshToken":"r"}`

// A checker that finds nothing proves nothing: each row breaks the description in one way.
func TestFindsEachBreach(t *testing.T) {
	c, err := contract.Load("testdata/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fault := `{"code":"InvalidRequest","message":"m","details":{"fields":[]},"ref":"ref-1"}`
	tests := []struct {
		name    string
		method  string
		path    string
		request string
		status  int
		header  map[string]string // over the usual ones; "" takes one away
		body    string
		want    string // part of the problem, "" for none
	}{
		{name: "as described", status: 200, body: good},
		{name: "described error", status: 400, body: fault},
		{name: "undescribed status", status: 418, body: fault, want: "status is not supported"},
		{name: "missing field", status: 200, body: `{}`, want: "Authorization"},
		{name: "wrong type", status: 200, body: `{"Authorization":7}`, want: "Authorization"},
		{name: "field too many", status: 200, body: `{"Authorization":"a.b.c","debug":1}`, want: "debug"},
		{name: "no body", status: 200, body: ``, want: "no body"},
		{name: "wrong type of content", status: 200, header: map[string]string{"Content-Type": "text/html"}, body: good, want: "text/html"},
		{name: "undescribed header", status: 200, header: map[string]string{"Server": "x"}, body: good,
			want: "header Server is not described"},
		{name: "missing header", status: 200, header: map[string]string{"X-Request-Id": ""}, body: good, want: "X-Request-Id"},
		{name: "header of a wrong shape", status: 200, header: map[string]string{"X-Request-Id": "7"}, body: good, want: "X-Request-Id"},
		{name: "cacheable", status: 200, header: map[string]string{"Cache-Control": "max-age=1"}, body: good, want: "Cache-Control"},
		{name: "cookie", status: 200, header: map[string]string{"Set-Cookie": "a=b"}, body: good, want: "Set-Cookie"},
		{name: "error without code", status: 400, body: `{"message":"m","details":{"fields":[]},"ref":"ref-1"}`, want: "code"},
		{name: "error with an unknown field", status: 400,
			body: `{"code":"InvalidRequest","message":"m","details":{"fields":[]},"ref":"ref-1","stack":"x"}`, want: "stack"},
		{name: "error without details", status: 400, body: `{"code":"InvalidRequest","message":"m","ref":"ref-1"}`, want: "details"},
		{name: "error in text", status: 400, header: map[string]string{"Content-Type": "text/plain"}, body: "404 page not found",
			want: "not the error body"},
		{name: "another ref", status: 400, header: map[string]string{"X-Request-Id": "ref-2"}, body: fault, want: "request id"},
		{name: "two errors", status: 400, body: fault + fault, want: "follows"},
		{name: "accepts what is forbidden", request: `{"emailId":7}`, status: 200, body: good, want: "forbids"},
		{name: "body with 204", method: "DELETE", status: 204, body: "x", want: "none is described"},
		{name: "204", method: "DELETE", status: 204, header: map[string]string{"Content-Type": ""}},
		{name: "unknown path", path: "/v1/nothing", status: 404, body: `{"code":"PathNotFound","message":"m","details":{},"ref":"ref-1"}`},
		{name: "unknown path as a lost resource", path: "/v1/nothing", status: 404,
			body: `{"code":"ResourceNotFound","message":"m","details":{},"ref":"ref-1"}`, want: "PathNotFound"},
		{name: "unknown path as text", path: "/v1/nothing", status: 404, body: "not found", want: "not the error body"},
		{name: "unknown path returns 200", path: "/v1/nothing", status: 200, body: "{}", want: "no such operation"},
		{name: "redirect", path: "/v1//auth", status: 307, want: "no such operation"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			request, response := pair(t, tt.method, tt.path, tt.status, tt.header)
			if tt.request == "" && request.Method == http.MethodPost {
				tt.request = `{"emailId":"a@b"}`
			}
			got := strings.Join(c.Problems(request, []byte(tt.request), response, []byte(tt.body)), "\n")
			if tt.want == "" && got != "" {
				t.Errorf("unexpected: %s", got)
			}
			if tt.want != "" && !strings.Contains(got, tt.want) {
				t.Errorf("problems %q lack %q", got, tt.want)
			}
		})
	}
	if seen := c.Seen(); len(seen) != 3 {
		t.Errorf("seen %q, want the three described responses", seen)
	}
}

// Responses must be comparable with the product's own description.
func TestReadsTheDescription(t *testing.T) {
	c, err := contract.Load("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if described := c.Described(); len(described) < 40 {
		t.Errorf("only %d responses are described", len(described))
	}
}

func pair(t *testing.T, method, path string, status int, header map[string]string) (*http.Request, *http.Response) {
	t.Helper()
	if method == "" {
		method = http.MethodPost
	}
	if path == "" {
		path = "/v1/auth"
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response := &http.Response{StatusCode: status, Request: request, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-Request-Id": "ref-1", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	} {
		response.Header.Set(name, value)
	}
	for name, value := range header {
		if value == "" {
			response.Header.Del(name)
		} else {
			response.Header.Set(name, value)
		}
	}
	return request, response
}

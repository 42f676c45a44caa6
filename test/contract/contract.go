// Package contract compares every response of the service with its API description.
//
// A Transport is part of a test's HTTP client. What the description does not have (a status, a header,
// a body of another shape) fails the test, and so does a request that was accepted although the
// description forbids it. Responses outside 2xx must have the error body, on undescribed paths too.
package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// maxBody is more than any response of ours may have.
const maxBody = 4 << 20

// scimType is the media type below scimPath.
const (
	scimType = "application/scim+json"
	scimPath = "/scim/v2/"
)

// Headers that HTTP itself or every response has, so that the description need not name them.
var everywhere = []string{
	"Cache-Control", "Connection", "Content-Length", "Content-Security-Policy", "Content-Type", "Date",
	"Referrer-Policy", "Strict-Transport-Security", "X-Content-Type-Options",
}

// Headers for browsers and caches that every response must have.
var always = map[string]string{
	"Cache-Control":           "no-store",
	"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	"Referrer-Policy":         "no-referrer",
	"X-Content-Type-Options":  "nosniff",
}

// Contract is a description and the operations seen so far. It is safe for concurrent use.
type Contract struct {
	doc    *openapi3.T
	router routers.Router
	bodies *bodies

	mu   sync.Mutex
	seen map[string]bool // "METHOD path status", as described
}

// Load reads a description, OpenAPI 3.1 in YAML or JSON.
func Load(path string) (*Contract, error) {
	openapi3filter.RegisterBodyDecoder(scimType, openapi3filter.JSONBodyDecoder)
	doc, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the API description: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("the API description is not OpenAPI: %w", err)
	}
	doc.Servers = nil // it is held against loopback addresses
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("route by the API description: %w", err)
	}
	bodies, err := newBodies(doc)
	if err != nil {
		return nil, fmt.Errorf("read the schemas of the API description: %w", err)
	}
	// The library compares parameters, headers and forms. As OpenAPI 3.0 it compiles no schema for each of them.
	doc.OpenAPI = "3.0.3"
	return &Contract{doc: doc, router: router, bodies: bodies, seen: map[string]bool{}}, nil
}

// Transport checks what passes through base and reports to t.
func (c *Contract) Transport(t testing.TB, base http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		body, err := take(&r.Body)
		if err != nil {
			return nil, err
		}
		response, err := base.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		responseBody, err := take(&response.Body)
		if err != nil {
			return nil, err
		}
		for _, problem := range c.Problems(r, body, response, responseBody) {
			t.Errorf("%s %s returned %d: %s\nbody: %.2000s", r.Method, r.URL.Path, response.StatusCode, problem, responseBody)
		}
		return response, nil
	})
}

// Described lists every operation and status of the description, Seen those that came by.
func (c *Contract) Described() []string {
	var all []string
	for path, item := range c.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				all = append(all, method+" "+path+" "+status)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Seen lists the described responses that were given, sorted.
func (c *Contract) Seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.seen))
}

// Problems compares one request and its response with the description.
func (c *Contract) Problems(r *http.Request, requestBody []byte, response *http.Response, body []byte) []string {
	problems := alwaysProblems(response)
	route, params, err := c.route(r)
	if err != nil {
		return append(problems, c.undescribed(response, body, err)...)
	}
	if response.StatusCode/100 != 2 {
		problems = append(problems, errorBodyProblems(r, response, body)...)
	}
	input := &openapi3filter.RequestValidationInput{
		Request: withBody(r, requestBody), PathParams: params, Route: route, Options: options(r.Header, requestBody),
	}
	if response.StatusCode/100 == 2 {
		if err := c.checkRequest(input, requestBody); err != nil {
			problems = append(problems, "it accepted a request that the description forbids: "+err.Error())
		}
	}
	described := route.Operation.Responses.Status(response.StatusCode)
	if err := c.checkResponse(input, response, described, body); err != nil {
		problems = append(problems, err.Error())
	}
	if described == nil {
		return problems
	}
	c.note(route, response.StatusCode)
	return append(problems, shapeProblems(r, response, described.Value, body)...)
}

func (c *Contract) checkRequest(input *openapi3filter.RequestValidationInput, body []byte) error {
	err := openapi3filter.ValidateRequest(context.Background(), input)
	if described := input.Route.Operation.RequestBody; input.Options.ExcludeRequestBody && described != nil {
		err = errors.Join(err, c.bodies.check(described.Value.Content, input.Request.Header.Get("Content-Type"), body))
	}
	return err
}

func (c *Contract) checkResponse(request *openapi3filter.RequestValidationInput, response *http.Response, described *openapi3.ResponseRef,
	body []byte) error {
	o := options(response.Header, body)
	err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: request, Status: response.StatusCode, Header: response.Header,
		Body: io.NopCloser(bytes.NewReader(body)), Options: o,
	})
	if o.ExcludeResponseBody && described != nil && request.Request.Method != http.MethodHead {
		err = errors.Join(err, c.bodies.check(described.Value.Content, response.Header.Get("Content-Type"), body))
	}
	return err
}

// route finds the operation. The path is matched as it was sent, since %2F is part of a name.
func (c *Contract) route(r *http.Request) (*routers.Route, map[string]string, error) {
	bare := &http.Request{Method: r.Method, URL: &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery},
		Header: r.Header, Host: r.Host}
	return c.router.FindRoute(bare)
}

func (c *Contract) note(route *routers.Route, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[fmt.Sprintf("%s %s %d", route.Method, route.Path, status)] = true
}

// undescribed returns the problems of a response at a path or method that the description lacks: only the error body
// for exactly that is right.
func (c *Contract) undescribed(response *http.Response, body []byte, reason error) []string {
	if response.StatusCode/100 == 2 || response.StatusCode/100 == 3 {
		return []string{"the description has no such operation: " + reason.Error()}
	}
	problems := errorBodyProblems(response.Request, response, body)
	if response.StatusCode == http.StatusNotFound && bytes.Contains(body, []byte(`"ResourceNotFound"`)) {
		problems = append(problems, "a path that is not served must be PathNotFound: clients take ResourceNotFound for a deleted resource")
	}
	var described *openapi3.Response
	if response.StatusCode == http.StatusMethodNotAllowed {
		if ref := c.doc.Components.Responses["MethodNotAllowed"]; ref != nil {
			described = ref.Value
		}
	}
	if described != nil {
		problems = append(problems, missingHeaders(response, described)...)
	}
	return problems
}

// options leaves JSON out, which bodies compares.
func options(header http.Header, body []byte) *openapi3filter.Options {
	isJSON := isJSON(header.Get("Content-Type")) && len(body) > 0
	return &openapi3filter.Options{
		ExcludeRequestBody: isJSON, ExcludeResponseBody: isJSON,
		IncludeResponseStatus: true, MultiError: true, SkipSettingDefaults: true, RejectWhenRequestBodyNotSpecified: false,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, // the service checks credentials
	}
}

func alwaysProblems(response *http.Response) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(always)) {
		if got := response.Header.Values(name); len(got) != 1 || got[0] != always[name] {
			problems = append(problems, fmt.Sprintf("header %s is %q, want %q", name, got, always[name]))
		}
	}
	return problems
}

// shapeProblems are those that the validator does not look for.
func shapeProblems(r *http.Request, response *http.Response, described *openapi3.Response, body []byte) []string {
	problems := missingHeaders(response, described)
	for name := range response.Header {
		if !slices.Contains(everywhere, name) && !hasHeader(described, name) {
			problems = append(problems, "header "+name+" is not described")
		}
	}
	if len(described.Content) == 0 && len(body) > 0 {
		problems = append(problems, fmt.Sprintf("it has a body of %d bytes, and none is described", len(body)))
	}
	if len(described.Content) == 0 && response.Header.Get("Content-Type") != "" {
		problems = append(problems, "it names a content type, and no content is described")
	}
	if len(described.Content) > 0 && r.Method != http.MethodHead && len(body) == 0 {
		problems = append(problems, "it has no body, and one is described")
	}
	return problems
}

func missingHeaders(response *http.Response, described *openapi3.Response) []string {
	var problems []string
	for name, header := range described.Headers {
		if header.Value.Required && len(response.Header.Values(name)) != 1 {
			problems = append(problems, fmt.Sprintf("header %s is there %d times, want once", name, len(response.Header.Values(name))))
		}
	}
	return problems
}

func hasHeader(described *openapi3.Response, name string) bool {
	for known := range described.Headers {
		if http.CanonicalHeaderKey(known) == name {
			return true
		}
	}
	return false
}

// errorBody is what every response outside 2xx has, and nothing else.
type errorBody struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
	Ref     string          `json:"ref"`
	Error   *string         `json:"error"` // of a device

	// Of SCIM.
	Schemas  []string `json:"schemas"`
	Status   string   `json:"status"`
	SCIMType string   `json:"scimType"`
	Detail   string   `json:"detail"`
}

func errorBodyProblems(r *http.Request, response *http.Response, body []byte) []string {
	if r != nil && r.Method == http.MethodHead {
		return nil // RFC 9110 9.3.2: no content
	}
	var problems []string
	want, isSCIM := "application/json", r != nil && strings.HasPrefix(r.URL.Path, scimPath)
	if isSCIM {
		want = scimType
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || kind != want {
		problems = append(problems, fmt.Sprintf("an error of type %q, want %s", response.Header.Get("Content-Type"), want))
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	var e errorBody
	if err := decoder.Decode(&e); err != nil {
		return append(problems, "not the error body: "+err.Error())
	}
	if decoder.More() {
		problems = append(problems, "something follows the error body")
	}
	if e.Code == "" || e.Message == "" || e.Ref == "" || !strings.HasPrefix(string(e.Details), "{") {
		problems = append(problems, "an error body needs code, message, details (an object) and ref")
	}
	if isSCIM != (len(e.Schemas) == 1 && e.Status == fmt.Sprint(response.StatusCode) && e.Detail != "") {
		problems = append(problems, "only errors of SCIM have its members, and each has them")
	}
	if id := response.Header.Get("X-Request-Id"); id != e.Ref {
		problems = append(problems, fmt.Sprintf("the ref is %q and the request id %q", e.Ref, id))
	}
	return problems
}

func withBody(r *http.Request, body []byte) *http.Request {
	clone := r.Clone(context.Background())
	clone.Body = http.NoBody
	if len(body) > 0 {
		clone.Body = io.NopCloser(bytes.NewReader(body))
	}
	return clone
}

// take reads a body whole and puts it back.
func take(body *io.ReadCloser) ([]byte, error) {
	if *body == nil || *body == http.NoBody {
		return nil, nil
	}
	defer (*body).Close()
	all, err := io.ReadAll(io.LimitReader(*body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read a body: %w", err)
	}
	if len(all) > maxBody {
		return nil, fmt.Errorf("a body has more than %d bytes", maxBody)
	}
	*body = io.NopCloser(bytes.NewReader(all))
	return all, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

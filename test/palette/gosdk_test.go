package palette_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"testing"
)

// goSDK is the transport of the Go SDK, which the provider uses too: its headers, its reading of responses
// and its retries. The pauses between attempts are left out.
type goSDK struct {
	wire       *wire
	key, jwt   string
	project    string // sent with every call; calls about keys and projects go through a client without
	retries    int    // of the SDK 0 by default, of the provider 10
	attemptLog *attemptLog
}

// attemptLog has the requests that a client sent.
type attemptLog struct {
	attempts int
	log      []string // "METHOD path status"
}

// sdk returns a client with an API key, as the provider makes it.
func (w *world) sdk() goSDK {
	w.t.Helper()
	return goSDK{wire: w.wire(), key: w.key, retries: 10, attemptLog: &attemptLog{}}
}

// operation is a generated call: what is sent, and the one status that is its success.
type operation struct {
	method, path string
	body         string
	success      int
}

// apiError is how the SDK decodes an unsuccessful response.
type apiError struct {
	Status   int
	Code     string
	Message  string
	Ref      string
	Details  any
	Attempts int
	Retried  string // why it was tried again; "" when it was not
	Lossy    string // what of the response was lost; "" when it was read
}

func (e *apiError) Error() string {
	return fmt.Sprintf("status %d, code %s: %s (%d attempts, %s%s)", e.Status, e.Code, e.Message, e.Attempts, e.Retried, e.Lossy)
}

// request writes a request as Go's HTTP client does: headers by name, Accept-Encoding last, Content-Type on POST,
// PUT and DELETE with or without a body.
func (c goSDK) request(method, path, body string) request {
	header := [][2]string{{"User-Agent", "Go-http-client/1.1"}, {"Accept", "application/json"}}
	if c.key != "" {
		header = append(header, [2]string{"Apikey", c.key})
	} else if c.jwt != "" {
		header = append(header, [2]string{"Authorization", c.jwt})
	}
	if method != http.MethodGet {
		header = append(header, [2]string{"Content-Type", "application/json"})
	}
	if c.project != "" {
		header = append(header, [2]string{"Projectuid", c.project})
	}
	return request{method: method, target: path, header: append(header, [2]string{"Accept-Encoding", "gzip"}), body: body}
}

// call sends an operation and reads its response into v. The error is what the SDK's caller would see.
func (c goSDK) call(o operation, v any) *apiError {
	c.wire.t.Helper()
	var last *apiError
	for attempt := 1; attempt <= 1+c.retries; attempt++ {
		c.attemptLog.attempts++
		resp, err := c.wire.send(c.request(o.method, o.path, o.body))
		if err != nil {
			c.attemptLog.log = append(c.attemptLog.log, o.method+" "+o.path+" broke off")
			last = &apiError{Retried: "network error: " + err.Error()}
		} else {
			c.attemptLog.log = append(c.attemptLog.log, fmt.Sprintf("%s %s %d", o.method, o.path, resp.status))
			last = o.read(resp, v)
		}
		if last == nil {
			return nil
		}
		last.Attempts = attempt
		if last.Retried == "" {
			break
		}
	}
	return last
}

// read takes a response as the generated reader does: the content type first, whatever the status; then the status;
// then the body.
func (o operation) read(resp response, v any) *apiError {
	media, problem := consumer(resp.header.Get("Content-Type"))
	switch {
	case resp.status == http.StatusTooManyRequests:
		return &apiError{Status: resp.status, Code: "TooManyRequests", Retried: "status 429"}
	case problem != "":
		return &apiError{Status: resp.status, Lossy: problem, Retried: problem}
	case resp.status > http.StatusInternalServerError:
		return &apiError{Status: resp.status, Retried: fmt.Sprintf("status %d", resp.status)}
	case resp.status == o.success && v == nil:
		return nil
	case resp.status == o.success:
		if err := json.Unmarshal(resp.body, v); err != nil {
			return &apiError{Status: resp.status, Lossy: "the body cannot be read: " + err.Error()}
		}
		return nil
	case resp.status/100 == 2:
		return &apiError{Status: resp.status, Retried: fmt.Sprintf("undocumented success %d", resp.status)}
	case resp.status/100 == 3:
		return &apiError{Status: resp.status, Lossy: "a redirect"}
	}
	return decodeError(resp, media)
}

// consumer finds a reader for a content type; none given means JSON.
func consumer(contentType string) (media, problem string) {
	if contentType == "" {
		return "application/json", ""
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return "", "unreadable content type " + contentType
	}
	if media != "application/json" && media != "text/plain" && media != "text/html" {
		return "", fmt.Sprintf("no consumer: %q", media)
	}
	return media, ""
}

// decodeError reads the error body. If its code is not a string, status and raw text replace it.
func decodeError(resp response, media string) *apiError {
	e := &apiError{Status: resp.status}
	var body struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Details any    `json:"details"`
		Ref     string `json:"ref"`
	}
	err := json.Unmarshal(resp.body, &body)
	switch {
	case len(bytes.TrimSpace(resp.body)) == 0:
		e.Lossy = "an empty body: &{Code: Details:<nil> Message: Ref:}"
	case media != "application/json" || err != nil || body.Code == "":
		e.Code, e.Lossy = strings.ReplaceAll(http.StatusText(resp.status), " ", ""), fmt.Sprintf("%s, %v: %.200s", media, err, resp.body)
	default:
		e.Code, e.Message, e.Details, e.Ref = body.Code, body.Message, body.Details, body.Ref
	}
	return e
}

// must is a call that has to succeed at its first attempt.
func (c goSDK) must(o operation, v any) {
	c.wire.t.Helper()
	before := c.attemptLog.attempts
	if err := c.call(o, v); err != nil {
		c.wire.t.Fatalf("%s %s: %v", o.method, o.path, err)
	}
	if n := c.attemptLog.attempts - before; n != 1 {
		c.wire.t.Fatalf("%s %s took %d attempts", o.method, o.path, n)
	}
}

// refused is a call that has to fail for good: with this status and code, read whole, and not tried again.
func (c goSDK) refused(o operation, status int, code string) *apiError {
	c.wire.t.Helper()
	err := c.call(o, nil)
	if err == nil {
		c.wire.t.Fatalf("%s %s succeeded, want %d %s", o.method, o.path, status, code)
	}
	if err.Status != status || err.Code != code || err.Attempts != 1 || err.Lossy != "" {
		c.wire.t.Fatalf("%s %s: %v; want status %d, code %s, at once", o.method, o.path, err, status, code)
	}
	return err
}

func get(path string) operation { return operation{http.MethodGet, path, "", http.StatusOK} }
func del(path string) operation {
	return operation{http.MethodDelete, path, "", http.StatusNoContent}
}
func put(path, body string) operation {
	return operation{http.MethodPut, path, body, http.StatusNoContent}
}
func post(path, body string, success int) operation {
	return operation{http.MethodPost, path, body, success}
}

// The model of the transport must itself see what it is there to see.
func TestTransportModel(t *testing.T) {
	const fault = `{"code":"X","message":"m","details":{},"ref":"r"}`
	for _, tt := range []struct {
		name, contentType, body string
		status                  int
		code                    string
		retried, lossy          bool
	}{
		{"documented", "application/json", `{}`, 200, "", false, false},
		{"other success", "application/json", `{}`, 201, "", true, false},
		{"error", "application/json; charset=utf-8", fault, 422, "X", false, false},
		{"problem+json", "application/problem+json", fault, 400, "", true, true},
		{"number", "application/json", `{"code":405,"message":"m"}`, 405, "MethodNotAllowed", false, true},
		{"text", "text/plain; charset=utf-8", "404 page not found", 404, "NotFound", false, true},
		{"empty", "", "", 403, "", false, true},
		{"500", "application/json", fault, 500, "X", false, false},
		{"503", "application/json", fault, 503, "", true, false},
		{"429", "application/json", fault, 429, "TooManyRequests", true, false},
		{"redirect", "text/html", "", 307, "", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := get("/").read(response{tt.status, http.Header{"Content-Type": {tt.contentType}}, []byte(tt.body)}, &struct{}{})
			if e == nil {
				e = &apiError{}
			}
			if e.Code != tt.code || (e.Retried != "") != tt.retried || (e.Lossy != "") != tt.lossy {
				t.Errorf("%+v", e)
			}
		})
	}
}

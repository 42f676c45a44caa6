package palette_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// inventedFields are sent by tests of unknown fields. No public client sends them.
var inventedFields = []string{"rememberMe", "x", "spec.caCert", "spec.syncRecovery", "metadata.permissions", "metadata.selfLink"}

const responseWait = 40 * time.Second

// request is one request, with its headers in the order and the spelling in which they are sent. Host and
// Content-Length are added.
type request struct {
	method, target string
	header         [][2]string
	body           string
	chunked        bool // Transfer-Encoding instead of Content-Length
}

// response is a response, read whole.
type response struct {
	status int
	header http.Header
	body   []byte
}

// wire is one connection of a client, reused as by the real clients, and reopened after it was closed.
type wire struct {
	t      testing.TB
	host   string
	config *tls.Config
	conn   *tls.Conn
	reader *bufio.Reader
}

func (w *world) wire() *wire {
	w.t.Helper()
	one := &wire{t: w.t, host: w.host, config: &tls.Config{RootCAs: w.ca.Pool(), NextProtos: []string{"h2", "http/1.1"}}}
	w.t.Cleanup(one.close)
	return one
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close() // what it carried was read
		w.conn = nil
	}
}

func (r request) bytes(host string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.target, host)
	for i, line := range r.header {
		if i == 1 && r.body != "" && !r.chunked { // where Go writes it: behind User-Agent
			fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.body))
		}
		fmt.Fprintf(&b, "%s: %s\r\n", line[0], line[1])
	}
	switch {
	case r.chunked:
		fmt.Fprintf(&b, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(r.body), r.body)
	case r.body == "" && (r.method == http.MethodPost || r.method == http.MethodPut):
		b.WriteString("Content-Length: 0\r\n\r\n")
	default:
		b.WriteString("\r\n" + r.body)
	}
	return b.Bytes()
}

// send sends one request and reads the response, which has to keep to the API description.
func (w *wire) send(r request) (response, error) {
	w.t.Helper()
	sent := r.bytes(w.host)
	reused := w.conn != nil
	resp, err := w.exchange(sent)
	if err != nil && reused { // the server may have closed an idle connection
		resp, err = w.exchange(sent)
	}
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.close()
		return response{}, err
	}
	if resp.Close {
		w.close()
	}
	for _, problem := range instance.Contract(w.t).Problems(resp.Request, []byte(r.body), resp, body) {
		w.t.Errorf("%s %s returned %d: %s\nbody: %.2000s", r.method, r.target, resp.StatusCode, problem, body)
	}
	for _, warning := range resp.Header["Warning"] {
		if name := strings.TrimSuffix(strings.TrimPrefix(warning, `299 - "unknown field `), `"`); !slices.Contains(inventedFields, name) {
			w.t.Errorf("%s %s: a field that public clients send is called unknown: %s", r.method, r.target, warning)
		}
	}
	return response{resp.StatusCode, resp.Header, body}, nil
}

func (w *wire) exchange(sent []byte) (*http.Response, error) {
	if err := w.connect(); err != nil {
		return nil, err
	}
	if err := w.conn.SetDeadline(time.Now().Add(responseWait)); err != nil {
		return nil, err
	}
	parsed, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
	if err != nil {
		w.t.Fatalf("the test sends no HTTP: %v\n%s", err, sent)
	}
	if _, err := w.conn.Write(sent); err != nil {
		w.close()
		return nil, err
	}
	resp, err := http.ReadResponse(w.reader, parsed)
	if err != nil {
		w.close()
	}
	return resp, err
}

func (w *wire) connect() error {
	if w.conn != nil {
		return nil
	}
	conn, err := tls.Dial("tcp", w.host, w.config)
	if err != nil {
		return err
	}
	w.conn, w.reader = conn, bufio.NewReader(conn)
	return nil
}

// A request is sent as written: the models depend on it.
func TestRequestsAreWrittenAsGoWritesThem(t *testing.T) {
	r := goSDK{key: "k"}.request(http.MethodPost, "/v1/x?skipPackSync=false", `{"a":1}`)
	want := strings.ReplaceAll(`POST /v1/x?skipPackSync=false HTTP/1.1
Host: h:1
User-Agent: Go-http-client/1.1
Content-Length: 7
Accept: application/json
Apikey: k
Content-Type: application/json
Accept-Encoding: gzip

{"a":1}`, "\n", "\r\n")
	if got := string(r.bytes("h:1")); got != want {
		t.Errorf("sent\n%s\nwant\n%s", got, want)
	}
	r = goSDK{jwt: "j", project: "p"}.request(http.MethodDelete, "/v1/x", "")
	want = strings.ReplaceAll(`DELETE /v1/x HTTP/1.1
Host: h:1
User-Agent: Go-http-client/1.1
Accept: application/json
Authorization: j
Content-Type: application/json
Projectuid: p
Accept-Encoding: gzip

`, "\n", "\r\n")
	if got := string(r.bytes("h:1")); got != want {
		t.Errorf("sent\n%q\nwant\n%q", got, want)
	}
}

package service_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
)

// Requests that no HTTP client library would send, written byte by byte.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	server := instance.Start(t, instance.Options{})
	host := strings.TrimPrefix(server.URL, "http://")
	header := func(lines string) string { return "Host: " + host + "\r\n" + lines + "\r\n" }
	const login = `{"emailId":"a"}`
	tests := []struct {
		name, request string
		status        int
		closes        bool // no second request may be read from the connection
	}{
		{"two framings", "POST /v1/auth HTTP/1.1\r\n" +
			header("Content-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n") +
			"f\r\n" + login + "\r\n0\r\n\r\n", 400, true},
		{"two lengths", "POST /v1/auth HTTP/1.1\r\n" +
			header("Content-Type: application/json\r\nContent-Length: 4\r\nContent-Length: 15\r\n") + login, 400, true},
		{"absolute form", "GET http://other.example/v1/nothing HTTP/1.1\r\n" + header(""), 404, false},
		{"asterisk", "OPTIONS * HTTP/1.1\r\n" + header(""), 404, false},
		{"CONNECT", "CONNECT other.example:443 HTTP/1.1\r\n" + header(""), 404, false},
		{"CONNECT with a path", "CONNECT /v1/projects/alerts HTTP/1.1\r\n" + header(""), 404, false},
		{"long header", "GET /healthz HTTP/1.1\r\n" + header("X-Long: "+strings.Repeat("x", 80<<10)+"\r\n"), 431, true},
		{"HTTP/1.0", "GET /healthz HTTP/1.0\r\n" + header(""), 200, true},
		{"no HTTP", "HELO registry\r\n\r\n", 400, true},
		{"dots, undecoded", "GET /v1/../healthz HTTP/1.1\r\n" + header(""), 404, false},
		{"backslash", "GET /v1\\projects\\alerts HTTP/1.1\r\n" + header(""), 404, false},
		{"percent", "GET /v1/auth/refresh/%zz HTTP/1.1\r\n" + header(""), 400, true},
		{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, closed := raw(t, host, tt.request)
			if tt.status != 0 && status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			if tt.closes && !closed {
				t.Error("the connection stays open for another request")
			}
		})
	}
	server.Client(t).Login()
}

// raw sends bytes followed by a second, good request. It returns the first status and whether the connection was closed
// before the second response.
func raw(t *testing.T, host, request string) (status int, closed bool) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", host, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	second := fmt.Sprintf("GET /healthz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
	_, _ = io.WriteString(conn, request+second) // it may be cut off while we write
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return 0, true
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	again, err := http.ReadResponse(reader, nil)
	if err != nil {
		return response.StatusCode, true
	}
	again.Body.Close()
	return response.StatusCode, false
}

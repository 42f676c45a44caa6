package server

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/web/connlimit"
	"github.com/regwarden/regwarden/internal/web/requestbody"
)

const testPause = 500 * time.Millisecond

// serveLimited serves on loopback within limits, and returns a function that connects from an address. Other systems than Linux have
// 127.0.0.1 alone.
func serveLimited(t *testing.T, h http.Handler, limits ConnLimits, encrypted ...bool) (connect func(from string) net.Conn, l *Listener) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = NewListener(inner, limits)
	l.pause = testPause
	s := edge(io.Discard).HTTPServer()
	s.Handler = h
	connlimit.Track(s, connlimit.NewTurns(1))
	tracked := s.ConnState
	s.ConnState = func(conn net.Conn, state http.ConnState) {
		tracked(conn, state)
		states.Store(conn.RemoteAddr().String(), state)
	}
	var listener net.Listener = l
	if slices.Contains(encrypted, true) {
		certificate := httptest.NewUnstartedServer(nil)
		certificate.StartTLS()
		certificate.Close()
		listener = tls.NewListener(l, &tls.Config{Certificates: certificate.TLS.Certificates})
	}
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(func() { _ = s.Close() })
	return func(from string) net.Conn {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(encrypted, true) {
			return tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // its certificate is self-signed
		}
		return conn
	}, l
}

// states has what net/http reported last of each connection, by the address of the client.
var states sync.Map

// awaitIdle waits until the server knows that a connection is idle, which is some time after its response.
func awaitIdle(t *testing.T, conn net.Conn) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if state, _ := states.Load(conn.LocalAddr().String()); state == http.StateIdle {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the connection is not idle after 10 s")
		}
	}
}

const health = "GET " + api.PathHealth + " HTTP/1.1\r\nHost: x\r\n\r\n"

// responds sends a request and reports whether a response arrived; false if the connection was closed instead.
func responds(t *testing.T, conn net.Conn, request string) bool {
	t.Helper()
	_, _ = io.WriteString(conn, request) // the read reports a closed connection
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err == nil && response.StatusCode == http.StatusOK
}

// Another connection takes the place of the one that is idle for longest, if it may.
func TestConnectionsOverTheLimitAreClosed(t *testing.T) {
	const a, b, proxy = "127.0.0.2", "127.0.1.3", "127.0.2.4"
	limits := ConnLimits{Connections: 5, PerSource: 2, Bytes: 1 << 20, Proxies: []netip.Prefix{netip.MustParsePrefix(proxy + "/32")}}
	for _, c := range []struct {
		name    string
		open    []string // sources of connections that stay open
		working bool     // they have a request each, else they are idle
		next    string   // source of another connection
		closed  int      // index of the connection that is closed, -1 for none; len(open) for the new one
		counts  connlimit.Counts
	}{
		{name: "below both limits", open: []string{a}, next: a, closed: -1},
		{name: "one source at its limit", open: []string{b, a, a}, next: a, closed: 1, counts: connlimit.Counts{ClosedOfSource: 1}},
		{name: "one source at its limit, all working", open: []string{b, a, a}, working: true, next: a, closed: 3,
			counts: connlimit.Counts{RefusedOfSource: 1}},
		{name: "another source", open: []string{a, a}, next: b, closed: -1},
		{name: "a proxy has no limit of its own", open: []string{proxy, proxy, proxy}, next: proxy, closed: -1},
		{name: "all connections", open: []string{proxy, proxy, b, a, a}, next: proxy, closed: 3, counts: connlimit.Counts{ClosedInAll: 1}},
		{name: "all connections working", open: []string{b, proxy, proxy, a, a}, working: true, next: b, closed: 3,
			counts: connlimit.Counts{ClosedInAll: 1}},
		{name: "all connections of a proxy", open: []string{proxy, proxy, proxy, proxy, proxy}, next: a, closed: 5,
			counts: connlimit.Counts{RefusedInAll: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			works := make(chan struct{})
			connect, l := serveLimited(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/long" {
					works <- struct{}{}
					<-r.Context().Done()
				}
			}), limits)
			var conns []net.Conn
			for _, from := range c.open {
				conn := connect(from)
				conns = append(conns, conn)
				if !responds(t, conn, health) {
					t.Fatalf("%s has no response before the limit", from)
				}
				awaitIdle(t, conn)
				if c.working {
					_, _ = io.WriteString(conn, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
					<-works
				}
			}
			last := connect(c.next)
			if got := responds(t, last, health); got != (c.closed < len(c.open)) {
				t.Errorf("one more connection from %s has a response: %t", c.next, got)
			}
			for i, conn := range conns {
				if isOpen(t, conn) != (i != c.closed) {
					t.Errorf("connection %d is open: %t", i, i == c.closed)
				}
			}
			if _, counts := l.conns.Load(); counts != c.counts {
				t.Errorf("counted %+v, want %+v", counts, c.counts)
			}
		})
	}
}

// isOpen reports whether the server has not closed an idle connection.
func isOpen(t *testing.T, conn net.Conn) bool {
	t.Helper()
	for range 3 { // a process that stands still may miss the deadline, also where the connection is closed
		_ = conn.SetReadDeadline(time.Now().Add(testPause / 10))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			return false
		}
	}
	return true
}

// A request whose body does not arrive is no work: its connection is closed for another one.
func TestConnectionOfUnfinishedBodyIsClosedForAnother(t *testing.T) {
	const a, b = "127.0.0.2", "127.0.1.3"
	read := make(chan struct{})
	connect, _ := serveLimited(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return
		}
		_ = requestbody.Reader{}.Bound(w, r, auth.Principal{}, "", 2) // without a budget it does not fail
		_, _ = r.Body.Read(make([]byte, 1))
		if r.Method == http.MethodPut {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		read <- struct{}{}
		<-r.Context().Done()
	}), ConnLimits{Connections: 2, PerSource: 2, Bytes: 1 << 20})
	works := connect(a)
	_, _ = io.WriteString(works, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
	<-read
	arrives := connect(a)
	_, _ = io.WriteString(arrives, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nx")
	<-read
	if !responds(t, connect(b), health) {
		t.Error("another connection has no response")
	}
	if !isOpen(t, works) {
		t.Error("the connection with a request in work is closed")
	}
	if isOpen(t, arrives) {
		t.Error("the connection whose body arrives is open")
	}
}

func TestClosedConnectionsAreNotCounted(t *testing.T) {
	connect, l := serveLimited(t, edge(io.Discard).Handler(), ConnLimits{Connections: 1, PerSource: 1, Bytes: 1 << 20})
	for range 3 {
		conn := connect("127.0.0.2")
		if !responds(t, conn, strings.Replace(health, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)) {
			t.Fatal("no response")
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // the server closes first
			t.Fatal(err)
		}
	}
	for open, _ := l.conns.Load(); open > 0; open, _ = l.conns.Load() { // the client sees the end first
		time.Sleep(time.Millisecond)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sources) != 0 || l.bytes.Load() != 0 {
		t.Errorf("%d sources and %d bytes are left", len(l.sources), l.bytes.Load())
	}
}

// closedInRead is a connection that another goroutine closes while data arrives.
type closedInRead struct {
	net.Conn
	close func() error
}

func (c *closedInRead) Read(p []byte) (int, error) {
	_ = c.close()
	return len(p), nil
}

func TestBytesThatArriveDuringCloseAreNotCounted(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	conn := &closedInRead{Conn: ours}
	l := NewListener(nil, ConnLimits{Connections: 1, PerSource: 1, Bytes: 1 << 20})
	c := l.admit(conn)
	conn.close = c.Close
	if n, err := c.Read(make([]byte, 2*freeBytes)); n == 0 || err != nil {
		t.Fatal(n, err)
	}
	if l.bytes.Load() != 0 || c.from.bytes.Load() != 0 {
		t.Errorf("%d bytes are left, %d of the source", l.bytes.Load(), c.from.bytes.Load())
	}
}

// A source with unfinished headers reaches its quarter of the limit; other sources are not affected.
func TestUnfinishedHeadersOfOneSourceAreBounded(t *testing.T) {
	connect, l := serveLimited(t, edge(io.Discard).Handler(), ConnLimits{Connections: 100, PerSource: 100, Bytes: 64 << 10})
	unfinished := strings.TrimSuffix(health, "\r\n") + "X-Long: " + strings.Repeat("x", (freeBytes+6<<10)/headerCost)
	conns := []net.Conn{connect("127.0.0.2"), connect("127.0.0.2"), connect("127.0.0.2")}
	for i, conn := range conns[:2] {
		_, _ = io.WriteString(conn, unfinished)
		for l.bytes.Load() < int64((i+1)*(headerCost*len(unfinished)-freeBytes)) {
			time.Sleep(time.Millisecond)
		}
	}
	if responds(t, conns[2], unfinished) {
		t.Error("18 KiB of one source are counted, at most 16")
	}
	if !responds(t, connect("127.0.0.3"), health) || !responds(t, conns[0], "\r\n\r\n") || !responds(t, conns[1], "\r\n\r\n") {
		t.Error("a connection within the limits has no response")
	}
	if held := l.bytes.Load(); held != 0 {
		t.Errorf("%d bytes are held after all responses", held)
	}
}

// A header over the limit gets a response of the service, also over TLS, and not that of net/http.
func TestHeadersOverTheLimitReturn503(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		connect, l := serveLimited(t, edge(io.Discard).Handler(), ConnLimits{Connections: 100, PerSource: 100, Bytes: 64 << 10}, encrypted)
		conn := connect("127.0.0.2")
		_, _ = io.WriteString(conn, strings.TrimSuffix(health, "\r\n")+"X-Long: "+strings.Repeat("x",
			32<<10)) // the response shows what happened
		response, fault := responseOn(t, conn, &http.Request{Method: http.MethodGet})
		if response.StatusCode != http.StatusServiceUnavailable || fault.Code != "Unavailable" || fault.Ref == "" ||
			response.Header.Get(api.HeaderRequestID) != fault.Ref ||
			response.Header.Get("Retry-After") == "" || response.Header.Get("X-Content-Type-Options") == "" {
			t.Errorf("TLS %t: %s %+v, header %v", encrypted, response.Status, fault, response.Header)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("TLS %t: the connection stays open", encrypted)
		}
		if held := l.bytes.Load(); held != 0 {
			t.Errorf("TLS %t: %d bytes are held after the response", encrypted, held)
		}
	}
}

// Sources that hold much leave as much as each of them to others, and a request of usual size needs nothing.
func TestSourcesLeaveMemoryToOthers(t *testing.T) {
	const limit = 64 << 10
	connect, l := serveLimited(t, edge(io.Discard).Handler(), ConnLimits{Connections: 100, PerSource: 100, Bytes: limit})
	for i := range 8 {
		for range 2 {
			_, _ = io.WriteString(connect(fmt.Sprintf("127.0.0.%d", 10+i)),
				strings.TrimSuffix(health, "\r\n")+"X-Long: "+strings.Repeat("x", (freeBytes+4<<10)/headerCost)) // refused ones fail
		}
	}
	for l.bytes.Load() < limit/2 {
		time.Sleep(time.Millisecond)
	}
	for range 20 {
		if free := limit - l.bytes.Load(); free < limit/32 {
			t.Errorf("%d bytes are free", free)
		}
		if !responds(t, connect("127.0.0.2"), health) {
			t.Error("a request of usual size has no response")
		}
	}
}

func TestBodiesOverTheLimitReturn503(t *testing.T) {
	s := edge(io.Discard)
	connect, l := serveLimited(t, s.Handler(), ConnLimits{Connections: 100, PerSource: 100, Bytes: 64 << 10})
	conn := connect("127.0.0.2")
	body := strings.Repeat("x", freeBytes+20<<10)
	request := "POST " + api.PathAuthenticate + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 40000\r\n\r\n" +
		body
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	response, fault := responseOn(t, conn, &http.Request{Method: http.MethodPost})
	if response.StatusCode != http.StatusServiceUnavailable || fault.Code != "Unavailable" || response.Header.Get("Retry-After") == "" {
		t.Errorf("%s %+v, Retry-After %q", response.Status, fault, response.Header.Get("Retry-After"))
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection stays open")
	}
	if held := l.bytes.Load(); held != 0 {
		t.Errorf("%d bytes are held after the response", held)
	}
}

// sendsForever sends until the connection is closed. One call of Write outlasts writePauses.
func sendsForever(ended chan<- error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for piece := make([]byte, 8<<20); ; {
			if _, err := w.Write(piece); err != nil {
				ended <- err
				return
			}
		}
	})
}

func TestClientThatReadsNothingIsDisconnected(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	connect, l := serveLimited(t, sendsForever(ended), ConnLimits{Connections: 10, PerSource: 10, Bytes: 1 << 20})
	conn := connect("127.0.0.2")
	if _, err := io.WriteString(conn, health); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("ended with %v, want a deadline error", err)
	}
	if _, err := io.Copy(io.Discard, conn); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client sees %v, want a reset without waiting for the rest", err)
	}
	for open, _ := l.conns.Load(); open > 0; open, _ = l.conns.Load() {
		time.Sleep(time.Millisecond)
	}
}

// A client is served, however slowly it reads, as long as it reads something within writePauses.
func TestSlowClientIsServed(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	connect, l := serveLimited(t, sendsForever(ended), ConnLimits{Connections: 10, PerSource: 10, Bytes: 1 << 20})
	const readsPerPause = 4 // so that a read on a busy machine may be late by most of writePauses
	l.pause = readsPerPause * testPause / 2
	conn := connect("127.0.0.2")
	if err := conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, health); err != nil {
		t.Fatal(err)
	}
	for range (writePauses + 1) * readsPerPause {
		time.Sleep(l.pause / readsPerPause)
		if _, err := io.CopyN(io.Discard, conn, 32<<10); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-ended:
		t.Errorf("cut: %v", err)
	default:
	}
}

package connlimit

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/web/selfsigned"
)

// sourced is a connection with a source of its own, so that one address has many.
type sourced struct {
	net.Conn
	source string
}

func (s sourced) Source() string { return s.source }

// sources gives accepted connections the sources in turn.
type sources struct {
	net.Listener
	names []string
	next  atomic.Int64
}

func (s *sources) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return sourced{conn, s.names[int(s.next.Add(1)-1)%len(s.names)]}, nil
}

// listenTLS returns a listener whose connections have names as sources, in turn, and a function that connects to it.
func listenTLS(t *testing.T, limit int, timeout time.Duration, names ...string) (*Handshakes, func() net.Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile, err := selfsigned.Files(t.TempDir(), inner.Addr().String(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHandshakes(&sources{Listener: inner, names: names}, &tls.Config{Certificates: []tls.Certificate{certificate}}, limit, timeout)
	t.Cleanup(func() { _ = h.Close() })
	return h, func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		return conn
	}
}

// serverContinues reports whether the server continues the handshake that a client begins and does not finish.
func serverContinues(conn net.Conn, within time.Duration) bool {
	_, _ = io.WriteString(conn, clientHello)
	_ = conn.SetReadDeadline(time.Now().Add(within))
	n, _ := conn.Read(make([]byte, 1))
	return n == 1
}

// clientHello is the first message of a client.
var clientHello = func() string {
	client, server := net.Pipe()
	go func() {
		_ = tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake() // ends with the pipe
		_ = client.Close()
	}()
	defer server.Close()
	hello := make([]byte, 4096)
	n, _ := server.Read(hello)
	return string(hello[:n])
}()

const (
	soon   = 300 * time.Millisecond // in which nothing must happen
	enough = 20 * time.Second       // in which something must happen, on a busy machine too
)

// Unfinished handshakes of one source are limited, and do not delay those of another.
func TestUnfinishedHandshakesOfOneSourceAreBounded(t *testing.T) {
	h, connect := listenTLS(t, 18, 20*time.Second, "a", "a", "a", "b")
	first, second, third := connect(), connect(), connect()
	if !serverContinues(first, enough) || !serverContinues(second, enough) {
		t.Fatal("the first handshakes of a source do not continue")
	}
	if serverContinues(third, soon) {
		t.Error("a third handshake of 18 continues, too")
	}
	other := tls.Client(connect(), &tls.Config{InsecureSkipVerify: true})
	if err := other.Handshake(); err != nil {
		t.Errorf("another source: %v", err)
	}
	_ = first.Close() // its slot is the third one's
	_ = third.SetReadDeadline(time.Now().Add(enough))
	if n, err := third.Read(make([]byte, 1)); n != 1 {
		t.Errorf("the waiting handshake does not continue: %v", err)
	}
	for range 2 { // the failed and the finished one
		if _, err := h.Accept(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHandshakeThatDoesNotEndFails(t *testing.T) {
	h, connect := listenTLS(t, 1, 3*time.Second, "a") // a busy machine may take long to respond
	conn := connect()
	if !serverContinues(conn, enough) {
		t.Fatal("no response")
	}
	failed, err := h.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := failed.(*tls.Conn).Handshake(); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("the handshake ended with %v", err)
	}
	h.slots.mu.Lock()
	defer h.slots.mu.Unlock()
	if h.slots.free != 1 {
		t.Error("its slot is not free")
	}
}

// Sessions are resumed, and data arrives: the listener changes nothing of the connection.
func TestFinishedHandshakesAreReturned(t *testing.T) {
	h, connect := listenTLS(t, 1, 20*time.Second, "a")
	config := &tls.Config{InsecureSkipVerify: true, ServerName: "x", ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for i := range 3 {
		client := tls.Client(connect(), config)
		go func() {
			conn, err := h.Accept()
			if err == nil {
				_, _ = io.Copy(conn, io.LimitReader(conn, 5))
				_ = conn.Close()
			}
		}()
		_, _ = io.WriteString(client, "hello")
		if got, err := io.ReadAll(client); err != nil || !bytes.Equal(got, []byte("hello")) {
			t.Fatalf("connection %d received %q, %v", i, got, err)
		}
		if resumed := client.ConnectionState().DidResume; resumed != (i > 0) {
			t.Errorf("connection %d resumed a session: %t", i, resumed)
		}
	}
}

func TestCloseEndsAccept(t *testing.T) {
	h, _ := listenTLS(t, 1, time.Second, "a")
	ended := make(chan error, 1)
	go func() {
		_, err := h.Accept()
		ended <- err
	}()
	_ = h.Close()
	if err := <-ended; err == nil {
		t.Error("Accept returned a connection after Close")
	}
}

// Clients that begin a handshake and say nothing more, each from a source of its own, do not keep another one out.
func TestLateHandshakeMakesRoom(t *testing.T) {
	for _, beforeItIsLate := range []bool{true, false} {
		_, connect := listenTLS(t, 2, 20*time.Second, "a", "b", "c")
		for range 2 {
			if !serverContinues(connect(), enough) {
				t.Fatal("no response")
			}
		}
		if !beforeItIsLate {
			time.Sleep(2 * lateTime)
		}
		other := tls.Client(connect(), &tls.Config{InsecureSkipVerify: true})
		if err := other.Handshake(); err != nil {
			t.Errorf("a third source, before another one was late %t: %v", beforeItIsLate, err)
		}
	}
}

// While no one waits, a late handshake continues. A second one of the same source closes none.
func TestLateHandshakeContinues(t *testing.T) {
	h, connect := listenTLS(t, 1, 20*time.Second, "a")
	late := connect()
	var another sync.WaitGroup
	another.Go(func() {
		time.Sleep(2 * lateTime)
		serverContinues(connect(), soon)
	})
	defer another.Wait()
	client := tls.Client(&slowConn{late, 2*lateTime + 2*soon}, &tls.Config{InsecureSkipVerify: true})
	if err := client.Handshake(); err != nil {
		t.Error(err)
	}
	if conn, err := h.Accept(); err != nil || !conn.(*tls.Conn).ConnectionState().HandshakeComplete {
		t.Errorf("the server did not finish the handshake: %v", err)
	}
}

// slowConn reads only after a while.
type slowConn struct {
	net.Conn
	pause time.Duration
}

func (c *slowConn) Read(p []byte) (int, error) {
	time.Sleep(c.pause)
	c.pause = 0
	return c.Conn.Read(p)
}

// A source that was late gets its next slot after the others, and leaves it to them at once.
func TestLateSourceIsLast(t *testing.T) {
	_, connect := listenTLS(t, 1, 20*time.Second, "a", "b", "a", "c", "a")
	late, other := connect(), connect()
	if !serverContinues(late, enough) || !serverContinues(other, enough) { // the second one closes the first one
		t.Fatal("no response")
	}
	again, first := connect(), connect()
	if _, err := io.WriteString(again, clientHello); err != nil {
		t.Fatal(err)
	}
	time.Sleep(soon / 3)
	began := time.Now() // before the other one has its slot
	if !serverContinues(first, enough) {
		t.Error("the source that was late has the slot before another one")
	}
	if serverContinues(connect(), soon) && time.Since(began) < lateTime {
		t.Error("the source that was late has a slot although another one waited for less than lateTime")
	}
}

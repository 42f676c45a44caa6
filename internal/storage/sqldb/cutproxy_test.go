package sqldb

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// cutProxy is a proxy to a database that cuts connections on demand. A connection forwards one message after the other, so that
// the next message is defined.
type cutProxy struct {
	listener net.Listener
	target   atomic.Value // address

	mu    sync.Mutex
	cut   cut
	of    []byte // only a message with this text is cut; nil: any
	cuts  int    // messages that were cut
	conns []net.Conn
}

// cut is what happens to the next message of a client.
type cut int

const (
	pass        cut = iota
	cutBefore       // the message is dropped, and the connection ends
	cutResponse     // the message is sent, and the connection ends before the response
	cutSilence      // later messages are dropped, and the connection stays open
)

func startCutProxy(t *testing.T, target string) *cutProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cutProxy{listener: listener}
	p.target.Store(target)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.endAll()
		running.Wait()
	})
	return p
}

func (p *cutProxy) address() string { return p.listener.Addr().String() }

// next sets what happens to the next message from any client. cutSilence stays until it is reset.
func (p *cutProxy) next(what cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.of = what, nil
}

// nextWith is next for the next message with that text.
func (p *cutProxy) nextWith(text string, what cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut, p.of = what, []byte(text)
}

func (p *cutProxy) take(message []byte) cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !bytes.Contains(message, p.of) {
		return pass
	}
	what := p.cut
	if what != pass {
		p.cuts++
	}
	if what != cutSilence {
		p.cut = pass
	}
	return what
}

// awaitCuts returns when so many messages were cut.
func (p *cutProxy) awaitCuts(t *testing.T, n int) {
	t.Helper()
	began := time.Now()
	for cuts := 0; cuts < n; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%d messages were cut, want %d", cuts, n)
		}
		p.mu.Lock()
		cuts = p.cuts
		p.mu.Unlock()
	}
}

// endAll cuts all connections.
func (p *cutProxy) endAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

func (p *cutProxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", p.target.Load().(string))
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	p.mu.Lock()
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	p.forward(client, server)
	_ = server.Close()
	<-copied
}

// forward forwards the messages of the client. pgx writes the messages of one request at once.
func (p *cutProxy) forward(client, server net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		switch p.take(buffer[:n]) {
		case cutBefore:
			return
		case cutResponse:
			_ = client.(*net.TCPConn).SetLinger(0)
			_ = client.Close()
			_, _ = server.Write(buffer[:n])
			time.Sleep(200 * time.Millisecond) // the server runs the statement
			return
		case cutSilence:
			continue
		case pass:
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

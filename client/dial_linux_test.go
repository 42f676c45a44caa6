package client_test

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/client"
)

// unresponsive returns an address of which the kernel drops all packets: nothing accepts, and the queue is full.
func unresponsive(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), 0) }); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		var conn net.Conn
		if conn, err = net.DialTimeout("tcp", listener.Addr().String(), 200*time.Millisecond); err == nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
	}
	if !os.IsTimeout(err) {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// Without a limit of its own, a connection to a host that does not respond takes minutes.
func TestConnectingHasALimit(t *testing.T) {
	t.Parallel()
	c := newClient(t, "http://"+unresponsive(t), client.Config{APIKey: "k"})
	started := time.Now()
	_, err := c.Whoami(t.Context())
	if failed, ok := errors.AsType[net.Error](err); !ok || !failed.Timeout() {
		t.Errorf("error %v", err)
	}
	if took := time.Since(started); took < 5*time.Second || took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

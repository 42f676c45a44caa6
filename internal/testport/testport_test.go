//go:build linux

package testport_test

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/regwarden/regwarden/internal/testport"
)

func TestReserve(t *testing.T) {
	reserved, release, err := testport.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	if err := bindAlone(t, reserved); !errors.Is(err, syscall.EADDRINUSE) { // which is also how the kernel decides when it chooses a port
		t.Errorf("another program takes the port: %v", err)
	}
	for range 2 { // the second is a restart
		if err := dial(reserved); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("connect before the server: %v", err)
		}
		server, err := net.Listen("tcp", reserved.String())
		if err != nil {
			t.Fatal(err)
		}
		if err := dial(reserved); err != nil {
			t.Errorf("connect to the server: %v", err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

func dial(address netip.AddrPort) error {
	conn, err := net.Dial("tcp", address.String())
	if err == nil {
		err = conn.Close()
	}
	return err
}

// bindAlone binds a socket that shares its port with no other.
func bindAlone(t *testing.T, address netip.AddrPort) error {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(socket) }()
	return syscall.Bind(socket, &syscall.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()})
}

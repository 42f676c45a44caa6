// Package testport reserves ports of loopback for servers of tests that cannot listen on port 0, or that restart at the same address.
package testport

import (
	"errors"
	"net/netip"
	"sync"
	"syscall"
	"testing"
)

// Unused is Reserve until the test ends. An address where the test starts nothing refuses connections.
func Unused(t testing.TB) (address string) {
	t.Helper()
	reserved, release, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = release() })
	return reserved.String()
}

// Reserve returns an address of loopback where nothing listens but what the caller starts there, until release.
//
// A port that is found free and let go may be taken before the server listens, by another server or by an outgoing connection. A bound
// socket that never listens holds the port of Reserve: connections are refused, and the kernel does not choose the port for any other
// socket. A server that names the port can listen nevertheless, and again after it was killed, if it sets SO_REUSEADDR as this socket does
// (socket(7); Linux only): Go, PostgreSQL and nginx do.
func Reserve() (address netip.AddrPort, release func() error, err error) {
	holder, err := newSocket()
	if err != nil {
		return netip.AddrPort{}, nil, err
	}
	release = sync.OnceValue(func() error { return syscall.Close(holder) })
	loopback := [4]byte{127, 0, 0, 1}
	err = errors.Join(syscall.SetsockoptInt(holder, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(holder, &syscall.SockaddrInet4{Addr: loopback}))
	bound, errBound := syscall.Getsockname(holder)
	if err = errors.Join(err, errBound); err != nil {
		return netip.AddrPort{}, nil, errors.Join(err, release())
	}
	port := uint16(bound.(*syscall.SockaddrInet4).Port) // #nosec G115 -- a port has 16 bits
	return netip.AddrPortFrom(netip.AddrFrom4(loopback), port), release, nil
}

// newSocket returns a socket that child processes do not inherit.
func newSocket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(socket)
	}
	return socket, err
}

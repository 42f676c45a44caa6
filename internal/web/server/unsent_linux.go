package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unsentBytes is how much of a response the kernel buffers before the client has room for it. Without a limit it
// buffers 4 MiB for each client that does not read, and accounts them to the service's cgroup.
const unsentBytes = 32 << 10

// limitUnsent applies unsentBytes to a connection. It does not slow down a client that reads: data in flight is not
// limited. Without the option, as on a Unix socket, nothing changes.
func limitUnsent(conn net.Conn) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentBytes) // #nosec G115 -- a descriptor fits an int
	})
}

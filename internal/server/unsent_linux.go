package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unsentBytes is how much of a response the kernel takes before the client has room for it. Without a limit it takes 4 MiB for each
// client that does not read, and counts them as memory of the service's cgroup.
const unsentBytes = 32 << 10

// limitUnsent applies unsentBytes to a connection. It does not slow a client that reads: what is on its way to the client is not
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

//go:build !linux

package server

import "net"

// limitUnsent does nothing where the kernel limits its buffers by itself.
func limitUnsent(net.Conn) {}

//go:build !linux

package server

import "net"

// limitUnsent does nothing where the kernel limits what it holds by itself.
func limitUnsent(net.Conn) {}

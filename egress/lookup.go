package egress

import (
	"errors"
	"net"
	"strings"
)

// HostNotFound reports whether a lookup failed because the name does not exist.
func HostNotFound(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound
}

// NoNameServer reports whether a lookup failed because no DNS server could be asked. net.DNSError keeps only the text of a socket's error,
// which begins with the operation.
func NoNameServer(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	if !ok {
		return false
	}
	operation, _, _ := strings.Cut(dns.Err, " ")
	return operation == "dial" || operation == "read" || operation == "write"
}

package serve

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strings"

	"github.com/regwarden/regwarden/egress"
)

// maxDNSResponse is the maximum size of a DNS response over TCP, which could have 64 KiB. Go opens a socket for each address in it to sort
// them (RFC 6724), and the owner of a domain chooses their number.
const maxDNSResponse = 4 << 10

var errLongDNSResponse = errors.New("the DNS response is longer than 4 KiB")

// resolver returns a resolver that uses a DNS server, or those of the system if it is empty.
func resolver(dns string) egress.Resolver {
	return &net.Resolver{PreferGo: dns != "", Dial: func(ctx context.Context, network, system string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, cmp.Or(dns, system))
		if err != nil || !strings.HasPrefix(network, "tcp") {
			return conn, err
		}
		return &dnsConn{conn, maxDNSResponse}, nil
	}}
}

// dnsConn is the connection of one query.
type dnsConn struct {
	net.Conn
	left int
}

func (c *dnsConn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errLongDNSResponse
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

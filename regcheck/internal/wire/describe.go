package wire

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/message"
)

// DescribeLookup returns in words why a name has no address, and whether a retry is worth it.
func DescribeLookup(err error) (words message.Text, retryable bool) {
	switch {
	case egress.HostNotFound(err):
		return "does not exist in the DNS that {program} uses", false
	case IsTimeout(err):
		return "could not be resolved: no DNS server responded in time", true
	case egress.NoNameServer(err):
		return "could not be resolved: no DNS server can be reached", true
	}
	dns, _ := errors.AsType[*net.DNSError](err)
	return "could not be resolved: the DNS server reported a failure", dns != nil && dns.IsTemporary
}

// DescribeDial returns in words why there is no connection, and whether a retry is worth it.
func DescribeDial(err error) (words message.Text, retryable bool) {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused: no server listens on that port, or a firewall rejects it", true
	case isReset(err):
		return "the connection was reset", true
	case IsTimeout(err):
		return "there was no response in time: a firewall may drop the packets, or the host is down", true
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return "there is no route to it from where {program} runs", false
	case IsCutOff(err):
		return "the connection was closed at once", true
	default:
		return "the connection failed", false
	}
}

// DescribeProxy returns in words why an outbound proxy opened no connection, and whether a retry is worth it.
func DescribeProxy(x *egress.ProxyError) (words message.Text, retryable bool) {
	switch {
	case errors.Is(x, egress.ErrProxyScheme):
		return "the outbound proxy has another protocol: only HTTP proxies are supported", false
	case x.Status != 0:
		return message.Of("the outbound proxy %s returned %d", CleanText(x.Host), x.Status), x.Status >= 500
	}
	words, _ = DescribeDial(x.Err)
	return message.Of("the outbound proxy %s: %s", CleanText(x.Host), words), true
}

// Where lists what was tried: the host and port as they are shown, and the addresses.
func (p *Peer) Where(host string) string {
	var all []string
	for i, a := range p.Addresses {
		if i == 3 {
			all = append(all, fmt.Sprintf("and %d more", len(p.Addresses)-i))
			break
		}
		all = append(all, a.String())
	}
	if len(all) == 1 && all[0] == p.HostPort() || len(all) == 0 {
		return host
	}
	return host + " (" + strings.Join(all, ", ") + ")"
}

package egress

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// evaluated returns the zone of an allowed address, otherwise the class.
func evaluated(p Policy, address string, port uint16) string {
	zone, err := p.Evaluate(netip.AddrPortFrom(netip.MustParseAddr(address), port))
	if forbidden, ok := errors.AsType[*Forbidden](err); ok {
		return string(forbidden.Class)
	}
	return zone.String()
}

func mustPolicy(t *testing.T, s Settings) Policy {
	t.Helper()
	p, err := ParsePolicy(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Every range has its first and last address here, and the neighbors on both sides.
var edges = []struct{ address, private, public string }{
	{"0.0.0.0", "host", "host"},
	{"0.255.255.255", "host", "host"},
	{"1.0.0.0", "ok", "ok"},
	{"9.255.255.255", "ok", "ok"},
	{"10.0.0.0", "ok", "private"},
	{"10.255.255.255", "ok", "private"},
	{"11.0.0.0", "ok", "ok"},
	{"100.63.255.255", "ok", "ok"},
	{"100.64.0.0", "ok", "private"},
	{"100.100.100.199", "ok", "private"},
	{"100.100.100.200", "metadata", "metadata"},
	{"100.100.100.201", "ok", "private"},
	{"100.127.255.255", "ok", "private"},
	{"100.128.0.0", "ok", "ok"},
	{"126.255.255.255", "ok", "ok"},
	{"127.0.0.0", "host", "host"},
	{"127.0.0.1", "host", "host"},
	{"127.255.255.255", "host", "host"},
	{"128.0.0.0", "ok", "ok"},
	{"168.63.129.15", "ok", "ok"},
	{"168.63.129.16", "metadata", "metadata"},
	{"168.63.129.17", "ok", "ok"},
	{"169.253.255.255", "ok", "ok"},
	{"169.254.0.0", "metadata", "metadata"},
	{"169.254.169.254", "metadata", "metadata"},
	{"169.254.255.255", "metadata", "metadata"},
	{"169.255.0.0", "ok", "ok"},
	{"172.15.255.255", "ok", "ok"},
	{"172.16.0.0", "ok", "private"},
	{"172.31.255.255", "ok", "private"},
	{"172.32.0.0", "ok", "ok"},
	{"191.255.255.255", "ok", "ok"},
	{"192.0.0.0", "reserved", "reserved"},
	{"192.0.0.191", "reserved", "reserved"},
	{"192.0.0.192", "metadata", "metadata"},
	{"192.0.0.193", "reserved", "reserved"},
	{"192.0.0.255", "reserved", "reserved"},
	{"192.0.1.0", "ok", "ok"},
	{"192.0.1.255", "ok", "ok"},
	{"192.0.2.0", "reserved", "reserved"},
	{"192.0.2.255", "reserved", "reserved"},
	{"192.0.3.0", "ok", "ok"},
	{"192.88.98.255", "ok", "ok"},
	{"192.88.99.0", "reserved", "reserved"},
	{"192.88.99.255", "reserved", "reserved"},
	{"192.88.100.0", "ok", "ok"},
	{"192.167.255.255", "ok", "ok"},
	{"192.168.0.0", "ok", "private"},
	{"192.168.255.255", "ok", "private"},
	{"192.169.0.0", "ok", "ok"},
	{"198.17.255.255", "ok", "ok"},
	{"198.18.0.0", "reserved", "reserved"},
	{"198.19.255.255", "reserved", "reserved"},
	{"198.20.0.0", "ok", "ok"},
	{"198.51.99.255", "ok", "ok"},
	{"198.51.100.0", "reserved", "reserved"},
	{"198.51.100.255", "reserved", "reserved"},
	{"198.51.101.0", "ok", "ok"},
	{"203.0.112.255", "ok", "ok"},
	{"203.0.113.0", "reserved", "reserved"},
	{"203.0.113.255", "reserved", "reserved"},
	{"203.0.114.0", "ok", "ok"},
	{"223.255.255.255", "ok", "ok"},
	{"224.0.0.0", "reserved", "reserved"},
	{"239.255.255.255", "reserved", "reserved"},
	{"240.0.0.0", "reserved", "reserved"},
	{"255.255.255.254", "reserved", "reserved"},
	{"255.255.255.255", "reserved", "reserved"},

	{"::", "host", "host"},
	{"::1", "host", "host"},
	{"::2", "host", "host"}, // ::/96 holds 0.0.0.2
	{"::808:808", "wrapped", "wrapped"},
	{"::ffff:ffff", "reserved", "reserved"}, // 255.255.255.255
	{"::1:0:0", "reserved", "reserved"},     // after ::/96
	{"::fffe:ffff:ffff", "reserved", "reserved"},
	{"::ffff:8.8.8.8", "ok", "ok"},
	{"::ffff:127.0.0.1", "host", "host"},
	{"::ffff:10.0.0.1", "ok", "private"},
	{"::ffff:169.254.169.254", "metadata", "metadata"},
	{"::ffff:0:808:808", "wrapped", "wrapped"},
	{"::ffff:0:7f00:1", "host", "host"},
	{"::ffff:1:808:808", "reserved", "reserved"}, // after it
	{"64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", "reserved", "reserved"},
	{"64:ff9b::808:808", "ok", "ok"},
	{"64:ff9b::a00:1", "ok", "private"},
	{"64:ff9b::7f00:1", "host", "host"},
	{"64:ff9b::a9fe:a9fe", "metadata", "metadata"},
	{"64:ff9b::ffff:ffff", "reserved", "reserved"},
	{"64:ff9b:0:0:0:1::", "reserved", "reserved"},
	{"64:ff9b:1::808:808", "wrapped", "wrapped"},
	{"64:ff9b:1:808:8:800::", "wrapped", "wrapped"},
	{"64:ff9b:1:7f00:0:100::", "host", "host"},
	{"64:ff9b:1:a9fe:a9:fe00::", "metadata", "metadata"},
	{"64:ff9b:1:a9:fe:a9fe::", "metadata", "metadata"}, // cut at 56
	{"64:ff9b:1:0:a9:fea9:fe00:0", "reserved", "reserved"},
	{"64:ff9b:1::", "host", "host"},
	{"64:ff9b:2::", "reserved", "reserved"},
	{"100::", "reserved", "reserved"},
	{"100::ffff:ffff:ffff:ffff", "reserved", "reserved"},
	{"100:0:0:1::", "reserved", "reserved"},
	{"1fff:ffff::", "reserved", "reserved"},
	{"2000::", "ok", "ok"},
	{"2000:ffff:ffff::", "ok", "ok"},
	{"2001::", "host", "host"}, // Teredo, server 0.0.0.0
	{"2001:0:808:808:0:0:f7f7:f7f7", "wrapped", "wrapped"},
	{"2001:0:808:808:0:0:5601:5601", "metadata", "metadata"}, // client 169.254.169.254
	{"2001:0:a9fe:a9fe:0:0:f7f7:f7f7", "metadata", "metadata"},
	{"2001:1::", "reserved", "reserved"},
	{"2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved", "reserved"},
	{"2001:200::", "ok", "ok"},
	{"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "ok", "ok"},
	{"2001:db8::", "reserved", "reserved"},
	{"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "reserved", "reserved"},
	{"2001:db9::", "ok", "ok"},
	{"2002:808:808::1", "wrapped", "wrapped"},
	{"2002:7f00:1::", "host", "host"},
	{"2002:a9fe:a9fe::", "metadata", "metadata"},
	{"2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved", "reserved"},
	{"2003::", "ok", "ok"},
	{"3ffe:ffff::", "ok", "ok"},
	{"3fff::", "reserved", "reserved"},
	{"3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved", "reserved"},
	{"3fff:1000::", "ok", "ok"},
	{"4000::", "reserved", "reserved"},
	{"fbff:ffff::", "reserved", "reserved"},
	{"fc00::", "ok", "private"},
	{"fd00:ec2::23", "metadata", "metadata"},
	{"fd00:ec2::253", "ok", "private"},
	{"fd00:ec2::254", "metadata", "metadata"},
	{"fd00:ec2::255", "ok", "private"},
	{"fd20:ce::253", "ok", "private"},
	{"fd20:ce::254", "metadata", "metadata"},
	{"fd20:ce::255", "ok", "private"},
	{"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ok", "private"},
	{"fe00::", "reserved", "reserved"},
	{"fe7f:ffff::", "reserved", "reserved"},
	{"fe80::", "metadata", "metadata"},
	{"fe80::1%eth0", "metadata", "metadata"},
	{"febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "metadata", "metadata"},
	{"fec0::", "reserved", "reserved"},
	{"feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved", "reserved"},
	{"ff00::", "reserved", "reserved"},
	{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "reserved", "reserved"},
}

func TestRangeBoundaries(t *testing.T) {
	public := mustPolicy(t, Settings{Profile: "public"})
	evaluate := func(p Policy, address string) string {
		_, err := p.Evaluate(netip.AddrPortFrom(netip.MustParseAddr(address), 443))
		if forbidden, ok := errors.AsType[*Forbidden](err); ok {
			return string(forbidden.Class)
		}
		return "ok"
	}
	for _, row := range edges {
		if got := evaluate(Policy{}, row.address); got != row.private {
			t.Errorf("%s under the zero policy: %s, want %s", row.address, got, row.private)
		}
		if got := evaluate(public, row.address); got != row.public {
			t.Errorf("%s under the profile public: %s, want %s", row.address, got, row.public)
		}
	}
}

func TestZones(t *testing.T) {
	open := mustPolicy(t, Settings{Allow: []string{"127.0.0.0/8", "::1", "169.254.169.254", "198.18.0.0/15", "2002::/16"}})
	for address, want := range map[string]Zone{
		"8.8.8.8": Public, "2606:4700::1111": Public, "64:ff9b::808:808": Public, "2002:808:808::1": Public,
		"10.1.1.1": Private, "fd12::1": Private, "100.64.0.1": Private, "64:ff9b::a00:1": Private,
		"2002:a00:1::": Private, "198.18.0.1": Private,
		"127.0.0.1": Host, "::1": Host, "169.254.169.254": Host, "64:ff9b::7f00:1": Host,
	} {
		got, err := open.Evaluate(netip.AddrPortFrom(netip.MustParseAddr(address), 443))
		if err != nil || got != want {
			t.Errorf("%s: zone %v, %v; want %v", address, got, err, want)
		}
	}
}

func TestAllowsHopOnlyToWiderZones(t *testing.T) {
	all := []Zone{Public, Private, Host}
	for _, from := range all {
		for _, to := range all {
			err := from.AllowsHop(to)
			if allowed := to <= from; (err == nil) != allowed {
				t.Errorf("from %v to %v: %v", from, to, err)
			}
			if forbidden, ok := errors.AsType[*Forbidden](err); err != nil && (!ok || forbidden.Class != ClassZone) {
				t.Errorf("from %v to %v: %v is not a Forbidden of the zone", from, to, err)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	own := func(a netip.AddrPort) bool { return a == netip.MustParseAddrPort("10.0.0.7:8080") }
	for _, row := range []struct {
		name     string
		settings Settings
		address  string
		port     uint16
		want     string
	}{
		{"a network opens this machine", Settings{Allow: []string{"127.0.0.0/8"}}, "127.0.0.1", 5000, "host!"},
		{"with its port only", Settings{Allow: []string{"127.0.0.0/8:5000"}}, "127.0.0.1", 5001, "host"},
		{"not for IPv6", Settings{Allow: []string{"127.0.0.0/8"}}, "::1", 5000, "host"},
		{"metadata behind a network", Settings{Allow: []string{"169.254.0.0/16", "0.0.0.0/0"}}, "169.254.169.254", 80, "metadata"},
		{"metadata by exact address", Settings{Allow: []string{"169.254.169.254"}}, "169.254.169.254", 80, "host!"},
		{"metadata by exact address as /32", Settings{Allow: []string{"169.254.169.254/32:80"}}, "169.254.169.254", 80, "host!"},
		{"metadata by its mapped form", Settings{Allow: []string{"::ffff:169.254.169.254"}}, "169.254.169.254", 80, "host!"},
		{"metadata on another port", Settings{Allow: []string{"169.254.169.254:80"}}, "169.254.169.254", 81, "metadata"},
		{"deny wins over a network", Settings{Allow: []string{"10.0.0.0/8"}, Deny: []string{"10.1.0.0/16"}}, "10.1.2.3", 443, "denied"},
		{"exact allow wins over deny", Settings{Allow: []string{"10.1.2.3"}, Deny: []string{"10.1.0.0/16"}}, "10.1.2.3", 443, "private!"},
		{"exact allow of another port does not", Settings{Allow: []string{"10.1.2.3:444"}, Deny: []string{"10.1.0.0/16"}},
			"10.1.2.3", 443, "denied"},
		{"deny of a port", Settings{Deny: []string{"10.0.0.0/8:8443"}}, "10.1.2.3", 8443, "denied"},
		{"deny of another port", Settings{Deny: []string{"10.0.0.0/8:8443"}}, "10.1.2.3", 443, "private!"},
		{"deny of public addresses", Settings{Deny: []string{"0.0.0.0/0", "::/0"}}, "8.8.8.8", 443, "denied"},
		{"deny of a mapped address", Settings{Deny: []string{"8.8.8.0/24"}}, "::ffff:8.8.8.8", 443, "denied"},
		{"deny within NAT64", Settings{Deny: []string{"8.8.8.0/24"}}, "64:ff9b::808:808", 443, "denied"},
		{"deny of NAT64 as a whole", Settings{Deny: []string{"64:ff9b::/96"}}, "64:ff9b::808:808", 443, "denied"},
		{"a single-address deny against an exact allow", Settings{Allow: []string{"8.8.8.8"}, Deny: []string{"8.8.8.8"}},
			"8.8.8.8", 443, "public!"},
		{"allowOnly, listed", Settings{AllowOnly: []string{"10.1.0.0/16"}}, "10.1.2.3", 443, "private!"},
		{"allowOnly, not listed", Settings{AllowOnly: []string{"10.1.0.0/16"}}, "8.8.8.8", 443, "unlisted"},
		{"allowOnly with port", Settings{AllowOnly: []string{"10.1.0.0/16:5000"}}, "10.1.2.3", 443, "unlisted"},
		{"allowOnly opens nothing", Settings{AllowOnly: []string{"127.0.0.0/8"}}, "127.0.0.1", 443, "host"},
		{"allow does not replace allowOnly", Settings{Allow: []string{"8.8.8.8"}, AllowOnly: []string{"10.1.0.0/16"}},
			"8.8.8.8", 443, "unlisted"},
		{"deny within allowOnly", Settings{Deny: []string{"10.1.2.0/24"}, AllowOnly: []string{"10.1.0.0/16"}}, "10.1.2.3", 443, "denied"},
		{"public profile", Settings{Profile: "public"}, "10.1.2.3", 443, "private"},
		{"public profile with an own network", Settings{Profile: "public", Allow: []string{"10.1.0.0/16"}}, "10.1.2.3", 443, "private!"},
		{"reserved opened", Settings{Allow: []string{"198.18.0.0/15"}}, "198.18.0.1", 443, "private!"},
		{"multicast stays shut", Settings{Allow: []string{"224.0.0.0/4", "239.1.1.1"}}, "239.1.1.1", 443, "reserved"},
		{"broadcast stays shut", Settings{Allow: []string{"255.255.255.255"}}, "255.255.255.255", 443, "reserved"},
		{"6to4 opened", Settings{Allow: []string{"2002::/16"}}, "2002:808:808::1", 443, "public!"},
		{"6to4 opened, loopback within", Settings{Allow: []string{"2002::/16"}}, "2002:7f00:1::1", 443, "host"},
		{"6to4 by exact address, metadata within", Settings{Allow: []string{"2002:a9fe:a9fe::1"}}, "2002:a9fe:a9fe::1", 443, "metadata"},
		{"port 0", Settings{Allow: []string{"8.8.8.8"}}, "8.8.8.8", 0, "port"},
		{"bad port", Settings{}, "8.8.8.8", 25, "port"},
		{"bad port of an allowed network", Settings{Allow: []string{"10.0.0.0/8"}}, "10.0.0.1", 6379, "port"},
		{"bad port by name", Settings{Allow: []string{"10.0.0.0/8:6379"}}, "10.0.0.1", 6379, "private!"},
		{"bad port within NAT64", Settings{}, "64:ff9b::808:808", 5432, "port"},
		{"own listener", Settings{Own: own}, "10.0.0.7", 8080, "own"},
		{"own address, another port", Settings{Own: own}, "10.0.0.7", 8081, "private!"},
		{"own listener, mapped", Settings{Own: own}, "::ffff:10.0.0.7", 8080, "own"},
		{"own listener, NAT64", Settings{Own: own}, "64:ff9b::a00:7", 8080, "own"},
		{"own listener in an allowed network", Settings{Own: own, Allow: []string{"10.0.0.0/8", "10.0.0.7"}}, "10.0.0.7", 8080, "own"},
		{"own listener by port", Settings{Own: own, Allow: []string{"10.0.0.7:8080"}}, "10.0.0.7", 8080, "host!"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := mustPolicy(t, row.settings)
			got := evaluated(p, row.address, row.port)
			if _, err := p.Evaluate(netip.AddrPortFrom(netip.MustParseAddr(row.address), row.port)); err == nil {
				got += "!" // distinguishes the zone host from the class host
			}
			if got != row.want {
				t.Errorf("%s port %d: %s, want %s", row.address, row.port, got, row.want)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	p := ForCommandLine()
	for address, want := range map[string]string{
		"8.8.8.8": "public", "10.0.0.1": "private", "127.0.0.1": "host", "::1": "host", "2002:808:808::": "public",
		"198.18.0.1": "private", "169.254.169.254": "metadata", "64:ff9b::a9fe:a9fe": "metadata", "2002:a9fe:a9fe::": "metadata",
		"fe80::1": "metadata", "fd00:ec2::254": "metadata",
	} {
		if got := evaluated(p, address, 5432); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := evaluated(p, "8.8.8.8", 0); got != "port" {
		t.Errorf("port 0: %s", got)
	}
}

func TestEveryBadPort(t *testing.T) {
	for port := 1; port <= 65535; port++ {
		want := "public"
		if badPorts[uint16(port)] {
			want = "port"
		}
		if got := evaluated(Policy{}, "8.8.8.8", uint16(port)); got != want {
			t.Fatalf("port %d: %s, want %s", port, got, want)
		}
	}
	for _, port := range []uint16{80, 443, 5000, 5001, 8080, 8443, 8081, 30000} {
		if badPorts[port] {
			t.Errorf("port %d is one that registries use", port)
		}
	}
	if len(badPorts) != 82+12 {
		t.Errorf("%d bad ports: a line was lost or doubled", len(badPorts))
	}
}

func TestInvalidAddressIsForbidden(t *testing.T) {
	if _, err := (Policy{}).Evaluate(netip.AddrPort{}); err == nil {
		t.Error("the zero address was allowed")
	}
}

func TestForbiddenTextOmitsAddress(t *testing.T) {
	metadata := netip.MustParseAddrPort("169.254.169.254:80")
	_, err := (Policy{}).Evaluate(metadata)
	f, ok := errors.AsType[*Forbidden](err)
	if !ok || f.Class != ClassMetadata || f.Address != metadata {
		t.Fatalf("%#v", err)
	}
	if strings.Contains(err.Error(), "169") || strings.Contains(err.Error(), "80") {
		t.Errorf("the text names the address: %v", err)
	}
}

func TestOwnPorts(t *testing.T) {
	ours := func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("10.9.8.7"), Mask: net.CIDRMask(8, 32)},
			&net.IPNet{IP: net.ParseIP("2001:200::7"), Mask: net.CIDRMask(64, 128)}}, nil
	}
	own := ownPorts([]uint16{8080, 5432}, ours)
	for target, want := range map[string]bool{
		"10.9.8.7:8080": true, "10.9.8.7:5432": true, "10.9.8.7:443": false, "10.9.8.8:8080": false,
		"127.3.3.3:8080": true, "[::1]:8080": true, "0.0.0.0:8080": true, "[2001:200::7]:8080": true,
		"[::ffff:10.9.8.7]:8080": true, "8.8.8.8:8080": false,
	} {
		if got := own(netip.MustParseAddrPort(target)); got != want {
			t.Errorf("%s: %v, want %v", target, got, want)
		}
	}
	blind := ownPorts([]uint16{8080}, func() ([]net.Addr, error) { return nil, errors.New("no netlink") })
	if !blind(netip.MustParseAddrPort("8.8.8.8:8080")) {
		t.Error("with unknown interfaces an own port must count as ours")
	}
	if !OwnPorts(8080)(netip.MustParseAddrPort("127.0.0.1:8080")) {
		t.Error("loopback is ours")
	}
}

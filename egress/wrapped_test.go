package egress

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// wrappings returns every IPv6 form that embeds an IPv4 address.
func wrappings(v4 netip.Addr) []netip.Addr {
	b := v4.As4()
	form := func(prefix string, at ...int) netip.Addr {
		a := netip.MustParseAddr(prefix).As16()
		for i, place := range at {
			a[place] = b[i]
		}
		return netip.AddrFrom16(a)
	}
	teredoClient := netip.MustParseAddr("2001:0:808:808::").As16()
	for i := range b {
		teredoClient[12+i] = ^b[i]
	}
	return []netip.Addr{
		netip.AddrFrom16(v4.As16()),           // ::ffff:a.b.c.d
		form("64:ff9b::", 12, 13, 14, 15),     // NAT64, well-known prefix
		form("::", 12, 13, 14, 15),            // IPv4-compatible
		form("::ffff:0:0:0", 12, 13, 14, 15),  // IPv4-translated
		form("2002::1", 2, 3, 4, 5),           // 6to4
		form("2001::f7f7:f7f7", 4, 5, 6, 7),   // Teredo, server
		netip.AddrFrom16(teredoClient),        // Teredo, client
		form("64:ff9b:1::", 6, 7, 9, 10),      // local NAT64, /48
		form("64:ff9b:1::", 7, 9, 10, 11),     // /56
		form("64:ff9b:1::", 9, 10, 11, 12),    // /64
		form("64:ff9b:1::", 12, 13, 14, 15),   // /96
		form("64:ff9b:1:2::", 12, 13, 14, 15), // /96 in another layout
	}
}

// policies have kinds and lists that allow much.
func policies(t testing.TB) []Policy {
	var list []Policy
	for _, s := range []Settings{
		{}, {Profile: "public"},
		{Allow: []string{"::/0"}},
		{Allow: []string{"2002::/16", "2001::/32", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96"}},
		{Allow: []string{"::/0"}, Deny: []string{"10.0.0.0/8"}},
		{Allow: []string{"127.0.0.0/8", "169.254.169.254", "::/0"}},
		{AllowOnly: []string{"10.0.0.0/8", "::/0"}, Allow: []string{"::/0"}},
		{Allow: []string{"::/0"}, Own: func(a netip.AddrPort) bool { return a.Port() == 443 && a.Addr().As16()[15]%2 == 0 }},
	} {
		p, err := ParsePolicy(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return append(list, ForCommandLine())
}

func checkWrapped(t *testing.T, list []Policy, v4 netip.Addr, port uint16) {
	t.Helper()
	for i, p := range list {
		zone, err := p.Evaluate(netip.AddrPortFrom(v4, port))
		for _, form := range wrappings(v4) {
			if within(form, host) { // :: and ::1 wrap nothing
				continue
			}
			wrappedZone, wrappedErr := p.Evaluate(netip.AddrPortFrom(form, port))
			if err != nil && wrappedErr == nil {
				t.Errorf("policy %d: %v is forbidden (%v), but %v is allowed", i, v4, err, form)
			}
			if err == nil && wrappedErr == nil && wrappedZone < zone {
				t.Errorf("policy %d: %v is in zone %v, but %v in the wider %v", i, v4, zone, form, wrappedZone)
			}
		}
	}
}

func TestWrappedIsAllowedOnlyIfPlainIs(t *testing.T) {
	list := policies(t)
	for _, row := range edges {
		if a := netip.MustParseAddr(row.address); a.Is4() {
			checkWrapped(t, list, a, 443)
			checkWrapped(t, list, a, 6379)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], random.Uint32())
		checkWrapped(t, list, netip.AddrFrom4(b), uint16(random.Uint32()))
	}
}

func FuzzWrapped(f *testing.F) {
	f.Add(uint32(0x7f000001), uint16(443))
	f.Add(uint32(0xa9fea9fe), uint16(80))
	f.Add(uint32(0x0a000001), uint16(5000))
	list := policies(f)
	f.Fuzz(func(t *testing.T, v4 uint32, port uint16) {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], v4)
		checkWrapped(t, list, netip.AddrFrom4(b), port)
	})
}

// FuzzEntry checks that an entry covers its own address and nothing else.
func FuzzEntry(f *testing.F) {
	for _, seed := range []string{"10.0.0.0/8:443", "[fd00::/8]:443", "::ffff:1.2.3.4", "[::1", "1.2.3.4:0", "::/0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseEntry(text)
		if err != nil {
			return
		}
		if !e.prefix.IsValid() || e.prefix != e.prefix.Masked() || e.prefix.Addr().Zone() != "" || e.prefix.Addr().Is4In6() {
			t.Errorf("%q was read as %v", text, e.prefix)
		}
		if !e.covers(e.prefix.Addr(), max(e.port, 1)) {
			t.Errorf("%q does not cover its own address", text)
		}
	})
}

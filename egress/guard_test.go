package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
)

// reach resolves, checks and dials.
func reach(ctx context.Context, g *Guard, host string, port uint16) (net.Conn, error) {
	target, err := g.Reach(ctx, Origin{"https", host, port})
	if err != nil {
		return nil, err
	}
	conn, _, err := g.Dial(ctx, target)
	return conn, err
}

type addresses map[string][]string

func (a addresses) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	texts, known := a[host]
	if !known {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var list []netip.Addr
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list, nil
}

// recorder dials nothing; it records the addresses. Addresses in down reject connections.
type recorder struct {
	dialed []string
	down   []string
}

func (r *recorder) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	r.dialed = append(r.dialed, address)
	if slices.Contains(r.down, address) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	}
	near, far := net.Pipe()
	_ = far.Close()
	return near, nil
}

func TestGuard(t *testing.T) {
	names := addresses{
		"public.test": {"8.8.8.8"}, "private.test": {"10.0.0.1"}, "two.test": {"8.8.8.8", "8.8.4.4"}, "empty.test": {},
		"mixed.test": {"8.8.8.8", "169.254.169.254"}, "local.test": {"127.0.0.1"}, "mapped.test": {"::ffff:127.0.0.1"},
		"six.test": {"2606:4700::1111"}, "four-in-six.test": {"::ffff:8.8.8.8"},
	}
	for _, row := range []struct {
		name, address string
		down          []string
		dialed        []string
		class         Class // "" if allowed
		fails         bool
	}{
		{"a name", "public.test:443", nil, []string{"8.8.8.8:443"}, "", false},
		{"IPv6", "six.test:443", nil, []string{"[2606:4700::1111]:443"}, "", false},
		{"a mapped address is dialed as evaluated", "four-in-six.test:443", nil, []string{"8.8.8.8:443"}, "", false},
		{"a literal", "10.0.0.1:5000", nil, []string{"10.0.0.1:5000"}, "", false},
		{"the second when the first is down", "two.test:443", []string{"8.8.8.8:443"}, []string{"8.8.8.8:443", "8.8.4.4:443"}, "", false},
		{"all down", "two.test:443", []string{"8.8.8.8:443", "8.8.4.4:443"}, []string{"8.8.8.8:443", "8.8.4.4:443"}, "", true},
		{"one forbidden address forbids the name", "mixed.test:443", nil, nil, ClassMetadata, true},
		{"loopback by name", "local.test:443", nil, nil, ClassHost, true},
		{"loopback by name, mapped", "mapped.test:443", nil, nil, ClassHost, true},
		{"loopback as a literal", "[::1]:443", nil, nil, ClassHost, true},
		{"a link-local literal with zone", "[fe80::1%eth0]:443", nil, nil, ClassMetadata, true},
		{"a bad port", "public.test:6379", nil, nil, ClassPort, true},
		{"an unknown name", "unknown.test:443", nil, nil, "", true},
		{"a name without address", "empty.test:443", nil, nil, "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &recorder{down: row.down}
			g := &Guard{Resolver: names, Dialer: r}
			host, text, err := net.SplitHostPort(row.address)
			if err != nil {
				t.Fatal(err)
			}
			port, err := strconv.ParseUint(text, 10, 16)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := reach(t.Context(), g, host, uint16(port))
			if conn != nil {
				_ = conn.Close()
			}
			if (err != nil) != row.fails || !slices.Equal(r.dialed, row.dialed) {
				t.Errorf("dialed %v with error %v, want %v", r.dialed, err, row.dialed)
			}
			forbidden, ok := errors.AsType[*Forbidden](err)
			if ok != (row.class != "") || ok && forbidden.Class != row.class {
				t.Errorf("error %v, want class %q", err, row.class)
			}
		})
	}
}

// A name whose address changes between lookup and dial (DNS rebinding) is looked up only once.
func TestGuardLooksUpOnce(t *testing.T) {
	r := &recorder{}
	rebinding := &rebinder{then: netip.MustParseAddr("127.0.0.1"), first: netip.MustParseAddr("8.8.8.8")}
	conn, err := reach(t.Context(), &Guard{Resolver: rebinding, Dialer: r}, "rebind.test", 443)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if rebinding.asked != 1 || !slices.Equal(r.dialed, []string{"8.8.8.8:443"}) {
		t.Errorf("asked %d times, dialed %v", rebinding.asked, r.dialed)
	}
}

type rebinder struct {
	first, then netip.Addr
	asked       int
}

func (r *rebinder) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	r.asked++
	if r.asked == 1 {
		return []netip.Addr{r.first}, nil
	}
	return []netip.Addr{r.then}, nil
}

func TestGuardStopsIfCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := &recorder{down: []string{"8.8.8.8:443", "8.8.4.4:443"}}
	_, err := reach(ctx, &Guard{Resolver: addresses{"two.test": {"8.8.8.8", "8.8.4.4"}}, Dialer: r}, "two.test", 443)
	if err == nil || len(r.dialed) > 1 {
		t.Errorf("continued after cancellation: dialed %v, %v", r.dialed, err)
	}
}

// A name without addresses is a name that was not found. The zones are those of all addresses of a name.
func TestLookupAndCheck(t *testing.T) {
	g := &Guard{Policy: mustPolicy(t, Settings{}), Resolver: addresses{"empty.test": nil}}
	if found, err := g.Lookup(t.Context(), Origin{"https", "empty.test", 443}); !HostNotFound(err) {
		t.Errorf("%v, %v", found, err)
	}
	for _, row := range []struct {
		addresses         []string
		narrowest, widest Zone
	}{{[]string{"8.8.8.8"}, Public, Public}, {[]string{"10.0.0.1"}, Private, Private},
		{[]string{"10.0.0.1", "8.8.8.8"}, Private, Public}, {[]string{"8.8.8.8", "10.0.0.1", "10.0.0.2"}, Private, Public}} {
		found, _ := addresses{"a.test": row.addresses}.LookupNetIP(t.Context(), "ip", "a.test")
		target, err := g.Check(Origin{"https", "a.test", 443}, found)
		if err != nil || target.Narrowest != row.narrowest || target.Widest != row.widest {
			t.Errorf("%v: %+v, %v", row.addresses, target, err)
		}
	}
}

func TestDefaultPort(t *testing.T) {
	if a, b := DefaultPort("http"), DefaultPort("https"); a != 80 || b != 443 {
		t.Errorf("%d, %d", a, b)
	}
}

package connlimit

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// modelConn is a connection in a model of Table that searches through all of them.
type modelConn struct {
	*Entry
	since  int // order in which connections entered their state
	closed bool
}

// model runs the operations of a Table and compares what it closes with a search.
type model struct {
	table *Table
	conns []*modelConn
	clock int
}

// modelAddress has sources in few networks, so that networks of each level have many sources.
func modelAddress(t *rapid.T) netip.Addr {
	if rapid.Bool().Draw(t, "IPv6") {
		bytes := [16]byte{0: 0x20, 1: 1, 15: 1}
		bytes[5] = rapid.ByteRange(0, 1).Draw(t, "48")
		bytes[6] = rapid.ByteRange(0, 1).Draw(t, "56")
		bytes[7] = rapid.ByteRange(0, 3).Draw(t, "64")
		return netip.AddrFrom16(bytes)
	}
	return netip.AddrFrom4([4]byte{192, 0, rapid.ByteRange(0, 1).Draw(t, "24"), rapid.ByteRange(0, 5).Draw(t, "32")})
}

func (m *model) members(prefix netip.Prefix, s state) (found []*modelConn) {
	for _, c := range m.conns {
		if c.state == s && slices.Contains(c.prefixes, prefix) {
			found = append(found, c)
		}
	}
	return found
}

// longest reports whether no connection of the network is longer in its state than c.
func (m *model) longest(c *modelConn, prefix netip.Prefix) bool {
	return !slices.ContainsFunc(m.members(prefix, c.state), func(other *modelConn) bool { return other.since < c.since })
}

// largest returns the number of connections of the network of a level with the most.
func (m *model) largest(level int, s state) (most int) {
	for _, c := range m.conns {
		if level < len(c.prefixes) {
			most = max(most, len(m.members(c.prefixes[level], s)))
		}
	}
	return most
}

// rule is one of those by which a victim is chosen.
type rule struct {
	level, reserve int
	state          state
}

func (m *model) rules() (rules []rule) {
	for level := range levels {
		rules = append(rules, rule{level, m.table.reserve(level), waiting})
	}
	rules = append(rules, rule{0, 0, waiting})
	for level := range levels {
		rules = append(rules, rule{level, m.table.reserve(level), working})
	}
	return rules
}

// check fails unless victim follows the first rule that applies; nil if none does.
func (m *model) check(t *rapid.T, victim *modelConn) {
	for _, r := range m.rules() {
		most := m.largest(r.level, r.state)
		if most <= r.reserve {
			continue
		}
		if victim == nil {
			t.Fatalf("refused, although a network of level %d has %d connections in state %d", r.level, most, r.state)
		}
		network := victim.prefixes[r.level]
		if victim.state != r.state || len(m.members(network, r.state)) != most || !m.longest(victim, network) {
			t.Fatalf("closed one of %v in state %d, want the oldest of a network of level %d with %d in state %d",
				network, victim.state, r.level, most, r.state)
		}
		return
	}
	if victim != nil {
		t.Fatalf("closed %v, want none", victim.prefixes)
	}
}

func (m *model) enter(c *modelConn) {
	m.clock++
	c.since = m.clock
}

func (m *model) add(t *rapid.T) {
	var prefixes []netip.Prefix
	if rapid.IntRange(0, 9).Draw(t, "proxy") > 0 {
		prefixes = Networks(modelAddress(t))
	}
	c := &modelConn{}
	c.Entry = NewEntry(prefixes, func() { c.closed = true })
	own := 0
	if len(prefixes) > 0 {
		own = len(m.members(prefixes[0], waiting)) + len(m.members(prefixes[0], working))
	}
	full := len(m.conns) == m.table.limit
	added := m.table.Add(c.Entry)
	victim := m.takeClosed()
	switch {
	case own == m.table.perSource:
		if added != (victim != nil) || victim != nil && (victim.state != waiting || victim.prefixes[0] != prefixes[0]) {
			t.Fatalf("a full source: added %t, closed %v", added, victim)
		}
	case full:
		if added != (victim != nil) {
			t.Fatalf("a full table: added %t, closed %v", added, victim)
		}
		if victim != nil {
			m.conns = append(m.conns, victim)
		}
		m.check(t, victim)
		m.conns = slices.DeleteFunc(m.conns, func(c *modelConn) bool { return c == victim })
	case !added || victim != nil:
		t.Fatalf("below the limits: added %t, closed %v", added, victim)
	}
	if added {
		m.enter(c)
		m.conns = append(m.conns, c)
	}
}

// takeClosed removes and returns the connection that was closed, nil if there is none.
func (m *model) takeClosed() *modelConn {
	i := slices.IndexFunc(m.conns, func(c *modelConn) bool { return c.closed })
	if i < 0 {
		return nil
	}
	victim := m.conns[i]
	m.conns = slices.Delete(m.conns, i, i+1)
	return victim
}

func TestTableClosesTheOldestOfTheLargestNetwork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{table: NewTable(rapid.IntRange(1, 30).Draw(t, "limit"), rapid.IntRange(1, 12).Draw(t, "per source"))}
		some := func(do func(*modelConn)) func(*rapid.T) {
			return func(t *rapid.T) {
				if len(m.conns) > 0 {
					do(rapid.SampledFrom(m.conns).Draw(t, "connection"))
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":      m.add,
			"add more": m.add,
			"change": some(func(c *modelConn) {
				was := c.state
				if c.SetWorking(was == waiting); c.state != was {
					m.enter(c)
				}
			}),
			"remove": some(func(c *modelConn) {
				c.Remove()
				c.Remove() // has no effect
				m.conns = slices.DeleteFunc(m.conns, func(other *modelConn) bool { return other == c })
			}),
			"": func(t *rapid.T) {
				if open, _ := m.table.Load(); open != len(m.conns) {
					t.Fatalf("%d open, want %d", open, len(m.conns))
				}
			},
		})
		for _, c := range m.conns {
			c.Remove()
		}
		if open, _ := m.table.Load(); open != 0 || len(m.table.networks) != 0 {
			t.Fatalf("%d connections and %d networks are left", open, len(m.table.networks))
		}
	})
}

func networksOf(address string) []netip.Prefix { return Networks(netip.MustParseAddr(address)) }

func TestNetworks(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7":              "[192.0.2.7/32 192.0.2.0/24]",
		"2001:db8:a:bcde:1::2":   "[2001:db8:a:bcde::/64 2001:db8:a:bc00::/56 2001:db8:a::/48]",
		"2001:db8:a:bcde:9::789": "[2001:db8:a:bcde::/64 2001:db8:a:bc00::/56 2001:db8:a::/48]",
	} {
		if got := networksOf(address); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", address, got, want)
		}
	}
}

// BenchmarkTableUnderFlood adds connections to a full table.
func BenchmarkTableUnderFlood(b *testing.B) {
	table := NewTable(4096, 1024)
	var networks [500][]netip.Prefix
	for i := range networks {
		networks[i] = Networks(netip.AddrFrom4([4]byte{10, byte(i / 250), byte(i % 250), 1}))
	}
	for i := 0; b.Loop(); i++ {
		if !table.Add(NewEntry(networks[i%len(networks)], func() {})) {
			b.Fatal("refused")
		}
	}
}

// BenchmarkRequest is what a request costs.
func BenchmarkRequest(b *testing.B) {
	table := NewTable(4096, 1024)
	e := NewEntry(networksOf("10.0.0.1"), func() {})
	for range 63 {
		table.Add(NewEntry(networksOf("10.0.0.1"), func() {}))
	}
	table.Add(e)
	for b.Loop() {
		e.SetWorking(true)
		e.SetWorking(false)
	}
}

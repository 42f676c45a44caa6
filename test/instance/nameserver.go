package instance

import (
	"net"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// NameServer is a DNS server at which the names that isHere accepts are 127.0.0.1, and all others do not exist. Names end in a dot; isHere
// is called by one goroutine.
func NameServer(t *testing.T, isHere func(name string) bool) (address string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			if response, err := dnsResponse(m, isHere(m.Questions[0].Name.String())); err == nil {
				_, _ = conn.WriteTo(response, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

func dnsResponse(m dnsmessage.Message, isHere bool) ([]byte, error) {
	question := m.Questions[0]
	m.Response, m.Additionals = true, nil
	switch {
	case !isHere:
		m.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	return m.Pack()
}

package service_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/regwarden/regwarden/internal/testport"
	"github.com/regwarden/regwarden/test/instance"
)

// TestNamesAreLookedUpAtTheDNSServerOfTheSetting has a DNS server of its own, the only one that knows the name of a
// registry.
func TestNamesAreLookedUpAtTheDNSServerOfTheSetting(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(testport.Unused(t)) // the check gets as far as connecting
	if err != nil {
		t.Fatal(err)
	}
	const name = "registry.dns.example."
	asked := make(chan string, 64)
	server := instance.Start(t, instance.Options{Flags: []string{"--egress-dns", nameServer(t, name, asked)}})
	client := server.Client(t)
	tokens := client.Login()
	for endpoint, code := range map[string]string{
		"http://registry.dns.example:" + port: "RegistryUnreachable",
		"http://other.dns.example:" + port:    "RegistryHostNotFound",
	} {
		response := client.Do(http.MethodPost, "/v1/registries/oci/basic/diagnose", `{"endpoint":"`+endpoint+`","auth":{}}`,
			"Authorization", tokens.Authorization).Want(http.StatusOK)
		if !strings.Contains(response.Body, `"code":"`+code+`"`) {
			t.Errorf("%s: %s", endpoint, response.Body)
		}
	}
	if len(asked) < 2 {
		t.Errorf("the server was asked %d times", len(asked))
	}
}

// TestNoNameServer has a service whose DNS server does not run: the name is not at fault.
func TestNoNameServer(t *testing.T) {
	client := instance.Start(t, instance.Options{}).Client(t) // with --egress-dns where nothing listens
	response := client.Do(http.MethodPost, "/v1/registries/oci/basic/diagnose", `{"endpoint":"https://registry.dns.example","auth":{}}`,
		"Authorization", client.Login().Authorization).Want(http.StatusOK)
	for _, part := range []string{`"code":"RegistryHostNotFound"`, `"field":null`, `"retryable":true`, "no DNS server can be reached"} {
		if !strings.Contains(response.Body, part) {
			t.Errorf("%s is missing in %s", part, response.Body)
		}
	}
}

// nameServer returns 127.0.0.1 for A questions about one name, and NXDOMAIN for all others.
func nameServer(t *testing.T, name string, asked chan<- string) (address string) {
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
			asked <- m.Questions[0].Name.String()
			if response, err := dnsResponse(m, name); err == nil {
				_, _ = conn.WriteTo(response, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

func dnsResponse(m dnsmessage.Message, name string) ([]byte, error) {
	question := m.Questions[0]
	m.Response, m.Additionals = true, nil
	switch {
	case question.Name.String() != name:
		m.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	return m.Pack()
}

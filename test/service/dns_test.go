package service_test

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

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
	var asked atomic.Int32
	names := instance.NameServer(t, func(sent string) bool {
		asked.Add(1)
		return sent == name
	})
	server := instance.Start(t, instance.Options{Flags: []string{"--egress-dns", names}})
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
	if n := asked.Load(); n < 2 {
		t.Errorf("the server was asked %d times", n)
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

package oracles_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	containerd "github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/moby/buildkit/util/resolver"
	"github.com/moby/buildkit/util/resolver/config"
	"github.com/pelletier/go-toml/v2"
)

// What BuildKit tries for a host is what its own resolver says, for a registry and for a mirror, with each value of http and insecure.
func TestBuildKitPlainHTTP(t *testing.T) {
	hosts := append(dockerHosts, "localhost:80", "localhost.example.com:5000", "127.0.0.1.example.com", "registry.example.com",
		"registry.example.com:80", "[::1]", "registry.local:5000")
	settings := []string{"", "http = true\n", "http = false\n"}
	for _, host := range hosts {
		for _, plain := range settings {
			for _, insecure := range []string{"", "insecure = true\n", "insecure = false\n"} {
				table := fmt.Sprintf("[registry.%q]\n%s%s", host, plain, insecure)
				if plain+insecure != "" {
					compareBuildKit(t, host, host, table)
				}
				compareBuildKit(t, "mirrored.example.com", host,
					fmt.Sprintf("[registry.\"mirrored.example.com\"]\nmirrors = [%q]\n%s", host, table))
			}
		}
	}
}

// compareBuildKit compares how host is used for images of registry.
func compareBuildKit(t *testing.T, registry, host, text string) {
	t.Helper()
	var parsed struct {
		Registries map[string]config.RegistryConfig `toml:"registry"`
	}
	if err := toml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	hosts, err := resolver.NewRegistryConfig(parsed.Registries)(registry)
	if err != nil || len(hosts) == 0 || hosts[0].Host != host {
		t.Fatalf("%s: %v, %v", text, hosts, err)
	}
	if got, want := waysOf(t, map[string]string{"buildkitd.toml": text})[host], buildKitWay(t, hosts[0]); got != want {
		t.Errorf("%s is used by %q, BuildKit's own %q:\n%s", host, got, want, text)
	}
}

// buildKitWay returns how BuildKit uses a host. What it falls back to is in types that it does not export.
func buildKitWay(t *testing.T, host containerd.RegistryHost) string {
	if host.Scheme == "http" {
		return onlyPlain
	}
	way, transport := onlyTLS, reflect.ValueOf(host.Client.Transport)
	for transport.Type() != reflect.TypeFor[*http.Transport]() {
		inner := transport.Elem().FieldByName("rt") // of the tracing
		if strings.HasSuffix(transport.Type().String(), ".httpFallback") {
			way, inner = thenPlain, transport.Elem().FieldByName("super")
		}
		if !inner.IsValid() {
			t.Fatalf("BuildKit has another transport now: %s", transport.Type())
		}
		transport = inner.Elem()
	}
	if transport.Elem().FieldByName("TLSClientConfig").Elem().FieldByName("InsecureSkipVerify").Bool() {
		way += unverified
	}
	return way
}

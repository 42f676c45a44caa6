package oracles_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	containerd "github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/docker/docker/registry"
	"github.com/google/go-containerregistry/pkg/name"
	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
)

// Ways of connecting, as a consumer tries them.
const (
	onlyTLS    = "TLS"
	thenPlain  = "TLS, then plain HTTP"
	onlyPlain  = "plain HTTP"
	unverified = ", unverified"
)

// wayOf returns how a definition is used.
func wayOf(r model.Registry) string {
	way := onlyTLS
	switch {
	case strings.HasPrefix(r.Definition.Endpoint, "http://"):
		return onlyPlain
	case notice(r, model.NoticePlainHTTPFallback) != "":
		way = thenPlain
	}
	if r.Definition.Auth.TLS.InsecureSkipVerify {
		way += unverified
	}
	return way
}

// waysOf reads files, and returns how the first definition of a host is used.
func waysOf(t interface {
	Context() context.Context
	Fatal(args ...any)
}, files map[string]string) map[string]string {
	tree := fstest.MapFS{}
	for file, text := range files {
		tree[file] = &fstest.MapFile{Data: []byte(text)}
	}
	result, err := definitions.Read(t.Context(), tree, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]string{}
	for _, r := range result.Registries {
		host := strings.SplitN(r.Definition.Endpoint, "://", 2)[1]
		if ways[host] == "" {
			ways[host] = wayOf(r)
		}
	}
	return ways
}

// dockerHosts need no name server: docker looks up the names that are not listed.
var dockerHosts = []string{"127.0.0.1:5000", "127.9.8.7:5000", "127.9.8.7", "localhost", "localhost:5000", "[::1]:5000", "10.1.2.3:5000",
	"10.1.2.3", "192.168.7.7", "192.168.7.7:443", "[2001:db8::5]:5000", "203.0.113.9"}

// What docker's daemon tries is what its own package says, for the machine itself, hosts and networks of insecure-registries.
func TestDockerPlainHTTP(t *testing.T) {
	entries := append(slices.Clone(dockerHosts), "10.0.0.0/8", "192.168.7.7/32", "2001:db8::/32", "0.0.0.0/0", "203.0.113.9/24",
		"http://10.1.2.3", "https://10.1.2.3:5000", "10.1.2.3/path", "registry.example.com", "registry.example.com:5000")
	rapid.Check(t, func(t *rapid.T) {
		insecure := rapid.SliceOfNDistinct(rapid.SampledFrom(entries), 0, 3, rapid.ID[string]).Draw(t, "insecure")
		service, err := registry.NewService(registry.ServiceOptions{InsecureRegistries: insecure})
		if err != nil {
			return // docker does not start
		}
		host := rapid.SampledFrom(append(slices.DeleteFunc(slices.Clone(insecure), func(entry string) bool {
			return strings.Contains(entry, "/")
		}), dockerHosts...)).Draw(t, "host")
		endpoints, err := service.LookupPullEndpoints(host)
		if err != nil {
			t.Fatal(err)
		}
		want := onlyTLS
		if len(endpoints) == 2 && endpoints[1].URL.Scheme == "http" {
			want = thenPlain
		}
		if endpoints[0].TLSConfig.InsecureSkipVerify {
			want += unverified
		}
		got := waysOf(t, map[string]string{
			"daemon.json":         fmt.Sprintf(`{"insecure-registries": [%s]}`, quotedList(insecure)),
			".docker/config.json": fmt.Sprintf(`{"auths": {%q: {"auth": "dTpw"}}}`, host),
		})[host]
		if got != want {
			t.Errorf("%s with insecure-registries %q: %s, docker's own %s", host, insecure, got, want)
		}
	})
}

func quotedList(list []string) string {
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = fmt.Sprintf("%q", text)
	}
	return strings.Join(quoted, ", ")
}

// Flux's source-controller and image-reflector-controller connect with go-containerregistry, whose rules decide about plain HTTP. Only
// source-controller verifies no certificate with spec.insecure.
func TestFluxPlainHTTP(t *testing.T) {
	hosts := append(slices.Clone(dockerHosts), "172.16.0.1:5000", "172.32.0.1:5000",
		"11.1.1.1:5000", "registry.local", "registry.local:5000",
		"registry.localhost:80", "registry.locality.example.com", "local.example.com", "registry.example.com", "127.0.0.1.example.com",
		"localhost.example.com:5000", "[fd00::1]:5000", "registry.default.svc.cluster.local:5000")
	rapid.Check(t, func(t *rapid.T) {
		host, insecure := rapid.SampledFrom(hosts).Draw(t, "host"), rapid.Bool().Draw(t, "insecure")
		if host == "localhost" {
			return // a namespace of Docker Hub
		}
		var options []name.Option
		if insecure {
			options = append(options, name.Insecure)
		}
		repository, err := name.NewRepository(host+"/a/b", options...)
		if err != nil {
			t.Fatal(err)
		}
		want := onlyTLS
		if repository.Registry.Scheme() == "http" {
			want = thenPlain // transport.Ping begins with TLS
		}
		for kind, field := range map[string]string{"source.toolkit.fluxcd.io/v1 OCIRepository": "url: 'oci://" + host + "/a/b'",
			"image.toolkit.fluxcd.io/v1 ImageRepository": "image: '" + host + "/a/b'"} {
			want := want
			if insecure && strings.HasSuffix(kind, "OCIRepository") {
				want += unverified
			}
			version, kind, _ := strings.Cut(kind, " ")
			got := waysOf(t, map[string]string{"flux.yaml": fmt.Sprintf(
				"apiVersion: %s\nkind: %s\nmetadata: {name: a, namespace: b}\nspec: {%s, insecure: %v}\n", version, kind, field, insecure)})
			if got[host] != want {
				t.Errorf("%s of %s, insecure %v: %q, Flux's own %s", kind, host, insecure, got, want)
			}
		}
	})
}

// What containerd tries when kubelet pulls, without a hosts.toml, is what its own package says.
func TestContainerdPlainHTTP(t *testing.T) {
	var transport *http.Transport // before what falls back to plain HTTP is around it
	hosts := containerd.ConfigureHosts(t.Context(), containerd.HostOptions{UpdateClient: func(client *http.Client) error {
		transport = client.Transport.(*http.Transport)
		return nil
	}})
	for _, host := range append(slices.Clone(dockerHosts), "localhost:80", "localhost:443", "127.0.0.1:80", "[::1]:80", "[::1]",
		"registry.example.com", "registry.example.com:80", "localhost.example.com:5000") {
		theirs, err := hosts(host)
		if err != nil || len(theirs) != 1 {
			t.Fatal(err, theirs)
		}
		want := onlyTLS
		if theirs[0].Client.Transport != transport {
			want = thenPlain
		}
		switch {
		case theirs[0].Scheme == "http":
			want = onlyPlain
		case transport.TLSClientConfig.InsecureSkipVerify:
			want += unverified
		}
		secret := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"auths": {%q: {"auth": "dTpw"}}}`, host))
		got := waysOf(t, map[string]string{"secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" +
			"type: kubernetes.io/dockerconfigjson\ndata: {.dockerconfigjson: " + secret + "}\n"})[host]
		if got != want {
			t.Errorf("%s: %q, containerd's own %q", host, got, want)
		}
	}
}

package realregistry_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

var users = map[string]string{"robot": "correct horse"}

// Each registry here is proven with a client that is not ours: content goes in, is listed, and what
// should be refused is refused.
func TestRegistriesAreReal(t *testing.T) {
	ca := testca.New(t, "registry authority")
	tests := []struct {
		name  string
		start func(t *testing.T) realregistry.Access
		open  bool
	}{
		{"distribution open", func(t *testing.T) realregistry.Access {
			return realregistry.Distribution(t, realregistry.Options{})
		}, true},
		{"distribution htpasswd https", func(t *testing.T) realregistry.Access {
			return realregistry.Distribution(t, realregistry.Options{Users: users, CA: ca})
		}, false},
		{"distribution token", func(t *testing.T) realregistry.Access {
			return realregistry.Distribution(t,
				realregistry.Options{Token: realregistry.NewTokenServer(t, realregistry.TokenRules{Users: users})})
		}, false},
		{"distribution token https", func(t *testing.T) realregistry.Access {
			server := realregistry.NewTokenServer(t, realregistry.TokenRules{Users: users, CA: ca})
			return realregistry.Distribution(t, realregistry.Options{Token: server, CA: ca})
		}, false},
		{"docker-registry open", func(t *testing.T) realregistry.Access { return realregistry.DockerRegistry(t, nil) }, true},
		{"docker-registry htpasswd", func(t *testing.T) realregistry.Access { return realregistry.DockerRegistry(t, users) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			registry := tt.start(t)
			if !tt.open {
				if err := realregistry.Ping(t, registry); !refused(err) {
					t.Errorf("without credentials: %v, want a refusal", err)
				}
				if err := realregistry.Ping(t, registry.As("robot", "wrong")); !refused(err) {
					t.Errorf("with a wrong password: %v, want a refusal", err)
				}
				registry = registry.As("robot", users["robot"])
			}
			realregistry.Fill(t, registry)
			checkContent(t, registry)
		})
	}
}

func TestAnonymousSeesPublicContentOnly(t *testing.T) {
	server := realregistry.NewTokenServer(t, realregistry.TokenRules{Users: users, Public: "charts/"})
	registry := realregistry.Distribution(t, realregistry.Options{Token: server})
	realregistry.Fill(t, registry.As("robot", users["robot"]))
	if tags, err := realregistry.Tags(t, registry, realregistry.ChartPath); err != nil || len(tags) != 1 {
		t.Errorf("public chart: %v, %v", tags, err)
	}
	if _, err := realregistry.Tags(t, registry, realregistry.ZarfPath); !refused(err) {
		t.Errorf("private package: %v, want a refusal", err)
	}
}

func TestNginxStandsBeforeARegistry(t *testing.T) {
	ca, clients := testca.New(t, "nginx authority"), testca.New(t, "client authority")
	behind := realregistry.DockerRegistry(t, nil)
	registry := realregistry.Nginx(t, behind, realregistry.Front{CA: ca, ClientCA: clients, Path: "/some/path"})
	if status, body := get(t, ca, registry.Endpoint+"/v2/"); status != http.StatusBadRequest ||
		!strings.Contains(body, "No required SSL certificate") {
		t.Errorf("without a client certificate: %d %q, want nginx's 400", status, body)
	}
	registry.Client = clients.Issue(t, testca.Options{Name: "robot", Client: true})
	realregistry.Fill(t, registry)
	checkContent(t, registry)
	root := registry
	root.Endpoint = "https://" + registry.Host()
	if err := realregistry.Ping(t, root); err == nil {
		t.Error("the registry responds at the root as well, so the path proves nothing")
	}
}

func checkContent(t *testing.T, registry realregistry.Access) {
	t.Helper()
	for path, want := range map[string]string{
		realregistry.ChartPath: "6.7.1", realregistry.ZarfPath: "1.2.0", realregistry.PackPath: "3.28.0", realregistry.ImagePath: "3.20",
	} {
		if tags, err := realregistry.Tags(t, registry, path); err != nil || !slices.Equal(tags, []string{want}) {
			t.Errorf("%s: %v, %v; want %s", path, tags, err, want)
		}
	}
	if tags, err := realregistry.Tags(t, registry, realregistry.EmptyPath); err != nil || len(tags) != 0 {
		t.Errorf("emptied repository: %v, %v; want no tags", tags, err)
	}
	if _, err := realregistry.Tags(t, registry, realregistry.AbsentPath); statusOf(err) != http.StatusNotFound {
		t.Errorf("absent repository: %v, want 404", err)
	}
}

// refused reports whether err is a 401, or a Basic challenge without credentials in oras-go.
func refused(err error) bool {
	return statusOf(err) == http.StatusUnauthorized || errors.Is(err, auth.ErrBasicCredentialNotFound)
}

func statusOf(err error) int {
	if response, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return response.StatusCode
	}
	return 0
}

func get(t *testing.T, ca *testca.CA, url string) (int, string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

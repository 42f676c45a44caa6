// Package console_test uses the console of the built binary in a browser. The tests of the pages are in pages, in
// JavaScript; this package starts what they need.
package console_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }

const (
	member         = "mate@acme.example"
	memberPassword = "eleven kettles on the stove"
)

// account is a user of the service.
type account struct {
	Org      string `json:"org"`
	Email    string `json:"email"`
	Password string `json:"password"`
}

// service is what the tests of the pages know of the service.
type service struct {
	URL      string   `json:"url"`
	Chromium string   `json:"chromium"`
	Admin    account  `json:"admin"`
	Member   account  `json:"member"`
	Registry registry `json:"registry"` // a real one, with a chart
	Hostile  string   `json:"hostile"`  // endpoint with markup in its certificate
}

type registry struct {
	Endpoint string `json:"endpoint"`
	CA       string `json:"ca"`
	Username string `json:"username"`
	Password string `json:"password"`
	Content  string `json:"content"`
}

func TestConsole(t *testing.T) {
	node, chromium := needs.Program(t, "node", "nodejs"), needs.Program(t, "chromium", "chromium")
	_, err := os.Stat("node_modules/.package-lock.json")
	needs.DebianPackage(t, "npm, and the packages of test/console/package-lock.json", err == nil)

	server := instance.Start(t, instance.Options{Flags: []string{"--tls-self-signed"}, Insecure: true})
	s := service{URL: server.URL, Chromium: chromium, Registry: startRegistry(t), Hostile: startHostile(t),
		Admin: account{instance.Org, instance.Email, instance.Password}, Member: account{instance.Org, member, memberPassword}}
	store(t, server, s)

	cmd := exec.CommandContext(t.Context(), node, "main.mjs")
	cmd.Env = append(os.Environ(), "CONSOLE_UNDER_TEST="+instance.JSON(s))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func startRegistry(t *testing.T) registry {
	t.Helper()
	access := realregistry.Distribution(t, realregistry.Options{CA: testca.New(t, "test registries"), Users: map[string]string{"ada": "ada password"}}).As("ada", "ada password")
	realregistry.Push(t, access, realregistry.Helm, realregistry.ChartPath, "6.7.1")
	return registry{access.Endpoint, access.CA, access.Username, access.Password, realregistry.ChartPath}
}

func startHostile(t *testing.T) string {
	t.Helper()
	const name = "<img src=x onerror=alert(1)>"
	pair := testca.New(t, name).Issue(t, testca.Options{Name: name})
	certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that the check ends
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// store creates the member and two registries, one of which fails, and waits for their checks.
func store(t *testing.T, server *instance.Server, s service) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	client := server.ClientThrough(t, transport)
	token := client.Login().Authorization
	post := func(path string, body any) instance.Response {
		return client.Do(http.MethodPost, path, instance.JSON(body), "Authorization", token)
	}
	const never = "0001-01-01T00:00:00.000Z"
	post("/v1/users", map[string]any{"metadata": map[string]any{"creationTimestamp": never}, "spec": map[string]any{"emailId": member, "password": memberPassword}}).Want(http.StatusCreated)
	for name, password := range map[string]string{"charts": s.Registry.Password, "wrong-password": "not the password"} {
		var created struct{ UID string }
		post("/v1/registries/oci/basic", map[string]any{"metadata": map[string]any{"name": name, "creationTimestamp": never, "deletionTimestamp": never, "lastModifiedTimestamp": never}, "spec": map[string]any{
			"endpoint": s.Registry.Endpoint, "providerType": "helm", "containsSpectroManifest": false, "isSyncSupported": true, "baseContentPath": s.Registry.Content,
			"auth": map[string]any{"type": "basic", "username": s.Registry.Username, "password": password, "tls": map[string]any{"enabled": true, "insecureSkipVerify": false, "ca": s.Registry.CA}},
		}}).Want(http.StatusCreated).Into(&created)
		client.Do(http.MethodPost, "/v1/registries/oci/"+created.UID+"/check?wait=true", "", "Authorization", token)
	}
}

// Package console_test uses the console of the built binary in a browser. The tests of the pages are in pages, in
// JavaScript; this package starts what they need.
package console_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/test/identityprovider"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }

const (
	member         = "mate@acme.example"
	memberPassword = "eleven kettles on the stove"
)

// The password of this user of the registry contains its expiry.
const expiringUser = "robot"

var expiringPassword = realregistry.ExpiringPassword(3 * 24 * time.Hour)

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
	Cloud    cloud    `json:"cloud"`
	SSO      sso      `json:"sso"`
	Many     many     `json:"many"`

	Page        string `json:"page"`        // file in pages, if no others are to be tested
	Long        bool   `json:"long"`        // tests take longer and try more
	Screenshots string `json:"screenshots"` // directory of the images, if they are to be made
	Hostile     string `json:"hostile"`     // endpoint with markup in its certificate
}

// sso is another service, whose users log in at an identity provider.
type sso struct {
	URL      string `json:"url"`
	Provider string `json:"provider"`
	Username string `json:"username"`
	Password string `json:"password"`
	Email    string `json:"email"`
	Removal  string `json:"removal"` // a request to it removes the users at the provider
}

type registry struct {
	Endpoint string `json:"endpoint"`
	CA       string `json:"ca"`
	Username string `json:"username"`
	Password string `json:"password"`
	Content  string `json:"content"`
}

func TestConsole(t *testing.T) {
	node, chromium := needs.Program(t, "node", "nodejs"), needs.Program(t, "chromium-headless-shell", "chromium-headless-shell")
	_, err := os.Stat("node_modules/.package-lock.json")
	needs.DebianPackage(t, "npm, and the packages of test/console/package-lock.json", err == nil)

	s := service{Chromium: chromium, Page: *page, Long: *long, Registry: startRegistry(t), Cloud: startCloud(t),
		Hostile: startHostile(t),
		Admin:   account{instance.Org, instance.Email, instance.Password}, Member: account{instance.Org, member, memberPassword}}
	script := "main.mjs"
	if *screenshots != "" {
		script, s.Screenshots = "screenshots.mjs", *screenshots
		s.URL = startShown(t, s)
	} else {
		server := instance.Start(t, instance.Options{Insecure: true, Hosts: s.Cloud.hosts,
			Env:   []string{"HTTPS_PROXY=" + s.Cloud.proxy, "NO_PROXY=127.0.0.1,localhost"},
			Flags: []string{"--tls-self-signed", "--egress-proxy", "environment"}})
		storeTested(t, server, s)
		s.SSO = startSSO(t)
		s.Many = startMany(t, s)
		s.URL = server.URL
	}

	cmd := exec.CommandContext(t.Context(), node, script)
	cmd.Env = append(os.Environ(), "CONSOLE_UNDER_TEST="+instance.JSON(s))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // no survivor when the test process dies
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// startSSO starts a service and an identity provider at another site.
func startSSO(t *testing.T) sso {
	t.Helper()
	p := identityprovider.StartAt(t, "localhost")
	server := instance.Start(t, instance.Options{Insecure: true, Hosts: "127.0.0.1 localhost\n",
		Flags: []string{"--tls-self-signed", "--sso-recheck", "1s"}})
	admin := newAdmin(t, server)
	admin.client.Do(http.MethodPut, "/v1/sso", instance.JSON(map[string]any{"spec": map[string]any{"issuer": p.URL, "name": "Example",
		"clientId": identityprovider.ClientID, "clientSecret": identityprovider.ClientSecret, "ca": p.CA}}),
		"Authorization", admin.token).Want(http.StatusNoContent)
	var set struct {
		Status struct{ CallbackURL, LogoutURL string }
	}
	admin.client.Do(http.MethodGet, "/v1/sso", "", "Authorization", admin.token).Want(http.StatusOK).Into(&set)
	p.Register(set.Status.CallbackURL, set.Status.LogoutURL)
	removal := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { p.Remove() }))
	t.Cleanup(removal.Close)
	return sso{server.URL, p.URL, identityprovider.Username, identityprovider.Password, identityprovider.Email, removal.URL}
}

func start(t *testing.T, dataDir string, flags ...string) *instance.Server {
	t.Helper()
	return instance.Start(t, instance.Options{DataDir: dataDir, Flags: append(flags, "--tls-self-signed"), Insecure: true})
}

func startRegistry(t *testing.T) registry {
	t.Helper()
	access := realregistry.Distribution(t,
		realregistry.Options{CA: testca.New(t, "test registries"),
			Users: map[string]string{"ada": "ada password", expiringUser: expiringPassword}}).As("ada", "ada password")
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

// administrator uses the API of the service.
type administrator struct {
	client *instance.Client
	token  string
}

func newAdmin(t *testing.T, server *instance.Server) administrator {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	client := server.ClientThrough(t, transport)
	return administrator{client, client.Login().Authorization}
}

func (a administrator) post(path string, body any) instance.Response {
	return a.client.Do(http.MethodPost, path, instance.JSON(body), "Authorization", a.token)
}

const never = "0001-01-01T00:00:00.000Z"

// storeRegistry stores a registry and returns its uid.
func (a administrator) storeRegistry(name string, r registry) string {
	var created struct{ UID string }
	a.post("/v1/registries/oci/basic",
		map[string]any{"metadata": map[string]any{"name": name, "creationTimestamp": never, "deletionTimestamp": never,
			"lastModifiedTimestamp": never}, "spec": map[string]any{
			"endpoint": r.Endpoint, "providerType": "helm", "containsSpectroManifest": false, "isSyncSupported": true,
			"baseContentPath": r.Content,
			"auth": map[string]any{"type": "basic", "username": r.Username, "password": r.Password,
				"tls": map[string]any{"enabled": true, "insecureSkipVerify": false, "ca": r.CA}},
		}}).Want(http.StatusCreated).Into(&created)
	return created.UID
}

// check checks a stored registry and waits for the result.
func (a administrator) check(uid string) {
	a.client.Do(http.MethodPost, "/v1/registries/oci/"+uid+"/check?wait=true", "", "Authorization", a.token)
}

// storeTested creates the member and three registries, one that fails and one whose password expires soon, and waits for their checks.
func storeTested(t *testing.T, server *instance.Server, s service) {
	t.Helper()
	admin := newAdmin(t, server)
	admin.post("/v1/users", map[string]any{"metadata": map[string]any{"creationTimestamp": never},
		"spec": map[string]any{"emailId": member, "password": memberPassword}}).Want(http.StatusCreated)
	for name, login := range map[string][2]string{"charts": {s.Registry.Username, s.Registry.Password},
		"wrong-password": {s.Registry.Username, "not the password"},
		"expiring-token": {expiringUser, expiringPassword}} {
		r := s.Registry
		r.Username, r.Password = login[0], login[1]
		admin.check(admin.storeRegistry(name, r))
	}
	storeLong(admin)
}

// storeLong stores a registry whose texts are too long for a row of the list.
func storeLong(admin administrator) {
	labels := map[string]string{}
	for i := range 30 {
		labels[fmt.Sprintf("team-%02d", i)] = strings.Repeat("x", 40)
	}
	var created struct{ UID string }
	admin.post("/v1/registries/oci/basic", map[string]any{
		"metadata": map[string]any{"name": "long " + strings.Repeat("name ", 48) + "end", "labels": labels},
		"spec": map[string]any{"endpoint": "http://127.0.0.1:1/" + strings.Repeat("path/", 40), "providerType": "helm",
			"auth": map[string]any{"type": "noAuth"}}}).Want(http.StatusCreated).Into(&created)
	admin.check(created.UID)
}

package identityprovider

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // its database

	"github.com/regwarden/regwarden/internal/needs"
	"github.com/regwarden/regwarden/test/realregistry"
	"github.com/regwarden/regwarden/test/testca"
)

// Glewlwyd is Debian's glewlwyd, an identity provider in C. Unlike the other one it says nothing of whether an email is
// verified, has no scope offline_access, and publishes endpoints with two slashes in their path.
type Glewlwyd struct {
	Issuer string
	CA     string // PEM

	url   string
	admin *http.Client
}

// The user and the client of Glewlwyd. It compares the secret of a client without decoding it (RFC 6749 section 2.3.1), hence no space.
const (
	GlewlwydEmail  = "ada@example.com"
	GlewlwydSecret = "secret-of-the-client"
	glewlwydUser   = `{"username":"ada","password":"verysecure","name":"Ada Lovelace","email":"` + GlewlwydEmail + `","enabled":true,` +
		`"scope":["openid","profile","email"]}`
)

// StartGlewlwyd starts a provider, which ends with the test.
func StartGlewlwyd(t *testing.T) *Glewlwyd {
	t.Helper()
	program := needs.Program(t, "glewlwyd", "glewlwyd")
	dir := t.TempDir()
	ca := testca.New(t, "identity provider")
	pair := ca.Issue(t, testca.Options{})
	createDatabase(t, filepath.Join(dir, "users.db"))
	write(t, filepath.Join(dir, "key.pem"), pair.Key)
	write(t, filepath.Join(dir, "cert.pem"), pair.Certificate)
	address := realregistry.Listening(t, program, func(address string) []string {
		config := filepath.Join(dir, "glewlwyd.conf")
		write(t, config, glewlwydConfig(dir, address))
		return []string{"--config-file=" + config}
	})
	g := &Glewlwyd{url: "https://" + address, Issuer: "https://" + address + "/api/oidc", CA: ca.PEM()}
	g.admin = g.session(t, `{"username":"admin","password":"password"}`) // of a new database
	g.addPlugin(t)
	for _, scope := range []string{"profile", "email"} {
		g.send(t, g.admin, http.MethodPost, "/api/scope/", fmt.Sprintf(`{"name":%q,"password_required":false,"scheme":{}}`, scope))
	}
	g.AddUser(t)
	return g
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func createDatabase(t *testing.T, name string) {
	t.Helper()
	statements, err := os.ReadFile("/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3") // where the package installs it
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), string(statements)); err != nil {
		t.Fatal(err)
	}
}

func glewlwydConfig(dir, address string) string {
	host, port, _ := strings.Cut(address, ":")
	return fmt.Sprintf(`
port = %[3]s
bind_address = "%[2]s"
external_url = "https://%[2]s:%[3]s/"
login_url = "login.html"
api_prefix = "api"
log_mode = "console"
log_level = "WARNING"
cookie_secure = 1
session_key = "SESSION"
admin_scope = "g_admin"
profile_scope = "g_profile"
user_module_path = "/usr/lib/glewlwyd/user"
user_middleware_module_path = "/usr/lib/glewlwyd/user_middleware"
client_module_path = "/usr/lib/glewlwyd/client"
user_auth_scheme_module_path = "/usr/lib/glewlwyd/scheme"
plugin_module_path = "/usr/lib/glewlwyd/plugin"
use_secure_connection = true
secure_connection_key_file = "%[1]s/key.pem"
secure_connection_pem_file = "%[1]s/cert.pem"
hash_algorithm = "SHA512"
database = { type = "sqlite3", path = "%[1]s/users.db" }
`, dir, host, port)
}

// addPlugin adds OpenID Connect with a key of its own.
func (g *Glewlwyd) addPlugin(t *testing.T) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	plugin, err := json.Marshal(map[string]any{"module": "oidc", "name": "oidc", "display_name": "OpenID Connect",
		"parameters": map[string]any{"iss": g.Issuer, "jwt-type": "rsa", "jwt-key-size": "256", "key": string(private),
			"cert":                  string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
			"access-token-duration": 300, "refresh-token-duration": 3600, "code-duration": 60, "refresh-token-rolling": true,
			"auth-type-code-enabled": true, "auth-type-id-token-enabled": true, "auth-type-refresh-enabled": true,
			"pkce-allowed": true, "pkce-method-plain-allowed": false, "subject-type": "public", "name-claim": "on-demand",
			"name-claim-scope": []string{"profile"}, "email-claim": "on-demand", "email-claim-scope": []string{"email"},
			"scope-claim": "no", "jwks-show": true}})
	if err != nil {
		t.Fatal(err)
	}
	g.send(t, g.admin, http.MethodPost, "/api/mod/plugin/", string(plugin))
}

// Register adds the client whose callback that is.
func (g *Glewlwyd) Register(t *testing.T, callback string) {
	t.Helper()
	g.send(t, g.admin, http.MethodPost, "/api/client/", fmt.Sprintf(`{"client_id":%q,"name":"regwarden","confidential":true,`+
		`"enabled":true,"password":%q,"redirect_uri":[%q],"authorization_type":["code","refresh_token"],"scope":["openid"],`+
		`"token_endpoint_auth_method":["client_secret_basic"]}`, ClientID,
		GlewlwydSecret, callback))
}

// AddUser adds the user.
func (g *Glewlwyd) AddUser(t *testing.T) {
	t.Helper()
	g.send(t, g.admin, http.MethodPost, "/api/user/", glewlwydUser)
}

// RemoveUser removes the user. Of one that is disabled, it accepts refresh tokens.
func (g *Glewlwyd) RemoveUser(t *testing.T) {
	t.Helper()
	g.send(t, g.admin, http.MethodDelete, "/api/user/ada", "")
}

// Login logs the user in, as the provider's page does by script, and returns where the browser goes from a request that led there.
func (g *Glewlwyd) Login(t *testing.T, authorization string) (callback string) {
	t.Helper()
	person := g.session(t, `{"username":"ada","password":"verysecure"}`)
	g.send(t, person, http.MethodPut, "/api/auth/grant/"+ClientID, `{"scope":"openid profile email"}`)
	response, err := person.Get(authorization + "&g_continue")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.Header.Get("Location")
}

// session returns a client with the cookie of a login. It follows no redirect.
func (g *Glewlwyd) session(t *testing.T, credentials string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(g.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Jar: jar, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	g.send(t, client, http.MethodPost, "/api/auth/", credentials)
	return client
}

func (g *Glewlwyd) send(t *testing.T, client *http.Client, method, path, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, g.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s returns %d: %s", method, path, response.StatusCode, text)
	}
}

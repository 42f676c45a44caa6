// Package palette_test holds the service against what Palette's public clients do: the Terraform provider, the
// Go SDK and the TypeScript SDK. Each has a small model here that sends what the client sends, byte for byte over
// TLS, and reads what it reads, as strictly and with the same retries. The models are written from what was seen
// on the wire; they share no code with the clients.
//
// TestRule01… to TestRule20… are the rules that decide whether the clients work, each under its number.
package palette_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/testca"
)

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }

// began is before the first start of a server, of whose data all servers of these tests have a copy.
var began = time.Now()

// world is a running service that serves TLS, with an administrator's API key.
type world struct {
	t      *testing.T
	server *instance.Server
	ca     *testca.CA
	host   string // host:port, as the provider's setting has it
	key    string
}

// start runs the service. What a client gets from it is held against the API description.
func start(t *testing.T, flags ...string) *world {
	t.Helper()
	return startWith(t, instance.Options{Flags: flags})
}

func startWith(t *testing.T, o instance.Options) *world {
	t.Helper()
	ca := testca.New(t, "Platform CA")
	pair := ca.Issue(t, testca.Options{Name: "regwarden"})
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
	for name, text := range map[string]string{certFile: pair.Certificate, keyFile: pair.Key} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Insecure = true // of the question whether it is ready; the clients verify
	o.Flags = append([]string{"--tls-cert", certFile, "--tls-key", keyFile}, o.Flags...)
	w := &world{t: t, ca: ca, server: instance.Start(t, o)}
	w.host = strings.TrimPrefix(w.server.URL, "https://")
	w.key = w.newKey(instance.Email)
	return w
}

// newKey makes an API key of a user.
func (w *world) newKey(email string) string {
	w.t.Helper()
	return w.server.Admin(w.t, "", "apikey", "create", "--org", instance.Org, "--email", email, "--name", "terraform", "--expires", "720h")
}

// newMember makes a member and returns an API key of it.
func (w *world) newMember(email string) string {
	w.t.Helper()
	w.server.Admin(w.t, "nine herons by the weir\n", "user", "create", "--org", instance.Org, "--email", email, "--role", "member",
		"--project", "Default", "--password-stdin")
	return w.newKey(email)
}

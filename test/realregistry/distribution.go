package realregistry

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd" // registers itself
	_ "github.com/distribution/distribution/v3/registry/auth/token"    // registers itself
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory" // registers itself
	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/bcrypt"

	"github.com/regwarden/regwarden/test/testca"
)

// Options configures a registry. The zero value is open, over plain HTTP.
type Options struct {
	Users map[string]string // htpasswd: username to password
	Token *TokenServer      // bearer tokens of this server; excludes Users
	CA    *testca.CA        // https, with a certificate of this authority
	Serve *testca.Pair      // https, with exactly this certificate; wins over CA
}

// Distribution runs the distribution registry in this process, with its storage in memory, until
// the test ends.
func Distribution(t testing.TB, o Options) Access {
	t.Helper()
	log := distributionLog()
	app := handlers.NewApp(context.Background(), distributionConfig(t, o))
	server := httptest.NewUnstartedServer(app)
	access := Access{}
	if pair := o.certificate(t); pair != nil {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}}
		server.StartTLS()
		if o.CA != nil {
			access.CA = o.CA.PEM()
		}
	} else {
		server.Start()
	}
	t.Cleanup(func() {
		server.Close()
		if err := app.Shutdown(); err != nil {
			t.Errorf("stop the registry: %v", err)
		}
		if t.Failed() {
			t.Logf("log of the distribution registries:\n%s", log)
		}
	})
	access.Endpoint = server.URL
	return access
}

func (o Options) certificate(t testing.TB) *testca.Pair {
	if o.Serve != nil || o.CA == nil {
		return o.Serve
	}
	pair := o.CA.Issue(t, testca.Options{Name: "registry"})
	return &pair
}

func distributionConfig(t testing.TB, o Options) *configuration.Configuration {
	t.Helper()
	config := &configuration.Configuration{
		Storage: configuration.Storage{
			"inmemory": {},
			"delete":   {"enabled": true},
			// The purger would sleep through the test.
			"maintenance": {"uploadpurging": map[any]any{"enabled": false}},
		},
		Catalog: configuration.Catalog{MaxEntries: 1000},
	}
	config.HTTP.Secret = "not secret: signs the state of uploads of one test"
	switch {
	case o.Token != nil:
		config.Auth = configuration.Auth{"token": o.Token.parameters(t)}
	case o.Users != nil:
		config.Auth = configuration.Auth{"htpasswd": {"realm": "test registry", "path": htpasswd(t, o.Users)}}
	}
	return config
}

// htpasswd writes a password file as registries read it: bcrypt, at the least cost.
func htpasswd(t testing.TB, users map[string]string) string {
	t.Helper()
	var lines strings.Builder
	for name, password := range users {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			t.Fatalf("hash a test password: %v", err)
		}
		fmt.Fprintf(&lines, "%s:%s\n", name, hash)
	}
	path := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatalf("write htpasswd: %v", err)
	}
	return path
}

// distributionLog takes the log that all distribution registries of a process share.
func distributionLog() *tail {
	logger := logrus.StandardLogger()
	if log, ok := logger.Out.(*tail); ok {
		return log
	}
	log := &tail{}
	logger.SetOutput(log)
	return log
}

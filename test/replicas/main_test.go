// Package replicas_test drives the built binary on PostgreSQL: one server or several on one database.
package replicas_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }

// urlFile keeps the address of a database, password included, where a server reads it.
func urlFile(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "database-url")
	if err := os.WriteFile(path, []byte(url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

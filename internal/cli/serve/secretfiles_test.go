package serve

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/web/selfsigned"
	"github.com/regwarden/regwarden/internal/web/servercert"
)

// A file with a secret that every user of the machine can read is refused, whatever secret it is.
func TestSecretFilesOpenToOthersAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	certFile, keyFile, err := selfsigned.Files(dir, "127.0.0.1:0", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, content string
		read          func() error
	}{
		{"bootstrap password", "nine purple ducks on ice", func() error { _, err := readPasswordFile(path); return err }},
		{"SMTP password", "hunter2", func() error {
			_, err := (&settings.Config{SMTPHost: "mail",
				SMTPPasswordFile: path}).MailServer()
			return err
		}},
		{"database URL", "postgres://a:b@db/x?sslmode=verify-full",
			func() error { return loadFrom("--database-url-file", path) }},
		{"settings with a database password", "database-url: postgres://a:b@db/x?sslmode=verify-full",
			func() error { return loadFrom("--config", path) }},
		{"settings with a proxy password", "egress-proxy: http://a:b@proxy:3128",
			func() error { return loadFrom("--config", path) }},
		{"TLS key", string(key), func() error {
			_, err := servercert.Load(servercert.Settings{CertFile: certFile, KeyFile: path}, slog.New(slog.DiscardHandler), time.Now)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for mode, refused := range map[os.FileMode]bool{0o600: false, 0o644: true, 0o604: true, 0o660: true} {
				if err := errors.Join(os.WriteFile(path, []byte(c.content), 0o600), os.Chmod(path, mode)); err != nil {
					t.Fatal(err)
				}
				err := c.read()
				if errors.Is(err, seal.ErrLaxMode) != refused || refused && !strings.Contains(err.Error(), "run chmod 600") || !refused &&
					err != nil {
					t.Errorf("mode %04o: %v", mode, err)
				}
			}
		})
	}
}

// loadFrom loads settings from a command line alone.
func loadFrom(args ...string) error {
	s := settings.New()
	if err := s.Flags.Parse(args); err != nil {
		return err
	}
	return s.Load(func(string) string { return "" })
}

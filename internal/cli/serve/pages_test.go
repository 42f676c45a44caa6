package serve

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/cli/settings"
	"github.com/regwarden/regwarden/internal/web/console"
)

func TestTheConsoleGetsSettingsWithMaskedSecrets(t *testing.T) {
	t.Setenv("REGWARDEN_DATABASE_URL", "postgres://ada:hunter2@db.example/regwarden?sslmode=require")
	t.Setenv("REGWARDEN_EGRESS_PROXY", "http://ada:hunter2@proxy.example:3128")
	s := settings.New()
	if err := errors.Join(s.Flags.Parse([]string{"--login-queue", "11"}), s.Load(os.Getenv)); err != nil {
		t.Fatal(err)
	}
	shown := map[string]console.Setting{}
	for _, one := range shownSettings(s) {
		shown[one.Name] = one
		if strings.Contains(one.Value, "hunter2") {
			t.Errorf("%s contains a password: %s", one.Name, one.Value)
		}
	}
	for name, want := range map[string][2]string{"login-queue": {"11", "flag"}, "database-url": {"db.example", "environment"},
		"egress-proxy": {"proxy.example", "environment"}, "console": {"true", "default"}} {
		if one := shown[name]; !strings.Contains(one.Value, want[0]) || one.Source != want[1] {
			t.Errorf("%s is %+v, want %v", name, one, want)
		}
	}
}

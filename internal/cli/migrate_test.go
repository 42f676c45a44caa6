package cli

import (
	"testing"

	"github.com/regwarden/regwarden/internal/cli/settings"
)

// The next step after a migration names where the master key is, also if that is not the data directory.
func TestMasterKeySource(t *testing.T) {
	for _, tt := range []struct{ command, key, want string }{
		{"", "", "--master-key-file '/etc/the key'"},
		{"", "secret", "that of REGWARDEN_MASTER_KEY"},
		{"vault read", "", "that of --master-key-command"},
	} {
		c := settings.Config{MasterKeyCommand: tt.command, MasterKeyFile: "/etc/the key"}
		if got := masterKeySource(&c, func(string) string { return tt.key }); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

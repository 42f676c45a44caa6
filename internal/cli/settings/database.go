package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/secret"
)

// The setting database-url may contain a password. It is masked when shown, and refused in an argument, since every user of the machine
// can read those.

// completeDatabaseURL reads database-url from database-url-file, if set, and validates it.
func (s *Settings) completeDatabaseURL() []error {
	if s.DatabaseURLFile != "" {
		if s.DatabaseURL != "" {
			return []error{errors.New("database-url: cannot be combined with database-url-file")}
		}
		content, err := seal.ReadSecretFile(s.DatabaseURLFile)
		if err != nil {
			return []error{fmt.Errorf("database-url-file: %w", err)}
		}
		s.DatabaseURL, s.source["database-url"] = secret.String(strings.TrimSpace(content.Reveal())), "database-url-file"
		if s.DatabaseURL == "" {
			return []error{fmt.Errorf("database-url-file: %s is empty", s.DatabaseURLFile)}
		}
	}
	if s.DatabaseURL == "" {
		return nil
	}
	if s.source["database-url"] == "flag" && sqldb.MaskURL(s.DatabaseURL) != s.DatabaseURL.Reveal() {
		return []error{fmt.Errorf("database-url: must not contain a password in an argument, since every user of this machine can "+
			"read it; "+
			"give the URL in %s, in the settings file or with --database-url-file, or the password in a PGPASSFILE",
			EnvName("database-url"))}
	}
	if err := sqldb.CheckURL(s.DatabaseURL); err != nil {
		return []error{fmt.Errorf("database-url: %w", err)}
	}
	return nil
}

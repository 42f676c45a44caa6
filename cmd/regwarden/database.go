package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/internal/seal"
	"github.com/regwarden/regwarden/internal/store/sqldb"
	"github.com/regwarden/regwarden/secret"
)

// The setting database-url may contain a password. It is masked when shown, and refused in an argument, since every user of the machine
// can read those.

// completeDatabaseURL reads database-url from database-url-file, if set, and validates it.
func (s *settings) completeDatabaseURL() []error {
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
	if s.source["database-url"] == "flag" && maskDatabaseURL(s.DatabaseURL) != s.DatabaseURL.Reveal() {
		return []error{fmt.Errorf("database-url: must not contain a password in an argument, since every user of this machine can read it; "+
			"give the URL in %s, in the settings file or with --database-url-file, or the password in a PGPASSFILE", envName("database-url"))}
	}
	if err := sqldb.CheckURL(s.DatabaseURL); err != nil {
		return []error{fmt.Errorf("database-url: %w", err)}
	}
	return nil
}

// maskDatabaseURL returns the URL with a masked password, or only a mask if the position of the password is unclear.
func maskDatabaseURL(address secret.String) string {
	scheme, rest, found := strings.Cut(address.Reveal(), "://")
	authority, query, asked := strings.Cut(rest, "?")
	if !found || strings.Count(authority, "@") > 1 || strings.Contains(authority, "#") {
		return address.String()
	}
	if user, hosts, has := strings.Cut(authority, "@"); has {
		name, _, password := strings.Cut(user, ":")
		if strings.Contains(user, "/") {
			return address.String()
		}
		if password {
			name += ":" + secret.Mask
		}
		authority = name + "@" + hosts
	}
	shown := scheme + "://" + authority
	if asked {
		shown += "?" + maskQuery(query)
	}
	return shown
}

// maskQuery masks the parameters for passwords: password, sslpassword.
func maskQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err != nil || strings.Contains(strings.ToLower(plain), "password") {
			parts[i] = name + "=" + secret.Mask
		}
	}
	return strings.Join(parts, "&")
}

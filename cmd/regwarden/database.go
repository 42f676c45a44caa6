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

// The setting database-url may hold a password, so it is neither taken from an argument with one in it, which everybody on
// the machine can read, nor shown.

// completeDatabaseURL reads the file that database-url-file names, and checks the address wherever it comes from.
func (s *settings) completeDatabaseURL() []error {
	if s.DatabaseURLFile != "" {
		if s.DatabaseURL != "" {
			return []error{errors.New("database-url, database-url-file: give one of them")}
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
		return []error{fmt.Errorf("database-url: a password in an argument can be read by everybody on this machine; "+
			"give the URL by %s, in the settings file or with --database-url-file, or keep the password in a PGPASSFILE", envName("database-url"))}
	}
	if err := sqldb.CheckURL(s.DatabaseURL); err != nil {
		return []error{fmt.Errorf("database-url: %w", err)}
	}
	return nil
}

// maskDatabaseURL shows the address without its password, and nothing of one that may have it in an odd place.
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

// maskQuery masks what PostgreSQL takes passwords by: password, sslpassword.
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

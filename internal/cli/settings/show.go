package settings

import (
	"net/url"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/secret"
)

// List returns name, value and source of each setting.
func (s *Settings) List() [][]any {
	var rows [][]any
	s.Flags.VisitAll(func(f *pflag.Flag) {
		rows = append(rows, []any{f.Name, s.value(f), s.source[f.Name]})
	})
	return rows
}

// value returns the value of a setting in its type. Durations are text.
func (s *Settings) value(f *pflag.Flag) any {
	if v, err := s.Flags.GetBool(f.Name); err == nil {
		return v
	}
	if v, err := strconv.Atoi(f.Value.String()); err == nil && f.Value.Type() == "int" {
		return v
	}
	if v, err := s.Flags.GetStringSlice(f.Name); err == nil {
		return v
	}
	return s.shown(f)
}

// shown returns the text of a setting with masked secrets: passwords in URLs.
func (s *Settings) shown(f *pflag.Flag) string {
	if f.Name == "database-url" && s.DatabaseURL != "" {
		return sqldb.MaskURL(s.DatabaseURL)
	}
	if f.Name != "egress-proxy" {
		return f.Value.String()
	}
	u, err := url.Parse(s.EgressProxy)
	if err != nil || u.User == nil {
		return s.EgressProxy
	}
	u.User = url.User(secret.Mask)
	return u.String()
}

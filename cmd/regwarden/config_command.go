package main

import (
	"net/url"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/secret"
)

func newConfig() *cobra.Command {
	settings, output := newSettings(), ""
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings, with masked secrets",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asJSON, err := wantsJSON(output)
			if err != nil {
				return err
			}
			if err := settings.load(os.Getenv); err != nil {
				return err
			}
			return printTable(cmd, asJSON, []string{"name", "value", "source"}, settings.list())
		},
	}
	settings.addTo(cmd.Flags())
	outputFlag(cmd, &output)
	return cmd
}

// list returns name, value and source of each setting.
func (s *settings) list() [][]any {
	var rows [][]any
	s.flags.VisitAll(func(f *pflag.Flag) {
		rows = append(rows, []any{f.Name, s.value(f), s.source[f.Name]})
	})
	return rows
}

// value returns the value of a setting in its type. Durations are text.
func (s *settings) value(f *pflag.Flag) any {
	if v, err := s.flags.GetBool(f.Name); err == nil {
		return v
	}
	if v, ok := f.Value.(*number); ok {
		return *v.value
	}
	if v, err := s.flags.GetStringSlice(f.Name); err == nil {
		return v
	}
	return s.shown(f)
}

// shown returns the text of a setting with masked secrets: passwords in URLs.
func (s *settings) shown(f *pflag.Flag) string {
	if f.Name == "database-url" && s.DatabaseURL != "" {
		return maskDatabaseURL(s.DatabaseURL)
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

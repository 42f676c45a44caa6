package main

import (
	"fmt"
	"net/url"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/secret"
)

// setting is one line of "regwarden config".
type setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func newConfig() *cobra.Command {
	settings, output := newSettings(), ""
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the settings in force and where each comes from, secrets masked",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			asJSON, err := wantsJSON(output)
			if err != nil {
				return err
			}
			if err := settings.load(os.Getenv); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd, settings.list())
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "SETTING\tVALUE\tFROM")
			for _, line := range settings.list() {
				fmt.Fprintf(table, "%s\t%s\t%s\n", line.Name, line.Value, line.Source)
			}
			return table.Flush()
		},
	}
	settings.addTo(cmd.Flags())
	outputFlag(cmd, &output)
	return cmd
}

func (s *settings) list() []setting {
	var lines []setting
	s.flags.VisitAll(func(f *pflag.Flag) {
		lines = append(lines, setting{Name: f.Name, Value: s.shown(f), Source: s.source[f.Name]})
	})
	return lines
}

// shown masks the settings that may hold a secret: URLs with a password in them.
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

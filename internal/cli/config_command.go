package cli

import (
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/alert"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/output"
	"github.com/regwarden/regwarden/internal/storage/sqldb"
	"github.com/regwarden/regwarden/internal/web/console"
	"github.com/regwarden/regwarden/secret"
)

func newConfig() *cobra.Command {
	settings, format := newSettings(), ""
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings, with masked secrets",
		Args:  command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := command.WantsStructured(format); err != nil {
				return err
			}
			if err := settings.load(os.Getenv); err != nil {
				return err
			}
			return output.PrintTable(cmd, format, []string{"name", "value", "source"}, settings.list())
		},
	}
	settings.addTo(cmd.Flags())
	command.OutputFlag(cmd, &format)
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

// forConsole returns the list in the form of the console.
func (s *settings) forConsole() []console.Setting {
	rows := s.list()
	shown := make([]console.Setting, len(rows))
	for i, row := range rows {
		name := command.Cell(row[0])
		shown[i] = console.Setting{Name: name, Value: command.Cell(row[1]), Source: command.Cell(row[2]),
			Meaning: s.flags.Lookup(name).Usage}
	}
	return shown
}

// value returns the value of a setting in its type. Durations are text.
func (s *settings) value(f *pflag.Flag) any {
	if v, err := s.flags.GetBool(f.Name); err == nil {
		return v
	}
	if v, err := strconv.Atoi(f.Value.String()); err == nil && f.Value.Type() == "int" {
		return v
	}
	if v, err := s.flags.GetStringSlice(f.Name); err == nil {
		return v
	}
	return s.shown(f)
}

// shown returns the text of a setting with masked secrets: passwords in URLs.
func (s *settings) shown(f *pflag.Flag) string {
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

// otherVariables are our environment variables that are not settings.
var otherVariables = []string{
	envMasterKey, envNextMasterKey, envBootstrapOrg, envBootstrapEmail, envBootstrapPasswordFile, command.EnvRegistryPassword,
	command.EnvRegistryToken,
	logins.EnvServer, logins.EnvAPIKey, logins.EnvCA, logins.EnvContexts, alert.EnvURL,
}

// warnUnknownVariables logs environment variables with our prefix that are not settings, such as misspelled ones. They are not refused,
// since a platform may set variables with this prefix. Their values are not logged.
func warnUnknownVariables(log *slog.Logger, environ []string) {
	known := slices.Clone(otherVariables)
	newSettings().flags.VisitAll(func(f *pflag.Flag) { known = append(known, envName(f.Name)) })
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, command.EnvPrefix) || slices.Contains(known, name) || ofKubernetes(name, environ) {
			continue
		}
		log.Warn("unknown environment variable ignored", "variable", name, "nearest", flagvalue.Nearest(name, known, command.MaxTypos))
	}
}

// ofKubernetes reports whether Kubernetes sets this variable in each container for a Service, such as regwarden or regwarden-db.
func ofKubernetes(name string, environ []string) bool {
	services := []string{strings.TrimSuffix(command.EnvPrefix, "_")}
	for _, entry := range environ {
		other, _, _ := strings.Cut(entry, "=")
		if service, ok := strings.CutSuffix(other, "_SERVICE_HOST"); ok {
			services = append(services, service)
		}
	}
	return slices.ContainsFunc(services, func(service string) bool {
		return strings.HasPrefix(name, service+"_SERVICE_") || strings.HasPrefix(name, service+"_PORT")
	})
}

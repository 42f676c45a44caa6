package serve

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/internal/cli/alert"
	"github.com/regwarden/regwarden/internal/cli/command"
	"github.com/regwarden/regwarden/internal/cli/flagvalue"
	"github.com/regwarden/regwarden/internal/cli/logins"
	"github.com/regwarden/regwarden/internal/cli/settings"
)

// otherVariables are our environment variables that are not settings.
var otherVariables = []string{
	settings.EnvMasterKey, settings.EnvNextMasterKey,
	settings.EnvBootstrapOrg, settings.EnvBootstrapEmail, settings.EnvBootstrapPasswordFile,
	command.EnvRegistryPassword, command.EnvRegistryToken,
	logins.EnvServer, logins.EnvAPIKey, logins.EnvCA, logins.EnvContexts, alert.EnvURL,
}

// warnUnknownVariables logs environment variables with our prefix that are not settings, such as misspelled ones. They are not refused,
// since a platform may set variables with this prefix. Their values are not logged.
func warnUnknownVariables(log *slog.Logger, environ []string) {
	known := slices.Clone(otherVariables)
	settings.New().Flags.VisitAll(func(f *pflag.Flag) { known = append(known, settings.EnvName(f.Name)) })
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

package serve

import (
	"iter"
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
	command.EnvAWSSecretKey, command.EnvAWSSessionToken, command.EnvAzureClientSecret,
	logins.EnvServer, logins.EnvAPIKey, logins.EnvCA, logins.EnvContexts, logins.EnvIDToken, logins.EnvIDTokenFile, alert.EnvURL,
}

// warnUnknownVariables logs unknown variables. They are not refused, since a platform may set variables with this prefix.
func warnUnknownVariables(log *slog.Logger, environ []string) {
	for name, nearest := range UnknownVariables(environ) {
		log.Warn("unknown environment variable ignored", "variable", name, "nearest", nearest)
	}
}

// UnknownVariables returns the names of environment variables with our prefix that no command reads, such as misspelled ones, each with the
// nearest one that is read, if any. Values may be secret.
func UnknownVariables(environ []string) iter.Seq2[string, string] {
	known := slices.Clone(otherVariables)
	settings.New().Flags.VisitAll(func(f *pflag.Flag) { known = append(known, settings.EnvName(f.Name)) })
	return func(yield func(name, nearest string) bool) {
		for _, entry := range environ {
			name, value, _ := strings.Cut(entry, "=")
			ours := strings.HasPrefix(name, command.EnvPrefix) && !slices.Contains(known, name) && !ofKubernetes(name, environ)
			if value != "" && ours && !yield(name, flagvalue.Nearest(name, known, command.MaxTypos)) {
				return
			}
		}
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

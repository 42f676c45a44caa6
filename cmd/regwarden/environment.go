package main

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// otherVariables are our environment variables that are not settings.
var otherVariables = []string{
	envMasterKey, envNextMasterKey, envBootstrapOrg, envBootstrapEmail, envBootstrapPasswordFile, envRegistryPassword, envRegistryToken,
}

// Maximum distance in letters between an unknown name and the suggested one.
const (
	maxTypos      = 4 // of a setting
	maxShortTypos = 2 // of a command or a flag
)

// warnUnknownVariables logs environment variables with our prefix that are not settings, such as misspelled ones. They are not refused,
// since a platform may set variables with this prefix. Their values are not logged.
func warnUnknownVariables(log *slog.Logger, environ []string) {
	known := slices.Clone(otherVariables)
	newSettings().flags.VisitAll(func(f *pflag.Flag) { known = append(known, envName(f.Name)) })
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) || ofKubernetes(name, environ) {
			continue
		}
		log.Warn("unknown environment variable ignored", "variable", name, "nearest", nearest(name, known, maxTypos))
	}
}

// ofKubernetes reports whether Kubernetes sets this variable in each container for a Service, such as regwarden or regwarden-db.
func ofKubernetes(name string, environ []string) bool {
	services := []string{strings.TrimSuffix(envPrefix, "_")}
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

// nearest returns the known name that differs least from name, in at most so many letters, or "". It uses cobra's suggestions.
func nearest(name string, known []string, typos int) string {
	names := &cobra.Command{}
	for _, k := range known {
		names.AddCommand(&cobra.Command{Use: k, Run: func(*cobra.Command, []string) {}})
	}
	for names.SuggestionsMinimumDistance = 1; names.SuggestionsMinimumDistance <= typos; names.SuggestionsMinimumDistance++ {
		if like := names.SuggestionsFor(name); len(like) > 0 {
			return like[0]
		}
	}
	return ""
}

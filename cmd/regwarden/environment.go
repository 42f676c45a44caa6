package main

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// otherVariables are the environment variables of ours that are not settings.
var otherVariables = []string{
	envMasterKey, envNextMasterKey, envBootstrapOrg, envBootstrapEmail, envBootstrapPasswordFile, envRegistryPassword, envRegistryToken,
}

// How many letters an unknown name may differ from the known one that is proposed for it.
const (
	maxTypos      = 4 // of a setting
	maxShortTypos = 2 // of a command or a flag
)

// warnUnknownVariables warns of environment variables with our prefix that nothing reads: a mistyped setting would
// otherwise be in force in its owner's mind alone. They are not refused, since a platform may set some of its own. Their
// values are not logged.
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

// ofKubernetes reports whether Kubernetes sets this variable in each container to tell the address of a Service, such as
// one named regwarden or regwarden-db.
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

// nearest returns the known name that is most like this one and differs by few enough letters, or "". It asks cobra's suggestions for mistyped commands.
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

// Package clusterread connects a Kubernetes cluster to the service: its settings, and what reads it.
package clusterread

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/fixes"
	"github.com/regwarden/regwarden/internal/kubernetes"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/cluster"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Settings say which cluster is read, and for whom.
type Settings struct {
	on                             bool
	kubeconfig, name, organization string
	namespaces                     []string
}

// AddTo adds the flags of the settings.
func (s *Settings) AddTo(f *pflag.FlagSet) {
	f.BoolVar(&s.on, "kubernetes", false,
		"store the registries of pull Secrets, Flux and Argo CD in a Kubernetes cluster, and write their health as Events")
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "file with the connection to the cluster (default: the service account of the pod)")
	f.StringSliceVar(&s.namespaces, "kubernetes-namespaces", nil,
		"namespaces to read; * means all (default: that of the pod, or of the kubeconfig)")
	f.StringVar(&s.organization, "kubernetes-organization", "",
		"organization that has the registries of the cluster (default: the only one)")
	f.StringVar(&s.name, "kubernetes-cluster", "cluster",
		"name of the cluster in the names of its registries; each cluster of an organization needs another one")
}

// Problems returns the problems of the settings.
func (s *Settings) Problems() (problems []error) {
	if !s.on && (s.kubeconfig != "" || len(s.namespaces) > 0 || s.organization != "") {
		problems = append(problems, errors.New("kubeconfig, kubernetes-namespaces and kubernetes-organization: require kubernetes"))
	}
	if s.name == "" || strings.Contains(s.name, "/") || names.NameProblem(s.name) != "" {
		problems = append(problems, errors.New("kubernetes-cluster: must be a name without /"))
	}
	return problems
}

// Open returns the tasks that read the cluster: none if it is off. interval is that of the scheduled checks.
func (s *Settings) Open(ctx context.Context, db *store.DB, stored *registries.Service, interval time.Duration,
	log *slog.Logger) (tasks []func(context.Context), err error) {
	if !s.on {
		return nil, nil
	}
	source, err := kubernetes.Open(kubernetes.Options{Kubeconfig: s.kubeconfig, Namespaces: s.namespaces, Log: log})
	if err != nil {
		return nil, err
	}
	of, err := auth.OperatorOf(ctx, db, s.organization)
	if err != nil {
		return nil, fmt.Errorf("kubernetes-organization: %w", err)
	}
	reader := cluster.New(db, stored, source, cluster.Config{Cluster: s.name, OrgUID: of.OrgUID, Interval: interval,
		Words: func(found model.Registry, report *regcheck.Report) *regcheck.Report {
			return fixes.Report(found, report, wording.Engine())
		}, Log: log}, time.Now)
	return []func(context.Context){reader.Run}, nil
}

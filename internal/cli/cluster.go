package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/cli/fixes"
	"github.com/regwarden/regwarden/internal/kubernetes"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/cluster"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/wording"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

// newCluster returns what reads the cluster of the settings, nil without one.
func newCluster(ctx context.Context, db *store.DB, stored *registries.Service, c Config, log *slog.Logger) (*cluster.Service, error) {
	if !c.Kubernetes {
		return nil, nil
	}
	source, err := kubernetes.Open(kubernetes.Options{Kubeconfig: c.Kubeconfig, Namespaces: c.KubernetesNamespaces, Log: log})
	if err != nil {
		return nil, err
	}
	org, err := store.Read(ctx, db, func(tx *store.Tx) (store.Org, error) {
		return auth.Operator().Org(ctx, tx, c.KubernetesOrganization)
	})
	if err != nil {
		return nil, fmt.Errorf("kubernetes-organization: %w", err)
	}
	return cluster.New(db, stored, source, cluster.Config{Cluster: c.KubernetesCluster, OrgUID: org.UID, Interval: c.WatchInterval,
		Words: func(found model.Registry, report *regcheck.Report) *regcheck.Report {
			return fixes.Report(found, report, wording.Engine())
		}, Log: log}, time.Now), nil
}

// clusterProblems returns the problems of the settings of a cluster.
func (c *Config) clusterProblems() (problems []error) {
	if !c.Kubernetes && (c.Kubeconfig != "" || len(c.KubernetesNamespaces) > 0 || c.KubernetesOrganization != "") {
		problems = append(problems, fmt.Errorf("kubeconfig, kubernetes-namespaces and kubernetes-organization: require kubernetes"))
	}
	if c.KubernetesCluster == "" || strings.Contains(c.KubernetesCluster, "/") || auth.NameProblem(c.KubernetesCluster) != "" {
		problems = append(problems, fmt.Errorf("kubernetes-cluster: must be a name without /"))
	}
	return problems
}

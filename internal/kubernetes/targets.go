package kubernetes

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// target is a list that is watched.
type target struct {
	resource       schema.GroupVersionResource
	namespace      string // empty: every namespace
	fields, labels string // selectors
}

// String names the list for the log.
func (t target) String() string {
	name := t.resource.GroupResource().String()
	if t.fields+t.labels != "" {
		name += " (" + t.fields + t.labels + ")"
	}
	return name
}

// groups are the kinds of Flux and Argo CD that name registries.
var groups = []struct {
	group     string
	resources []string
}{
	{"source.toolkit.fluxcd.io", []string{"helmrepositories", "ocirepositories"}},
	{"helm.toolkit.fluxcd.io", []string{"helmreleases"}},
	{"image.toolkit.fluxcd.io", []string{"imagerepositories"}},
	{argo, []string{"applications", "applicationsets"}},
}

const argo = "argoproj.io"

// Which Secrets are read: those of the types that kubelet uses; with Argo CD those that it labels; with Flux the others too, because its
// objects refer to Secrets of any type, except the types that are large or never have credentials of registries.
var (
	dockerTypes = []string{"type=kubernetes.io/dockerconfigjson", "type=kubernetes.io/dockercfg"}
	argoLabel   = "argocd.argoproj.io/secret-type"
	fluxTypes   = "type!=kubernetes.io/dockerconfigjson,type!=kubernetes.io/dockercfg,type!=helm.sh/release.v1," +
		"type!=kubernetes.io/service-account-token,type!=bootstrap.kubernetes.io/token"
	argoCertificates = "metadata.name=argocd-tls-certs-cm"
)

// targets returns what to watch: only kinds that exist.
func (c *Cluster) targets(ctx context.Context) ([]target, error) {
	core := func(resource, fields, labels string) target {
		return target{resource: schema.GroupVersionResource{Version: "v1", Resource: resource}, fields: fields, labels: labels}
	}
	all := []target{core("serviceaccounts", "", "")}
	for _, fields := range dockerTypes {
		all = append(all, core("secrets", fields, ""))
	}
	flux := false
	for _, g := range groups {
		found, err := c.existing(ctx, g.group, g.resources)
		if err != nil {
			return nil, fmt.Errorf("list the kinds of %s: %w", g.group, err)
		}
		switch {
		case len(found) == 0:
		case g.group == argo:
			all = append(all, core("secrets", "", argoLabel), core("configmaps", argoCertificates, ""))
		case !flux:
			flux = true
			all = append(all, core("secrets", fluxTypes, ""))
		}
		all = append(all, found...)
	}
	var each []target
	for _, namespace := range c.namespaces {
		for _, t := range all {
			t.namespace = namespace
			each = append(each, t)
		}
	}
	return each, nil
}

// existing returns those resources of a group that exist, in the version that the server prefers.
func (c *Cluster) existing(ctx context.Context, group string, resources []string) (found []target, err error) {
	var versions struct{ PreferredVersion struct{ Version string } }
	if exists, err := c.get(ctx, "/apis/"+group, &versions); !exists || err != nil {
		return nil, err
	}
	version := versions.PreferredVersion.Version
	var list struct{ Resources []struct{ Name string } }
	if _, err := c.get(ctx, "/apis/"+group+"/"+version, &list); err != nil {
		return nil, err
	}
	for _, r := range list.Resources {
		if slices.Contains(resources, r.Name) {
			found = append(found, target{resource: schema.GroupVersionResource{Group: group, Version: version, Resource: r.Name}})
		}
	}
	return found, nil
}

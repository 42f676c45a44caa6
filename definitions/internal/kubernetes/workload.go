package kubernetes

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// podSpecs has where the objects that start pods have their specification.
var podSpecs = map[string][]string{
	"Pod":                   {"spec"},
	"ReplicationController": {"spec", "template", "spec"},
	"apps/Deployment":       {"spec", "template", "spec"},
	"apps/StatefulSet":      {"spec", "template", "spec"},
	"apps/DaemonSet":        {"spec", "template", "spec"},
	"apps/ReplicaSet":       {"spec", "template", "spec"},
	"batch/Job":             {"spec", "template", "spec"},
	"batch/CronJob":         {"spec", "jobTemplate", "spec", "template", "spec"},
}

// workloadKinds has what resolves the objects that pull images, and the accounts that have their pull Secrets.
var workloadKinds = func() map[string]resolver {
	all := map[string]resolver{"ServiceAccount": resolveServiceAccount}
	for kind := range podSpecs {
		all[kind] = resolveWorkload
	}
	return all
}()

// keyring has the pull Secrets of a pod or of an object of Flux.
type keyring struct {
	configs []*dockerauth.Config
	missing *gap     // the first Secret that was not read
	ignored []string // names of Secrets that have another type
}

// newKeyring reads the Secrets that o refers to. A Secret that Kubernetes rejects is reported where it is.
func newKeyring(s *scanner.Scanner, o *object, names []string) keyring {
	var k keyring
	for _, name := range names {
		found, g := clusterOf(s).secret(o, name)
		if g == nil && dockerKeys[found.secretType()] == "" {
			k.ignored = append(k.ignored, name)
			continue
		}
		if g == nil {
			var config *dockerauth.Config
			if config, g = found.readableConfig(); g == nil {
				k.configs = append(k.configs, config)
			}
		}
		if k.missing == nil {
			k.missing = g
		}
	}
	return k
}

// readableConfig returns what a pull Secret has, or why it cannot be read.
func (o *object) readableConfig() (*dockerauth.Config, *gap) {
	config, v, err := o.dockerConfig()
	switch {
	case v.at == nil:
		return nil, gapf(model.UnresolvedIncomplete, "The Secret %q lacks the key %s.", dockerauth.Show(o.name), dockerKeys[o.secretType()])
	case v.gap != nil:
		return nil, v.gap
	case err != nil:
		return nil, gapf(model.UnresolvedIncomplete, "The value %s of the Secret %q is not valid JSON.", dockerKeys[o.secretType()], dockerauth.Show(o.name))
	}
	return config, nil
}

// match returns the entries of all Secrets that match a reference, in kubelet's order, or why kubelet rejects one of the Secrets, and with it
// all.
func (k keyring) match(reference string) (entries []*dockerauth.Entry, rejected string) {
	for _, config := range k.configs {
		choice := config.Lookup(dockerauth.Kubelet, reference)
		if choice.Rejected != "" {
			return nil, choice.Rejected
		}
		entries = append(entries, choice.Entries...)
	}
	if direct := slices.DeleteFunc(slices.Clone(entries), isHubFallback); strings.HasPrefix(reference, "docker.io/") && len(direct) > 0 {
		entries = direct
	}
	slices.SortStableFunc(entries, func(a, b *dockerauth.Entry) int { return strings.Compare(pattern(b), pattern(a)) })
	return entries, ""
}

// isHubFallback reports whether the entry is used for Docker Hub only if no other matches.
func isHubFallback(e *dockerauth.Entry) bool { return pattern(e) == "index.docker.io" }

func pattern(e *dockerauth.Entry) string {
	p, _ := dockerauth.KubeletPattern(e.Key)
	return p
}

// names returns the names in a list of references.
func names(list *node.Node) []string {
	var all []string
	for _, item := range list.Items() {
		if name := item.Get("name").Text(); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// resolveServiceAccount reports pull Secrets that were not read. What they are for is reported with the pods of the account.
func resolveServiceAccount(s *scanner.Scanner, o *object) {
	for _, reference := range o.node.Get("imagePullSecrets").Items() {
		name := reference.Get("name").Text()
		if _, g := clusterOf(s).secret(o, name); g != nil && g.reason == model.UnresolvedReferenceMissing {
			s.Skip(o.at(reference), model.SkipNoHost, "%s kubelet ignores pull Secrets that do not exist.", g.detail)
		}
	}
}

// resolveWorkload adds the images of an object that has pull Secrets. Images of others need no credentials, and are not reported.
func resolveWorkload(s *scanner.Scanner, o *object) {
	spec := o.node.Get(podSpecs[o.groupKind()]...)
	secrets := names(spec.Get("imagePullSecrets"))
	if len(secrets) == 0 {
		secrets = accountSecrets(s, o, spec)
	}
	if len(secrets) == 0 {
		return
	}
	k := newKeyring(s, o, secrets)
	for _, image := range images(spec) {
		addImage(s, o, image, k)
	}
}

// accountSecrets returns the pull Secrets of the ServiceAccount, which Kubernetes adds to pods that have none.
func accountSecrets(s *scanner.Scanner, o *object, spec *node.Node) []string {
	account := spec.Get("serviceAccountName").Text()
	if account == "" {
		account = "default"
	}
	found, ambiguous := clusterOf(s).near(o, "ServiceAccount", o.namespace, account)
	if found == nil || ambiguous {
		return nil
	}
	return names(found.node.Get("imagePullSecrets"))
}

// images returns the images of containers and volumes that are pulled.
func images(spec *node.Node) []*node.Node {
	var all []*node.Node
	add := func(list, of, member string) {
		for _, item := range spec.Get(list).Items() {
			if of != "" {
				item = item.Get(of)
			}
			if n := item.Get(member); n.Text() != "" && item.Get("imagePullPolicy").Text() != "Never" && item.Get("pullPolicy").Text() != "Never" {
				all = append(all, n)
			}
		}
	}
	add("initContainers", "", "image")
	add("containers", "", "image")
	add("ephemeralContainers", "", "image")
	add("volumes", "image", "reference")
	return all
}

func addImage(s *scanner.Scanner, o *object, image *node.Node, k keyring) {
	if scanner.IsTemplate(image.Text()) {
		s.Skip(o.at(image), model.SkipTemplate, "The image is a placeholder. Scan what is rendered from it, or the objects of the cluster.")
		return
	}
	host, content := scanner.SplitReference(image.Text())
	r := model.Registry{Sources: []model.Source{o.at(image)}, Format: model.Kubernetes, Consumer: model.Kubelet}
	r.Definition = regcheck.Definition{Endpoint: scanner.EndpointOf(host), BaseContentPath: content}
	if r.Definition.Registry() == "" {
		s.Problem(o.at(image), model.ProblemNoHost, "The image %q does not name a registry that kubelet can connect to.", dockerauth.Show(image.Text()))
		return
	}
	reachedFrom(&r, host)
	entries, rejected := k.match(host + "/" + content)
	switch {
	case rejected != "":
		scanner.SetUnresolved(&r, model.UnresolvedIncomplete, "%s For this reason kubelet rejects the pull Secrets, and pulls no image of the pod.", rejected)
	case len(entries) > 0:
		s.UseFirst(&r, dockerauth.Kubelet, entries)
	case k.missing != nil:
		lacks(&r, k.missing)
		if r.Reason == model.UnresolvedReferenceMissing {
			r.Detail += " If it does not exist, kubelet connects without credentials."
		}
	case scanner.EndpointOf(host) == scanner.DockerHub:
		return // the pull Secrets are for other images
	default:
		k.noMatch(&r, host+"/"+content, "kubelet")
	}
	s.Found(r)
}

// noMatch adds notices to a definition for which no Secret has credentials.
func (k keyring) noMatch(r *model.Registry, reference, consumer string) {
	for _, name := range k.ignored {
		scanner.AddNotice(r, model.NoticeNotUsedByConsumer, "%s ignores the Secret %q: its type is neither %s nor %s.", consumer, dockerauth.Show(name), dockerConfigSecret, dockercfgSecret)
	}
	scanner.AddNotice(r, model.NoticeNoMatchingCredentials, "No entry of the pull Secrets matches %s: %s connects without credentials.", dockerauth.Show(reference), consumer)
}

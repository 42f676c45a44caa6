package kubernetes

import (
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/docker"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
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
	files   []*dockerFile
	at      model.Source // of the last one
	missing *gap         // the first Secret that was not read
	ignored []string     // names of Secrets that have another type
}

// costOfSecret is as many comparisons as a search for a Secret.
const costOfSecret = 4

// newKeyring reads the Secrets that o refers to. A Secret that Kubernetes rejects is reported where it is. It returns false if they are too
// many.
func newKeyring(c *Cluster, o *object, names []string) (k keyring, ok bool) {
	if !c.Afford(o.at(nil), len(names)*costOfSecret) {
		return k, false
	}
	for _, name := range names {
		found, g := c.secret(o, name)
		if g == nil && dockerKeys[found.secretType()] == "" {
			if len(k.ignored) < maxIgnored {
				k.ignored = append(k.ignored, name)
			}
			continue
		}
		if g == nil {
			d := found.dockerFile()
			if g = d.usable(found); g == nil {
				k.files, k.at = append(k.files, d), found.at(nil)
			}
		}
		if k.missing == nil {
			k.missing = g
		}
	}
	return k, true
}

// only returns the place of the Secret with the credentials if there is one Secret.
func (k keyring) only() *model.Source {
	if len(k.files) == 1 {
		return &k.at
	}
	return nil
}

// matches are the entries that match a reference, in kubelet's order, or why kubelet rejects one of the Secrets, and with it all.
type matches struct {
	first    *dockerauth.Entry // nil if no entry matches
	count    int
	differ   bool // whether their credentials differ
	rejected string
}

// match compares a reference with the entries of all Secrets. It returns false if too many have been compared.
func (k keyring) match(c *Cluster, at model.Source, reference string) (m matches, ok bool) {
	var all []*dockerauth.SamePattern
	for _, d := range k.files {
		if rejected := d.index().Rejected; rejected != nil {
			return matches{rejected: rejected.Message}, true
		}
		found, comparisons := d.index().Find(reference)
		if !c.Afford(at, comparisons) {
			return m, false
		}
		all = append(all, found...)
	}
	isFallback := func(p *dockerauth.SamePattern) bool { return p.Pattern == dockerauth.HubPattern }
	if direct := slices.DeleteFunc(slices.Clone(all), isFallback); strings.HasPrefix(reference, "docker.io/") && len(direct) > 0 {
		all = direct
	}
	slices.SortStableFunc(all, func(a, b *dockerauth.SamePattern) int { return strings.Compare(b.Pattern, a.Pattern) })
	for _, p := range all {
		if m.first == nil {
			m.first = p.Entries[0]
		}
		m.count += len(p.Entries)
		m.differ = m.differ || p.Differ || p.Entries[0].Credential != m.first.Credential
	}
	return m, true
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
func resolveServiceAccount(c *Cluster, o *object) {
	for _, reference := range o.node.Get("imagePullSecrets").Items() {
		name := reference.Get("name").Text()
		if _, g := c.secret(o, name); g != nil && g.reason == model.UnresolvedReferenceMissing {
			c.Skip(o.at(reference), model.SkipNoHost, "%s kubelet ignores pull Secrets that do not exist.", g.detail)
		}
	}
}

// resolveWorkload adds the images of an object that has pull Secrets. Images of others are references.
func resolveWorkload(c *Cluster, o *object) {
	spec := o.node.Get(podSpecs[o.groupKind()]...)
	secrets := names(spec.Get("imagePullSecrets"))
	if len(secrets) == 0 {
		secrets = accountSecrets(c, o, spec)
	}
	if len(secrets) == 0 {
		for _, image := range o.imagesOf(spec) {
			c.Reference(o.at(image), model.Kubernetes, model.Kubelet, image.Text())
		}
		return
	}
	k, ok := newKeyring(c, o, secrets)
	for _, image := range o.imagesOf(spec) {
		if ok = ok && addImage(c, o, image, k); !ok {
			return
		}
	}
}

// accountSecrets returns the pull Secrets of the ServiceAccount, which Kubernetes adds to pods that have none.
func accountSecrets(c *Cluster, o *object, spec *node.Node) []string {
	account := spec.Get("serviceAccountName").Text()
	if account == "" {
		account = "default"
	}
	found, ambiguous := c.near(o, "ServiceAccount", o.namespace, account)
	if found == nil || ambiguous {
		return nil
	}
	return found.pullSecrets()
}

// pullSecrets returns the names of the pull Secrets of a ServiceAccount.
func (o *object) pullSecrets() []string {
	if o.secrets == nil {
		all := names(o.node.Get("imagePullSecrets"))
		o.secrets = &all
	}
	return *o.secrets
}

// imagesOf returns the images of containers and volumes that are pulled.
func (o *object) imagesOf(spec *node.Node) []*node.Node {
	var all []*node.Node
	add := func(list, of, member string) {
		for _, item := range spec.Get(list).Items() {
			if of != "" {
				item = item.Get(of)
			}
			if n := item.Get(member); n.Text() != "" && item.Get("imagePullPolicy").Text() != "Never" &&
				item.Get("pullPolicy").Text() != "Never" {
				all = append(all, o.changedImage(n))
			}
		}
	}
	add("initContainers", "", "image")
	add("containers", "", "image")
	add("ephemeralContainers", "", "image")
	add("volumes", "image", "reference")
	return all
}

// changedImage returns an image as kustomize writes it, in its place.
func (o *object) changedImage(image *node.Node) *node.Node {
	name := image.Text()
	for _, change := range o.images {
		name = change.apply(name)
	}
	if name == image.Text() {
		return image
	}
	return node.NewText(image.Line, name)
}

// addImage returns false if the pull Secrets have too many entries.
func addImage(c *Cluster, o *object, image *node.Node, k keyring) bool {
	if scanner.IsTemplate(image.Text()) {
		c.Skip(o.at(image), model.SkipTemplate, "The image is a placeholder. Scan what is rendered from it, or the objects of the cluster.")
		return true
	}
	host, content := scanner.SplitReference(image.Text())
	r := o.registry(image, model.Kubelet, host, content)
	if r.Definition.Registry() == "" {
		c.Problem(o.at(image), model.ProblemNoHost, "The image %q does not name a registry that kubelet can connect to.",
			dockerauth.Show(image.Text()))
		return true
	}
	m, ok := k.match(c, r.Sources[0], host+"/"+content)
	switch {
	case !ok:
		return false
	case m.rejected != "":
		scanner.SetUnresolved(&r, model.UnresolvedIncomplete,
			"%s For this reason kubelet rejects the pull Secrets, and pulls no image of the pod.", m.rejected)
	case m.first != nil:
		r.Secret = k.only()
		docker.UseFirst(&r, dockerauth.Kubelet, m.first, m.count)
	case k.missing != nil:
		lacks(&r, k.missing)
		if r.Reason == model.UnresolvedReferenceMissing {
			r.Detail += " If it does not exist, kubelet connects without credentials."
		}
	case scanner.EndpointOf(host) == scanner.DockerHub: // the pull Secrets are for other images
		c.Reference(o.at(image), model.Kubernetes, model.Kubelet, image.Text())
		return true
	default:
		k.noMatch(&r, host+"/"+content, "kubelet")
	}
	c.Found(r)
	return true
}

// maxIgnored limits the notices of one definition about Secrets of another type.
const maxIgnored = 20

// noMatch adds notices to a definition for which no Secret has credentials.
func (k keyring) noMatch(r *model.Registry, reference, consumer string) {
	for _, name := range k.ignored {
		scanner.AddNotice(r, model.NoticeNotUsedByConsumer, "%s ignores the Secret %q: its type is neither %s nor %s.", consumer,
			dockerauth.Show(name), dockerConfigSecret, dockercfgSecret)
	}
	scanner.AddNotice(r, model.NoticeNoMatchingCredentials, "No entry of the pull Secrets matches %s: %s connects without credentials.",
		dockerauth.Show(reference), consumer)
}

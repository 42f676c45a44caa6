package kubernetes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/docker"
	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

// registryField is a field of a kind of object that names a registry or content of one, and the field with the Secrets for it. A path has
// keys with dots between them; [] stands for each element of a list.
type registryField struct {
	kinds    string // group/Kind, separated by blanks
	address  string
	secret   string // relative to the object; a name, a list of names, or of objects with a name
	consumer model.Consumer
	ociOnly  bool // whether other addresses than oci://… are not for a registry
}

// fluxDistribution is a field with the first part of the names of images.
const fluxDistribution = "spec.distribution.registry"

// registryFields are the kinds that need no rules of their own.
var registryFields = []registryField{
	{"fluxcd.controlplane.io/FluxInstance", fluxDistribution, "spec.distribution.imagePullSecret", model.Kubelet, false},
	{"fluxcd.controlplane.io/FluxInstance", "spec.distribution.artifact", "spec.distribution.artifactPullSecret", model.Flux, true},
	{"fluxcd.controlplane.io/FluxInstance", "spec.sync.url", "spec.sync.pullSecret", model.Flux, true},
	{"pkg.crossplane.io/Provider pkg.crossplane.io/Configuration pkg.crossplane.io/Function", "spec.package", "spec.packagePullSecrets", "",
		false},
	{"helm.cattle.io/HelmChart", "spec.chart", "spec.dockerRegistrySecret.name", model.Helm, true},
	{"catalog.cattle.io/ClusterRepo", "spec.url", "spec.clientSecret.name", model.Helm, true},
	{"fleet.cattle.io/HelmOp", "spec.helm.chart", "spec.helmSecretName", model.Helm, true},
	{"fleet.cattle.io/HelmOp", "spec.helm.repo", "spec.helmSecretName", model.Helm, true},
	{"packaging.carvel.dev/PackageRepository", "spec.fetch.imgpkgBundle.image", "spec.fetch.imgpkgBundle.secretRef.name", "", false},
	{"kappctrl.k14s.io/App", "spec.fetch[].imgpkgBundle.image", "spec.fetch[].imgpkgBundle.secretRef.name", "", false},
	{"kappctrl.k14s.io/App", "spec.fetch[].image.url", "spec.fetch[].image.secretRef.name", "", false},
	{"config.openshift.io/ImageDigestMirrorSet", "spec.imageDigestMirrors[].mirrors[]", "", model.Kubelet, false},
	{"config.openshift.io/ImageTagMirrorSet", "spec.imageTagMirrors[].mirrors[]", "", model.Kubelet, false},
	{"operator.openshift.io/ImageContentSourcePolicy", "spec.repositoryDigestMirrors[].mirrors[]", "", model.Kubelet, false},
	{"build.openshift.io/BuildConfig", "spec.output.to.name", "spec.output.pushSecret.name", "", false},
	{"build.openshift.io/BuildConfig", "spec.strategy.dockerStrategy.from.name", "spec.strategy.dockerStrategy.pullSecret.name", "", false},
	{"operators.coreos.com/CatalogSource", "spec.image", "spec.secrets", model.Kubelet, false},
	{"kargo.akuity.io/Warehouse", "spec.subscriptions[].image.repoURL", "", "", false},
	{"kargo.akuity.io/Warehouse", "spec.subscriptions[].chart.repoURL", "", model.Helm, true},
	{"zarf.dev/ZarfPackageConfig", "components[].images[]", "", "", false},
	{"zarf.dev/ZarfPackageConfig", "components[].charts[].url", "", model.Helm, true},
	{"tekton.dev/Task tekton.dev/ClusterTask", "spec.steps[].image", "", model.Kubelet, false},
	{"tekton.dev/Pipeline", "spec.tasks[].taskSpec.steps[].image", "", model.Kubelet, false},
	{"argoproj.io/Workflow argoproj.io/WorkflowTemplate argoproj.io/CronWorkflow", "spec.templates[].container.image",
		"spec.imagePullSecrets",
		model.Kubelet, false},
	{"kyverno.io/ClusterPolicy kyverno.io/Policy", "spec.rules[].verifyImages[].imageReferences[]",
		"spec.rules[].verifyImages[].imageRegistryCredentials.secrets", model.Kubelet, false},
	{"policies.kyverno.io/ImageValidatingPolicy", "spec.matchImageReferences[].glob", "spec.credentials.secrets", model.Kubelet, false},
	{"shipwright.io/Build", "spec.output.image", "spec.output.pushSecret", "", false},
	{"kpack.io/Image kpack.io/Builder kpack.io/ClusterBuilder", "spec.tag", "", "", false},
	{"kpack.io/ClusterStack", "spec.buildImage.image", "", "", false},
	{"kpack.io/ClusterStack", "spec.runImage.image", "", "", false},
	{"kafka.strimzi.io/KafkaConnect", "spec.build.output.image", "spec.build.output.pushSecret", "", false},
	{"monitoring.coreos.com/Prometheus monitoring.coreos.com/Alertmanager", "spec.image", "spec.imagePullSecrets", model.Kubelet, false},
	{"postgresql.cnpg.io/Cluster", "spec.imageName", "spec.imagePullSecrets", model.Kubelet, false},
}

// programNamespaces are those of programs that take the Secrets of all their objects from their own namespace, by group: what their
// installation calls it.
var programNamespaces = map[string]string{
	"pkg.crossplane.io": "crossplane-system", "kyverno.io": "kyverno", "policies.kyverno.io": "kyverno",
}

// fieldKinds returns what resolves the objects of the table.
func fieldKinds() map[string]resolver {
	all := map[string]resolver{}
	for _, field := range registryFields {
		for kind := range strings.FieldsSeq(field.kinds) {
			all[kind] = resolveFields
		}
	}
	for _, files := range embeddedFiles {
		for kind := range strings.FieldsSeq(files.kinds) {
			all[kind] = resolveEmbedded
		}
	}
	return all
}

// embeddedFiles are kinds that have files as texts: where, and the fields of each with its path and its content. Without a path, name is
// that of all of them. Their encoding, and a Secret instead of the content, are as in Cluster API.
var embeddedFiles = []struct{ kinds, at, path, content, name string }{
	{"bootstrap.cluster.x-k8s.io/KubeadmConfig controlplane.cluster.x-k8s.io/RKE2ControlPlane bootstrap.cluster.x-k8s.io/RKE2Config",
		"spec.files[]", "path", "content", ""},
	{"bootstrap.cluster.x-k8s.io/KubeadmConfigTemplate bootstrap.cluster.x-k8s.io/RKE2ConfigTemplate", "spec.template.spec.files[]",
		"path", "content", ""},
	{"controlplane.cluster.x-k8s.io/KubeadmControlPlane", "spec.kubeadmConfigSpec.files[]", "path", "content", ""},
	{"controlplane.cluster.x-k8s.io/KubeadmControlPlaneTemplate", "spec.template.spec.kubeadmConfigSpec.files[]", "path", "content", ""},
	{"k0sctl.k0sproject.io/Cluster", "spec.hosts[].files[]", "dst", "data", ""},
	{"k3d.io/Simple", "registries", "", "config", "etc/rancher/k3s/registries.yaml"},
	{"kind.x-k8s.io/Cluster", "containerdConfigPatches[]", "", "", "etc/containerd/config.toml"},
}

func resolveEmbedded(c *Cluster, o *object) {
	kind := o.groupKind()
	for _, files := range embeddedFiles {
		if !slices.Contains(strings.Fields(files.kinds), kind) {
			continue
		}
		for _, p := range node.At(o.node, files.at) {
			path, content := cmp.Or(files.name, p.Value.Get(files.path).Text()), p.Value
			if files.content != "" {
				content = content.Get(files.content)
			}
			if from := p.Value.Get("contentFrom", "secret"); from != nil && content == nil {
				c.embeddedSecret(o, path, from)
			} else {
				o.file.Embedded(path, content, p.Value.Get("encoding").Text())
			}
		}
	}
}

// embeddedSecret reads a file whose content is in a Secret. Its places are in the file of the Secret.
func (c *Cluster) embeddedSecret(o *object, path string, from *node.Node) {
	found, g := c.secret(o, from.Get("name").Text())
	if g != nil {
		c.Skip(o.at(from), model.SkipNoHost, "The file %s is in a Secret. %s", dockerauth.Show(path), g.detail)
		return
	}
	if v := found.secretValue(from.Get("key").Text()); v.at != nil && v.gap == nil {
		found.file.EmbeddedText(path, []byte(v.text), max(v.at.Line-1, 0))
	}
}

func resolveFields(c *Cluster, o *object) {
	kind := o.groupKind()
	if kind == clusterRepo {
		o.at(nil) // which has no namespace
		o = o.inNamespace(secretOfClusterRepo)
	}
	if group, _, _ := strings.Cut(kind, "/"); programNamespaces[group] != "" {
		o.at(nil)
		inside := *o
		inside.namespace = programNamespaces[group]
		o = &inside
	}
	for _, field := range registryFields {
		for listed := range strings.FieldsSeq(field.kinds) {
			if listed == kind {
				field.add(c, o)
			}
		}
	}
}

// add adds what the field of an object names.
func (f registryField) add(c *Cluster, o *object) {
	if of, isReference := strings.CutSuffix(f.address, ".name"); isReference && firstText(o.node, of+".kind") != "DockerImage" {
		return // an object of the cluster, such as an ImageStreamTag
	}
	var secrets []string
	for _, p := range node.At(o.node, f.secret) {
		secrets = append(secrets, secretNames(p.Value)...)
	}
	charts := f.charts(o)
	for _, p := range node.At(o.node, f.address) {
		n := p.Value
		address, isOCI := strings.CutPrefix(withoutWildcard(n.Text()), "oci://")
		switch {
		case address == "" || f.ociOnly && !isOCI:
		case scanner.IsTemplate(address):
			c.Skip(o.at(n), model.SkipTemplate, "%s", scanner.AddressMessages[model.SkipTemplate])
		case len(secrets) == 0 && f.isPrefix(n.Text()): // it does not name an image
		case len(secrets) == 0 && !setsConnection(o, charts[n]):
			c.ChartReference(o.at(n), model.Kubernetes, f.consumer, n.Text(), versionOf(charts[n], n))
		case isOCI:
			host, path, _ := strings.Cut(address, "/")
			f.addRegistry(c, o, n, host, path, charts[n], secrets)
		default:
			host, path := f.split(n.Text(), address)
			f.addRegistry(c, o, n, host, path, nil, secrets)
		}
	}
}

// withoutWildcard returns a pattern of images up to the last / before its wildcard: the prefix that all of them have. It is empty if their
// host is not known.
func withoutWildcard(pattern string) string {
	before, _, found := strings.Cut(pattern, "*")
	if !found {
		return pattern
	}
	before = before[:max(strings.LastIndexByte(before, '/'), 0)]
	if !strings.ContainsAny(before, ".:") {
		return ""
	}
	return before
}

// secretNames returns the names in a value: a text, or a list of texts and of objects with a name.
func secretNames(n *node.Node) (all []string) {
	for _, item := range n.Items() {
		all = append(all, secretNames(item)...)
	}
	if name := cmp.Or(n.Get("name").Text(), n.Text()); name != "" {
		all = append(all, name)
	}
	return all
}

// addRegistry adds a registry with the credentials of Secrets, if it has any: a username and a password, or the entry of a docker config.
// chart is what has the version and the settings of the connection; nil if the address is not that of a chart.
func (f registryField) addRegistry(c *Cluster, o *object, at *node.Node, host, path string, chart *node.Node, secrets []string) {
	name := scanner.CutTag(path)
	r := o.registry(at, f.consumer, host, strings.Trim(name, "/"))
	r.Definition.Auth = &regcheck.Auth{}
	setConnection(&r, o, chart)
	if found := f.firstLogin(c, o, secrets); found != nil {
		scanner.SetAuth(&r, found.login(&r))
		r.Secret = found.place()
	} else if len(secrets) > 0 && !c.useKeyring(o, &r, secrets, host+"/"+name) {
		return
	}
	if version := versionIn(path); version != "" {
		r.Definition.BaseContentPath += version
	} else {
		r.Definition.BaseContentPath = scanner.Tagged(r.Definition.BaseContentPath, versionOf(chart, at))
	}
	c.Found(r)
}

// isPrefix reports whether a field has the first part of the names of images.
func (f registryField) isPrefix(written string) bool {
	return f.address == fluxDistribution || strings.Contains(written, "*")
}

// split returns host and path of an image, or of the prefix of several, which may be a host alone. written is what the field has.
func (f registryField) split(written, address string) (host, path string) {
	switch isHost := strings.ContainsAny(address, ".:") || address == "localhost"; {
	case f.isPrefix(written) && isHost && !strings.Contains(address, "/"):
		return address, ""
	case f.isPrefix(written):
		return scanner.SplitPrefix(address)
	}
	return scanner.SplitReference(address)
}

// charts returns what has the addresses of charts, by these.
func (f registryField) charts(o *object) map[*node.Node]*node.Node {
	if f.consumer != model.Helm {
		return nil
	}
	charts := map[*node.Node]*node.Node{}
	last := strings.LastIndexByte(f.address, '.')
	for _, p := range node.At(o.node, f.address[:last]) {
		charts[p.Value.Get(f.address[last+1:])] = p.Value
	}
	return charts
}

// versionIn returns the tag or digest of a path, with what is before it. The digest is used, whatever the tag is.
func versionIn(path string) string {
	if _, digest, found := strings.Cut(path, "@"); found {
		return scanner.Suffix("@", digest)
	}
	return scanner.Suffix(":", strings.TrimPrefix(strings.TrimPrefix(path, scanner.CutTag(path)), ":"))
}

// versionOf returns the version of the chart at an address, "" if it is that of a chart below the address.
func versionOf(chart, address *node.Node) string {
	if name := chart.Get("chart"); name.Text() != "" && name != address {
		return ""
	}
	return chart.Get("version").Text()
}

// loginSecrets are the fields of Secrets that may have a username and a password. Other programs use docker configs only.
var loginSecrets = map[string]bool{"spec.clientSecret.name": true, "spec.helmSecretName": true, "spec.fetch[].image.secretRef.name": true,
	"spec.fetch.imgpkgBundle.secretRef.name": true, "spec.fetch[].imgpkgBundle.secretRef.name": true}

// firstLogin returns the first of the Secrets that has a username and is no pull Secret, nil if the program uses none of them.
func (f registryField) firstLogin(c *Cluster, o *object, secrets []string) *object {
	if !loginSecrets[f.secret] {
		return nil
	}
	for _, name := range secrets {
		found, g := c.secret(o, name)
		if g == nil && dockerKeys[found.secretType()] == "" && found.secretValue("username").at != nil {
			return found
		}
	}
	return nil
}

// useKeyring uses the entry of pull Secrets for a reference. It returns false if they are too many.
func (c *Cluster) useKeyring(o *object, r *model.Registry, secrets []string, reference string) bool {
	k, ok := newKeyring(c, o, secrets)
	if !ok {
		return false
	}
	m, ok := k.match(c, r.Sources[0], reference)
	switch {
	case !ok:
		return false
	case m.rejected != "":
		scanner.SetUnresolved(r, model.UnresolvedIncomplete, "%s For this reason the Secret is rejected.", m.rejected)
	case m.first != nil:
		r.Secret = k.only()
		docker.UseFirst(r, dockerauth.Kubelet, m.first, m.count)
	case k.missing != nil:
		lacks(r, k.missing)
	default:
		k.noMatch(r, reference, o.kind)
	}
	return true
}

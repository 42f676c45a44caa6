package kubernetes

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/regcheck"
)

// NewCluster returns a Cluster without objects, which reports to s.
func NewCluster(s *scanner.Scanner) *Cluster { return &Cluster{Scanner: s} }

// ObjectFormats returns the readers of Kubernetes objects.
func (c *Cluster) ObjectFormats() []scanner.Reader {
	return []scanner.Reader{{Name: model.Kubernetes, Is: isKubernetes, Keys: []string{"apiVersion kind", "kind components"}, Read: c.read}}
}

// maxLists limits lists within lists.
const maxLists = 5

// isKubernetes recognizes objects in files of a walk that may be manifests: a document in a text between lines of - is not one.
func isKubernetes(f *scanner.File) bool {
	if f.IsWalked() && !scanner.IsOneOf(f.Extension(), ".yaml", ".yml", ".json", "") {
		return false
	}
	documents, _ := f.Nodes()
	return slices.ContainsFunc(documents, isObject)
}

func isObject(n *node.Node) bool {
	return apiVersionOf(n) != "" && n.Get("kind").IsText()
}

// zarfPackage is the kind of zarf.yaml, which rarely has an apiVersion.
const zarfPackage = "ZarfPackageConfig"

func apiVersionOf(n *node.Node) string {
	if n.Get("kind").Text() == zarfPackage {
		return cmp.Or(n.Get("apiVersion").Text(), "zarf.dev/v1alpha1")
	}
	return n.Get("apiVersion").Text()
}

func (c *Cluster) read(f *scanner.File) {
	f.Annotated = bytes.Contains(f.Data, []byte("#@"))
	for _, document := range f.Readable() {
		c.AddObject(f, document)
	}
}

// AddObject adds an object that a file of another format has.
func (c *Cluster) AddObject(f *scanner.File, n *node.Node) {
	if isObject(n) {
		c.readObject(f, n, apiVersionOf(n), n.Get("kind").Text(), 0)
	}
}

// readObject reads an object or a list of objects. The API omits apiVersion and kind in lists of one kind, such as SecretList.
func (c *Cluster) readObject(f *scanner.File, n *node.Node, apiVersion, kind string, lists int) {
	if kind == "ResourceSet" { // of Flux, whose objects may have expressions
		for _, resource := range n.Get("spec", "resources").Items() {
			if lists < maxLists && isObject(resource) {
				c.readObject(f, resource, apiVersionOf(resource), resource.Get("kind").Text(), lists+1)
			}
		}
		f.Embedded("resources.yaml", n.Get("spec", "resourcesTemplate"), "")
	}
	items := n.Get("items")
	if !items.IsArray() || !strings.HasSuffix(kind, "List") {
		c.add(&object{file: f, node: n, apiVersion: apiVersion, kind: kind,
			namespace: n.Get("metadata", "namespace").Text(), name: n.Get("metadata", "name").Text()})
		return
	}
	if lists == maxLists {
		f.Scanner.Problem(f.At(n.Line, ""), model.ProblemWrongShape, "Lists are nested more than %d times.", maxLists)
		return
	}
	for _, item := range items.Items() {
		switch {
		case isObject(item):
			c.readObject(f, item, apiVersionOf(item), item.Get("kind").Text(), lists+1)
		case item.Get("kind") == nil:
			c.readObject(f, item, apiVersion, strings.TrimSuffix(kind, "List"), lists+1)
		}
	}
}

// Limits of the Kubernetes objects that are stored until all files have been read: their values, and the size of their files.
const (
	maxClusterValues = 2_000_000
	maxClusterBytes  = 128 << 20
)

// Cluster has the Kubernetes objects of all files. References between them are resolved when all are known.
type Cluster struct {
	*scanner.Scanner
	objects        []*object
	kustomizations []*kustomization
	named          map[objectName]objects
	last           string // name of the file of the objects, also of those in a text of it
	values, bytes  int
	full           bool
	secretNames    map[string][]string     // by namespace; nil until they are needed
	readers        map[objectName]string   // of Secrets, by namespace and name, as readerOf returns them; nil until they are needed
	compared       int                     // of them, with names that do not exist
	charts         map[*object]*fluxSource // of HelmRepositories
	argo           *argoSecrets            // nil until the first object of Argo CD is resolved
}

// object is one Kubernetes object.
type object struct {
	file                              *scanner.File
	node                              *node.Node
	apiVersion, kind, namespace, name string

	unread map[string]*gap // values of a Secret that is generated from files
	images []imageChange   // of kustomize, in their order

	shown   string      // as results show it; empty until it is needed
	read    *secretData // nil until it is needed
	secrets *[]string   // of a ServiceAccount; nil until they are needed
}

// objectName is the name of objects in a file, in a directory, or in all files if within is empty.
type objectName struct{ kind, namespace, name, within string }

// objects are those of one name.
type objects struct {
	last  *object
	count int
}

// resolver adds what an object defines. It ignores objects that are not its own.
type resolver func(*Cluster, *object)

// kinds has what resolves the objects of each kind; the key is group/Kind, or only Kind in the core group. Other kinds are not stored.
var kinds = sync.OnceValue(func() map[string][]resolver {
	return joinKinds(coreKinds, workloadKinds, fluxKinds, argoKinds, fieldKinds(), chartKinds(), installerKinds())
})

func joinKinds(lists ...map[string]resolver) map[string][]resolver {
	joined := map[string][]resolver{}
	for _, list := range lists {
		for kind, resolve := range list {
			joined[kind] = append(joined[kind], resolve)
		}
	}
	return joined
}

// at returns the place of a value of the object.
func (o *object) at(n *node.Node) model.Source {
	line := o.node.Line
	if n != nil {
		line = n.Line
	}
	if o.shown == "" {
		name := o.kind + " "
		if o.namespace != "" {
			name += o.namespace + "/"
		}
		o.shown = scanner.Short(name + o.name)
	}
	return o.file.At(line, o.shown)
}

// place returns the place of the object.
func (o *object) place() *model.Source {
	at := o.at(nil)
	return &at
}

// registry returns the registry of a host that the object names at n.
func (o *object) registry(n *node.Node, consumer model.Consumer, host, path string) model.Registry {
	r := model.Registry{Sources: []model.Source{o.at(n)}, Format: model.Kubernetes, Consumer: consumer}
	r.Definition = regcheck.Definition{Endpoint: scanner.EndpointOf(host), BaseContentPath: path}
	scanner.ReachedFrom(&r, host)
	return r
}

// groupKind returns group/Kind, and only Kind in the core group.
func (o *object) groupKind() string {
	group, version := path.Split(o.apiVersion)
	switch {
	case version == o.apiVersion:
		return o.kind
	case externalSecrets[group+o.kind]:
		return externalSecret
	}
	return group + o.kind
}

// add stores an object if something resolves its kind.
func (c *Cluster) add(o *object) {
	if len(kinds()[o.groupKind()]) == 0 || o.isFluxPatch() || c.full {
		return
	}
	if c.last != o.file.Name {
		c.last = o.file.Name
		c.bytes += len(o.file.Data)
	}
	if c.values += o.node.Size(); c.values > maxClusterValues || c.bytes > maxClusterBytes {
		c.full = true
		c.Problem(o.at(nil), model.ProblemWrongShape,
			"The files have more Kubernetes objects than %d values and %d MiB; the rest is not read. Scan fewer files at once.",
			maxClusterValues, maxClusterBytes>>20)
		return
	}
	c.objects = append(c.objects, o)
}

// index makes an object known by its name, if others may refer to it.
func (c *Cluster) index(o *object) {
	if !referred[o.groupKind()] {
		return
	}
	for _, within := range o.scopes() {
		for _, namespace := range []string{o.namespace, anyNamespace} {
			key := objectName{o.groupKind(), namespace, o.producedName(), within}
			known := c.named[key]
			if known.count > 0 && sameDefinition(known.last, o) {
				continue
			}
			c.named[key] = objects{o, known.count + 1}
		}
	}
}

// sameDefinition reports whether it makes no difference which of two objects of one name is used. Those that name a Secret may mean
// different ones.
func sameDefinition(a, b *object) bool {
	spec := a.node.Get("spec")
	if (a.file != b.file || a.namespace != b.namespace) && (spec.Get("secretRef") != nil || spec.Get("certSecretRef") != nil) {
		return false
	}
	for _, field := range []string{"type", "spec", "data", "stringData", "secrets", "imagePullSecrets"} {
		if !node.Same(a.node.Get(field), b.node.Get(field)) {
			return false
		}
	}
	return a.unread == nil && b.unread == nil
}

// referred are the kinds of objects that others refer to.
var referred = map[string]bool{"Secret": true, bitnamiSecret: true, externalSecret: true, "ServiceAccount": true, helmRepository: true,
	ociRepository: true, imageRepository: true}

// anyNamespace is the namespace of names in all namespaces.
const anyNamespace = "*"

// scopes returns what near searches, in this order: the object's file, its directory, all files.
func (o *object) scopes() []string {
	return []string{o.file.Name, path.Dir(o.file.Name) + "/", ""}
}

// near returns the object that o refers to: one of the same file, else of the same directory, else
// of any file. Files of several environments repeat names, and their credentials must not be mixed: ambiguous reports that there are
// several.
func (c *Cluster) near(o *object, kind, namespace, name string) (found *object, ambiguous bool) {
	for _, within := range o.scopes() {
		if all := c.named[objectName{kind, namespace, name, within}]; all.count > 0 {
			return all.last, all.count > 1
		}
	}
	return nil, false
}

// nearUnnamed is near for objects of which one names no namespace, where kubectl, kustomize or another program may set that of the other.
// Other objects of the name make it ambiguous, in whatever namespace they are, and so does a directory that does not have that of the other
// in it: it may be of another environment.
func (c *Cluster) nearUnnamed(o *object, kind, namespace, name string) (found *object, ambiguous bool) {
	other := ""
	if namespace == "" {
		other = anyNamespace
	}
	for _, within := range o.scopes() {
		if all := c.named[objectName{kind, other, name, within}]; all.count > 0 {
			several := c.named[objectName{kind, anyNamespace, name, within}].count > 1
			return all.last, several || !isWithin(o.file.Name, all.last.file.Name) && !isWithin(all.last.file.Name, o.file.Name)
		}
	}
	return nil, false
}

// mayBeAnother is for what nearUnnamed finds.
const mayBeAnother = "Not all objects name their namespace, so that the %s %q that was read may be another one. " +
	"Scan one environment at a time."

// isWithin reports whether a file is in the directory of another one, or below it.
func isWithin(file, of string) bool {
	dir := path.Dir(of)
	return dir == "." || strings.HasPrefix(file, dir+"/")
}

// producedName returns the name of the Secret that an ExternalSecret creates, and the name of all other objects.
func (o *object) producedName() string {
	if o.groupKind() == externalSecret {
		return cmp.Or(o.node.Get("spec", "target", "name").Text(), o.node.Get("spec", "destination", "name").Text(), o.name)
	}
	return o.name
}

// gap is why something that an object refers to is not known.
type gap struct {
	reason model.UnresolvedReason
	detail model.Detail
}

func gapf(reason model.UnresolvedReason, format string, args ...any) *gap {
	return &gap{reason, model.Detail(fmt.Sprintf(format, args...))}
}

// lacks makes r unresolved. The first reason stays.
func lacks(r *model.Registry, g *gap) {
	if r.Reason == "" && g != nil {
		r.Reason, r.Detail = g.reason, g.detail
	}
}

const readInstead = "Scan the Secret that it becomes, such as the output of kubectl get secret -o yaml."

// findSecret returns the Secret that o refers to, or what creates it.
func (c *Cluster) findSecret(o *object, name string) (found *object, ambiguous bool) {
	kinds := []string{"Secret", bitnamiSecret, externalSecret}
	for _, kind := range kinds {
		if found, ambiguous = c.near(o, kind, o.namespace, name); found != nil {
			return found, ambiguous && kind == "Secret" // what others encrypt or store is not known in any case
		}
	}
	for _, kind := range kinds {
		other, several := c.nearUnnamed(o, kind, o.namespace, name)
		ambiguous = ambiguous || several || found != nil && other != nil
		found = cmp.Or(found, other)
	}
	return found, ambiguous
}

// secret returns the Secret that o refers to. It is in the same namespace, unless one of them names none.
func (c *Cluster) secret(o *object, name string) (*object, *gap) {
	found, ambiguous := c.findSecret(o, name)
	shown := dockerauth.Show(name)
	switch {
	case found == nil:
		return nil, c.missingSecret(o, name)
	case ambiguous && found.namespace == o.namespace:
		return nil, gapf(model.UnresolvedAmbiguous, "Several files have the Secret %q. Scan one environment at a time.", shown)
	case ambiguous:
		return nil, gapf(model.UnresolvedAmbiguous, mayBeAnother, "Secret", shown)
	case found.kind == "SealedSecret":
		return nil, gapf(model.UnresolvedEncrypted, "The Secret %q is encrypted in a SealedSecret. "+readInstead, shown)
	case found.groupKind() == externalSecret:
		return nil, gapf(model.UnresolvedReferenceMissing, "The %s %q creates the Secret %q from another store. "+readInstead, found.kind,
			dockerauth.Show(found.name), shown)
	case found.isEncrypted():
		return nil, gapf(model.UnresolvedEncrypted, "The Secret %q is encrypted with SOPS. "+readInstead, shown)
	}
	return found, nil
}

// missingSecret returns why no Secret is the one that o refers to.
func (c *Cluster) missingSecret(o *object, name string) *gap {
	if other := c.named[objectName{"Secret", anyNamespace, name, ""}].last; other != nil {
		return gapf(model.UnresolvedReferenceMissing,
			"The Secret %q was read in the namespace %q, not in that of the %s, where it must be.", dockerauth.Show(name),
			dockerauth.Show(other.namespace), o.kind)
	}
	return gapf(model.UnresolvedReferenceMissing, "The Secret %q was not read.%s", dockerauth.Show(name), c.similarSecret(o.namespace,
		name))
}

// maxCompared limits the comparisons of a name with that of a Secret: files may have many Secrets, and many references to others.
const maxCompared = 5000

// similarSecret asks for the Secret of the namespace whose name is most similar to one that does not exist.
func (c *Cluster) similarSecret(namespace, name string) string {
	if c.secretNames == nil {
		c.secretNames = map[string][]string{}
		for _, o := range c.objects {
			if kind := o.groupKind(); kind == "Secret" || kind == bitnamiSecret || kind == externalSecret {
				c.secretNames[o.namespace] = append(c.secretNames[o.namespace], o.producedName())
			}
		}
	}
	known := c.secretNames[namespace]
	known = known[:min(len(known), maxCompared-c.compared)]
	c.compared += len(known)
	near := spelling.Field(name, known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", dockerauth.Show(near))
}

// Resolve adds what the objects define, when all files have been read.
func (c *Cluster) Resolve() {
	defer func() { *c = Cluster{Scanner: c.Scanner, full: c.full} }() // their memory is not needed any more
	c.applyKustomizations()
	c.named = map[objectName]objects{}
	for _, o := range c.objects {
		c.index(o)
	}
	for _, o := range c.objects {
		if !c.Afford(o.at(nil), 1) {
			return
		}
		for _, resolve := range kinds()[o.groupKind()] {
			resolve(c, o)
		}
	}
}

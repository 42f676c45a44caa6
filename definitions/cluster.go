package definitions

import (
	"path"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// maxClusterValues limits the Kubernetes objects that are stored until all files have been read.
const maxClusterValues = 2_000_000

// cluster has the Kubernetes objects of all files. References between them are resolved when all are known.
type cluster struct {
	objects []*object
	named   map[objectName]objects
	values  int
	full    bool
}

// object is one Kubernetes object.
type object struct {
	file                              *file
	node                              *node.Node
	apiVersion, kind, namespace, name string
}

// objectName is the name of objects in a file, in a directory, or in all files if within is empty.
type objectName struct{ kind, namespace, name, within string }

// objects are those of one name.
type objects struct {
	last  *object
	count int
}

// resolver adds what an object defines. It ignores objects that are not its own.
type resolver func(*Scanner, *object)

// kinds has what resolves the objects of each kind; the key is group/Kind, or only Kind in the core group. Other kinds are not stored.
var kinds = joinKinds(coreKinds, fluxKinds, argoKinds)

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
func (o *object) at(n *node.Node) Source {
	line := o.node.Line
	if n != nil {
		line = n.Line
	}
	return o.file.at(line, o.kind+" "+o.fullName(o.name))
}

// fullName returns namespace/name of an object in the namespace of o.
func (o *object) fullName(name string) string {
	if o.namespace == "" {
		return name
	}
	return o.namespace + "/" + name
}

// groupKind returns group/Kind, and only Kind in the core group.
func (o *object) groupKind() string {
	if group, version := path.Split(o.apiVersion); version != o.apiVersion {
		return group + o.kind
	}
	return o.kind
}

// add stores an object if something resolves its kind.
func (c *cluster) add(s *Scanner, o *object) {
	if len(kinds[o.groupKind()]) == 0 || c.full {
		return
	}
	if c.values += o.node.Size(); c.values > maxClusterValues {
		c.full = true
		s.problem(o.at(nil), ProblemWrongShape, "The files have more than %d values in Kubernetes objects; the rest is not read. Scan fewer files at once.", maxClusterValues)
		return
	}
	if c.named == nil {
		c.named = map[objectName]objects{}
	}
	for _, within := range o.scopes() {
		key := objectName{o.groupKind(), o.namespace, o.producedName(), within}
		c.named[key] = objects{o, c.named[key].count + 1}
	}
	c.objects = append(c.objects, o)
}

// scopes returns what near searches, in this order: the object's file, its directory, all files.
func (o *object) scopes() []string {
	return []string{o.file.name, path.Dir(o.file.name) + "/", ""}
}

// find returns an object of this name, nil if none was read; kind is as in kinds.
func (c *cluster) find(kind, namespace, name string) *object {
	return c.named[objectName{kind, namespace, name, ""}].last
}

// near returns the object of this name in the namespace of o that o refers to: one of the same file, else of the same directory, else
// of any file. Files of several environments repeat names, and their credentials must not be mixed: ambiguous reports that there are several.
func (c *cluster) near(o *object, kind, name string) (found *object, ambiguous bool) {
	for _, within := range o.scopes() {
		if all := c.named[objectName{kind, o.namespace, name, within}]; all.count > 0 {
			return all.last, all.count > 1
		}
	}
	return nil, false
}

// resolve adds what the objects define.
func (c *cluster) resolve(s *Scanner) {
	for _, o := range c.objects {
		for _, resolve := range kinds[o.groupKind()] {
			resolve(s, o)
		}
	}
}

package definitions

import "github.com/regwarden/regwarden/definitions/internal/node"

// cluster has the Kubernetes objects of all files. References between them are resolved when all are known.
type cluster struct {
	objects []*object
}

// object is one Kubernetes object.
type object struct {
	file                              *file
	node                              *node.Node
	apiVersion, kind, namespace, name string
}

// at returns the place of a value of the object.
func (o *object) at(n *node.Node) Source {
	line := o.node.Line
	if n != nil {
		line = n.Line
	}
	name := o.name
	if o.namespace != "" {
		name = o.namespace + "/" + name
	}
	return o.file.at(line, o.kind+" "+name)
}

// group returns the group of the object's apiVersion, "" for the core group.
func (o *object) group() string {
	for i := range o.apiVersion {
		if o.apiVersion[i] == '/' {
			return o.apiVersion[:i]
		}
	}
	return ""
}

// find returns the object, nil if it was not read.
func (c *cluster) find(kind, namespace, name string) *object {
	for _, o := range c.objects {
		if o.kind == kind && o.namespace == namespace && o.name == name {
			return o
		}
	}
	return nil
}

// resolve adds what the objects define.
func (c *cluster) resolve(s *Scanner) {
	for _, o := range c.objects {
		if resolve := kinds[o.kind]; resolve != nil {
			resolve(s, o)
		}
	}
}

// kinds has how to resolve an object of each kind.
var kinds = map[string]func(*Scanner, *object){}

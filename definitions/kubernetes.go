package definitions

import (
	"errors"
	"slices"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// kubernetesFormats reads Kubernetes objects.
var kubernetesFormats = []format{{Kubernetes, isKubernetes, readKubernetes}}

// maxLists limits lists within lists.
const maxLists = 5

func isKubernetes(f *file) bool {
	documents, _ := f.nodes()
	return slices.ContainsFunc(documents, isObject)
}

func isObject(n *node.Node) bool {
	return n.Get("apiVersion").IsText() && n.Get("kind").IsText()
}

func readKubernetes(f *file) {
	documents, err := f.nodes()
	if errors.Is(err, node.ErrLimit) {
		f.scanner.problem(f.at(0, ""), ProblemWrongShape, "The %v.", err)
	}
	f.syntaxProblems(ProblemNotYAML, err)
	for _, document := range documents {
		f.readObject(document, 0)
	}
}

func (f *file) readObject(n *node.Node, lists int) {
	if !isObject(n) {
		return
	}
	if items := n.Get("items"); items.IsArray() && n.Get("spec") == nil {
		if lists == maxLists {
			f.scanner.problem(f.at(n.Line, ""), ProblemWrongShape, "Lists are nested more than %d times.", maxLists)
			return
		}
		for _, item := range items.Items() {
			f.readObject(item, lists+1)
		}
		return
	}
	f.scanner.cluster.add(f.scanner, &object{f, n, n.Get("apiVersion").Text(), n.Get("kind").Text(),
		n.Get("metadata", "namespace").Text(), n.Get("metadata", "name").Text()})
}

// coreKinds has what resolves the objects of Kubernetes itself.
var coreKinds = map[string]resolver{}

// producedName returns the name of the Secret that an ExternalSecret creates, and the name of all other objects.
func (o *object) producedName() string {
	if o.groupKind() == externalSecret {
		if name := o.node.Get("spec", "target", "name").Text(); name != "" {
			return name
		}
	}
	return o.name
}

const externalSecret = "external-secrets.io/ExternalSecret"

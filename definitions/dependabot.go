package definitions

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// dependabotFormats reads the private registries of dependabot.yml.
var dependabotFormats = []format{{Dependabot, isDependabot, readDependabot}}

func isDependabot(f *file) bool {
	root := f.root()
	return root.Get("updates").IsArray() && root.Get("version") != nil && root.Get("registries").IsObject()
}

func readDependabot(f *file) {
	for _, root := range f.readable() {
		for _, registry := range root.Get("registries").Pairs() {
			f.dependabotRegistry(registry)
		}
	}
}

func (f *file) dependabotRegistry(registry node.Pair) {
	n := registry.Value
	e := entry{at: f.at(registry.KeyLine, "registry "+registry.Key), address: n.Get("url").Text()}
	e.Format = Dependabot
	kind := n.Get("type").Text()
	if e.address == "" { // the default of docker-registry
		e.address = n.Get("registry").Text()
	}
	switch {
	case kind == "helm-registry" && !strings.HasPrefix(e.address, "oci://"):
		f.scanner.skip(e.at, SkipClassicHelm, "The URL does not begin with oci://, so that it is a classic repository with an index.yaml.")
		return
	case kind != "docker-registry" && kind != "helm-registry":
		f.scanner.skip(e.at, SkipNotARegistry, "The type %.40q is not an OCI registry.", kind)
		return
	case isExpression(e.address):
		f.scanner.skip(e.at, SkipTemplate, "%s", addressMessages[SkipTemplate])
		return
	case e.address == "" && kind == "docker-registry":
		e.address = dockerHub
	}
	if kind == "helm-registry" {
		e.Consumer = Helm
	} else {
		e.Consumer = Docker
	}
	f.workflowAuth(&e, n.Get("username").Text(), n.Get("password").Text())
	if role := n.Get("aws-role-name"); role != nil || n.Get("tenant-id") != nil {
		e.Reason, e.Detail = UnresolvedCloudIdentity, "Dependabot gets the password with its identity at a cloud provider."
	}
	e.add(f.scanner)
}

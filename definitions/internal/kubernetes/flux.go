package kubernetes

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	helmRepository  = "source.toolkit.fluxcd.io/HelmRepository"
	ociRepository   = "source.toolkit.fluxcd.io/OCIRepository"
	imageRepository = "image.toolkit.fluxcd.io/ImageRepository"
)

// fluxKinds has what resolves the objects of Flux.
var fluxKinds = map[string]resolver{
	helmRepository:                       resolveHelmRepository,
	"source.toolkit.fluxcd.io/HelmChart": resolveHelmChart,
	"helm.toolkit.fluxcd.io/HelmRelease": resolveHelmRelease,
	ociRepository:                        resolveOCIRepository,
	imageRepository:                      resolveImageRepository,
}

// fluxAddresses are the fields without which an object of Flux names no registry.
var fluxAddresses = map[string]string{helmRepository: "url", ociRepository: "url", imageRepository: "image"}

// isFluxPatch reports whether the object has no address: kustomize patches another object with it, or patches it.
func (o *object) isFluxPatch() bool {
	field := fluxAddresses[o.groupKind()]
	return field != "" && o.node.Get("spec", field) == nil
}

// fluxSource is an object of Flux that names a registry.
type fluxSource struct {
	c          *Cluster
	o          *object
	spec       *node.Node
	host, path string
	r          model.Registry
}

// newFluxSource reads host and path of an address, which at has without its scheme. It returns nil, and reports why, if there is nothing to
// check.
func newFluxSource(c *Cluster, o *object, at *node.Node, address string) *fluxSource {
	if scanner.IsTemplate(at.Text()) {
		c.Skip(o.at(at), model.SkipTemplate, "The address is a placeholder. Scan what is rendered from it, or the objects of the cluster.")
		return nil
	}
	f := &fluxSource{c: c, o: o, spec: o.node.Get("spec")}
	f.host, f.path, _ = strings.Cut(strings.TrimRight(address, "/"), "/")
	f.r = o.registry(at, model.Flux, f.host, f.path)
	f.r.Definition.Auth = &regcheck.Auth{}
	switch {
	case f.host == "":
		c.Problem(o.at(at), model.ProblemNoHost, "The address has no host.")
		return nil
	case strings.Contains(f.host, "@"):
		c.Problem(o.at(at), model.ProblemWrongShape,
			"The address has credentials, which Flux does not accept. Move them to a Secret, and refer to it with spec.secretRef.")
		return nil
	case f.r.Definition.Registry() == "":
		c.Problem(o.at(at), model.ProblemNoHost, "The address %q does not name a registry.", dockerauth.Show(address))
		return nil
	}
	f.suspended(o)
	if c.named[objectName{o.groupKind(), o.namespace, o.name, o.file.Name}].count > 1 {
		scanner.AddNotice(&f.r, model.NoticeConflictingEntries,
			"The file has another %s of this name: kubectl applies the last of them, and kustomize rejects both. Rename one.", o.kind)
	}
	return f
}

func (f *fluxSource) suspended(o *object) {
	if o.node.Get("spec", "suspend").Bool() {
		scanner.AddNotice(&f.r, model.NoticeSuspended, "The %s is suspended: Flux does not use it until spec.suspend is removed.", o.kind)
	}
}

package regcheck

import (
	"context"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/endpoint"
	"github.com/regwarden/regwarden/regcheck/internal/probe"
	"github.com/regwarden/regwarden/regcheck/internal/product"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// probePaths looks for a registry on other paths of the server.
func (s exchange) probePaths(ctx context.Context) *probe.Candidate {
	return probe.Paths(ctx, s.Wire, s.Base, s.plan.contentPath, s.opened.bare)
}

// notFound suggests the path on which a registry responds, if there is one.
func (s apiCheck) notFound(ctx context.Context, a *wire.Response) *failure {
	f := fail(CodeNotOCI, ReasonNotFound, "GET %s returned %s.", a.ShowURL(), a.Summary())
	found := s.probePaths(ctx)
	switch {
	case found == nil:
		return s.hintPath(f)
	case found.HelmIndex != "":
		return classicHelm(found)
	case found.AtRoot:
		return s.hintRoot(ctx, f)
	default:
		if s.plan.endpointPath != "" {
			return f.Hinting("Set {endpoint} to %s and {basePath} to %s, where a registry responds.%s", s.Base.Origin,
				s.Wire.Name(found.BasePath), s.keyReminder(found))
		}
		return f.Hinting("Set {basePath} to %s, where a registry responds.%s", s.Wire.Name(found.BasePath), s.keyReminder(found))
	}
}

// orRoot changes the hint of a failure below a path if a registry responds at the root of the server: users of Helm
// append the path of the content to the host.
func (s exchange) orRoot(ctx context.Context, f *failure) *failure {
	if s.Base.Path == "" {
		return f
	}
	if found := s.probePaths(ctx); found == nil || !found.AtRoot {
		return f
	}
	return s.hintRoot(ctx, f)
}

func (s exchange) hintRoot(ctx context.Context, f *failure) *failure {
	if s.Base.Path == s.plan.endpointPath {
		f.At("endpoint")
	}
	toRoot, args := "Clear {basePath}", []any(nil)
	if s.plan.endpointPath != "" {
		toRoot, args = "Set {endpoint} to %s and clear {basePath}", []any{s.Base.Origin}
	}
	path, _ := product.WithoutChartRepo(strings.Trim(s.Base.Path+"/"+s.plan.contentPath, "/"))
	args = append(args, wire.CleanText(path+s.plan.reference.Suffix()))
	if s.readableAtRoot(ctx, path) {
		return f.Hinting(toRoot+", and set {baseContentPath} to %s: the registry responds at the root of the server, and this content "+
			"can be read.", args...)
	}
	return f.Hinting(toRoot+": a registry responds at the root of the server. If %s is the path of the content, set {baseContentPath} to "+
		"it.", args...)
}

// readableAtRoot reports whether the path is content of a registry at the server's root that the definition's credentials
// may read.
func (s exchange) readableAtRoot(ctx context.Context, path string) bool {
	plan, root := *s.plan, s.subject
	plan.base, plan.endpointPath, plan.contentPath = endpoint.Base{Origin: s.Base.Origin}, "", path
	root.plan, root.Base, root.transcript = &plan, plan.base, &transcript{}
	x, out := root.api(ctx, s.opened.connection, nil)
	if out.Failure != nil {
		return false
	}
	given, out := authCheck{exchange: x}.auth(ctx)
	return out.Failure == nil && (&contentCheck{exchange: x, grant: given}).contentIsReadable(ctx)
}

// hintPath names the field that has the wrong path.
func (s apiCheck) hintPath(f *failure) *failure {
	switch {
	case s.Base.Path == "":
		return f
	case s.Base.Path == s.plan.endpointPath:
		return f.At("endpoint").Hinting("Correct the path %q in {endpoint}: no OCI registry responds below it or at the root of the "+
			"server.", s.Base.Path)
	default:
		return f.Hinting("Correct {basePath}: no OCI registry responds below %q or at the root of the server.", s.Base.Path)
	}
}

// keyReminder adds to a hint that the repository key of Artifactory, once in basePath, is not part of the content path.
func (s apiCheck) keyReminder(found *probe.Candidate) string {
	key := found.BasePath[strings.LastIndexByte(found.BasePath, '/')+1:]
	if rest, ok := strings.CutPrefix(s.plan.contentPath, key+"/"); ok {
		return " Also set {baseContentPath} to " + wire.CleanText(rest+s.plan.reference.Suffix()) + "."
	}
	return ""
}

func classicHelm(found *probe.Candidate) *failure {
	return fail(CodeNotOCI, ReasonClassicHelm, "There is no OCI API, but %s is the index of a classic Helm repository.", found.HelmIndex)
}

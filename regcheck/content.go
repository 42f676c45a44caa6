package regcheck

import (
	"cmp"
	"context"
	"strings"

	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/product"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// contentCheck is the content stage under way.
type contentCheck struct {
	exchange
	grant
	examination
	references []ReferenceResult // in the order of the plan
	content.Survey
}

// content checks the content path and all references.
func (c *contentCheck) content(ctx context.Context) outcome {
	return c.withReferences(ctx, c.checkContentPath(ctx))
}

// checkContentPath reports whether the content path, or what is below it, can be read.
func (c *contentCheck) checkContentPath(ctx context.Context) outcome {
	if c.plan.contentPath == "" {
		return codes.Skipped("no repository is given")
	}
	if c.plan.reference.Repository != "" {
		return c.referenced(ctx, c.plan.reference)
	}
	if c.plan.versions != "" {
		return c.inRange(ctx)
	}
	return c.surveyed(ctx)
}

// surveyed reports what the content path is by all that a registry says of it.
func (c *contentCheck) surveyed(ctx context.Context) outcome {
	asked, f := c.requestContent(ctx)
	if f != nil {
		return codes.Failed(f)
	}
	return asked.conclude(ctx, asked.Facts.Decide())
}

// requestContent sends requests until the facts allow a conclusion.
func (c *contentCheck) requestContent(ctx context.Context) (asked *contentCheck, f *failure) {
	found := *c
	found.Survey = c.Client.Survey(ctx, c.access, c.place(), func(r content.Reading) bool {
		if f = c.diagnoseReading(r); f == nil && r.Repository == c.plan.contentPath {
			f = c.contentExpired(ctx, r)
		}
		return f != nil
	})
	return &found, f
}

// place returns the content path as a place to be read.
func (s subject) place() content.Place {
	return content.Place{Path: s.plan.contentPath, Unlikely: s.unlikely, Malformed: s.nameProblem().What != ""}
}

// contentIsReadable reports whether the content path is content that may be read. It reads no manifest.
func (c *contentCheck) contentIsReadable(ctx context.Context) bool {
	asked, f := c.requestContent(ctx)
	if f != nil {
		return false
	}
	switch asked.Facts.Decide() {
	case content.PathTagged, content.PathEmpty, content.PrefixEmpty, content.ListedBelow, content.BelowReadable:
		return true
	default:
		return false
	}
}

// nameProblem is what prevents the content path from being the name of a repository.
func (s subject) nameProblem() oci.NameProblem {
	return oci.CheckName(s.plan.contentPath, s.plan.isHost)
}

// contentExpired returns the failure of credentials that have expired according to the text of the response.
func (c *contentCheck) contentExpired(ctx context.Context, r content.Reading) *failure {
	if a := r.Response; a == nil || c.plan.login.Type == NoAuth || a.Status != 400 && a.Status != 403 || !wire.IsExpired(a) {
		return nil
	}
	return c.expired(ctx, "%s.", r.Why())
}

func (c *contentCheck) conclude(ctx context.Context, step content.Step) outcome {
	shown := wire.CleanText(c.plan.contentPath)
	switch step {
	case content.PathTagged:
		return c.contentFound(ctx, c.Path)
	case content.PathEmpty:
		return c.contentEmpty(c.plan.contentPath)
	case content.ListedBelow:
		return c.prefixFound(ctx)
	case content.BelowReadable:
		c.listedBelow() // for its warning
		return codes.Passed("repositories below %s may be read", shown)
	case content.BelowGranted:
		return c.grantedBelow(ctx)
	case content.PrefixEmpty:
		c.warn(WarnEmptyContent, "%s has no repositories.", shown)
		return codes.Passed("%s exists and has no repositories: an unknown repository below it is missing, "+
			"and one below a sibling is refused", shown)
	case content.PathMissing:
		return codes.Failed(c.missing())
	case content.PathDenied:
		if !c.Path.Denied() { // Harbor's 400 for the name of a project
			return codes.Failed(c.denied(c.Below))
		}
		return codes.Failed(c.denied(c.Path))
	case content.PathInvalid:
		return codes.Failed(c.invalid())
	default:
		return c.unclear()
	}
}

// unclear returns why the registry allows no conclusion.
func (c *contentCheck) unclear() outcome {
	shown := wire.CleanText(c.plan.contentPath)
	switch {
	case c.Facts.Path == content.NotFound:
		return codes.Unknown("%s is not a repository, and the catalog does not show whether repositories are below it: %s. "+
			"If the chart's name is missing at the end of {baseContentPath}, append it to have the chart checked", shown, c.Catalog.Gap())
	case c.Facts.Path == content.NoTags:
		return codes.Unknown("the registry returns an empty list of tags for any name, and the catalog does not show whether %s exists: %s",
			shown, c.Catalog.Gap())
	case c.Path.Response != nil && c.Path.Response.Status == 200:
		return codes.Unknown("GET %s returned 200 with a body that is not a list of tags", c.Path.Response.ShowURL())
	}
	return codes.Unknown("%s: the registry allows no conclusion", c.Path.Why())
}

const cacheHint = "If this is a pull-through cache, pull the content once: it lists only pulled content."

func (c *contentCheck) missing() *failure {
	if better, ok := product.WithoutChartRepo(c.plan.contentPath); ok {
		return fail(CodeContentNotFound, "", "%s.", c.Path.Why()).Hinting("%s", product.ChartRepo(better))
	}
	f := fail(CodeContentNotFound, "", "%s; the catalog has %s and none at or below this path.", c.Path.Why(),
		wire.Counted(len(c.Catalog.Names), "repository", "repositories"))
	if near := spelling.Prefixes(c.plan.contentPath, c.Catalog.Names); len(near) > 0 {
		for i := range near {
			near[i] = c.Wire.Name(near[i]) + wire.CleanText(c.plan.reference.Suffix())
		}
		return f.Hinting("Correct {baseContentPath}; similar names: %s. %s", strings.Join(near, ", "), cacheHint)
	}
	return f.Hinting("%s %s", f.Hint, cacheHint)
}

// denied is a missing permission.
func (c *contentCheck) denied(r content.Reading) *failure {
	if c.plan.login.Type == NoAuth {
		return c.contentPrivate(r, "")
	}
	seen := "The credentials are valid, but %s; the repository may also not exist."
	if c.unverified {
		seen = "%s, with credentials that the registry did not verify; they may be wrong, or the repository may not exist."
	}
	hint := product.Denied(c.plan.contentPath, r.Denial(), c.plan.reference.Repository != "")
	return fail(CodeAccessDenied, "", seen, r.Why()).Hinting("%s", hint)
}

// contentPrivate is the failure of content that anonymous callers may not read. public is a repository below it that they may
// read, if one is known.
func (s exchange) contentPrivate(r content.Reading, public string) *failure {
	f := fail(CodeAuthRequired, "", "%s cannot be read without credentials: %s.", wire.CleanText(s.plan.contentPath), r.Why())
	f.Hint = cmp.Or(s.product().Login(), f.Hint)
	if public != "" {
		f.Hinting("Set {baseContentPath} to a public repository, such as %s. Otherwise: %s", s.Wire.Name(public), f.Hint)
	} else if s.plan.reference.Repository == "" {
		f.Hint += " If the registry makes only single repositories public (Quay, GitLab, GHCR), " +
			"set {baseContentPath} to one of these repositories."
	}
	return s.hintCertificate(f)
}

func (c *contentCheck) invalid() *failure {
	f := fail(CodeContentNotFound, ReasonNameInvalid, "%s.", c.Path.Why())
	switch problem := c.nameProblem(); {
	case problem.Better != "":
		f.Hinting("Set {baseContentPath} to %s: %s.", wire.CleanText(problem.Better), problem.What)
	case problem.What != "":
		f.Hinting("Correct {baseContentPath}: %s.", problem.What)
	}
	return f
}

func (c *contentCheck) contentEmpty(repository string) outcome {
	shown := c.Wire.Name(repository)
	c.warn(WarnEmptyContent, "%s has no tags.", shown)
	return codes.Passed("%s exists and has no tags", shown)
}

// contentFound reads the manifest of the newest tag.
func (c *contentCheck) contentFound(ctx context.Context, r content.Reading) outcome {
	count, newest, _ := r.Tags()
	shown, tag := c.Wire.Name(r.Repository), c.Wire.Name(newest)
	found := c.examine(ctx, r.Way, r.Repository, newest)
	if found.Worst() != nil {
		return c.warnDamaged(shown+":"+tag, found)
	}
	return c.examinedAs("%s: %s, %s is %s", found, shown, wire.Counted(count, "tag", "tags"), tag, found.Words())
}

// maxBelow is how many repositories below a prefix are tried.
const maxBelow = 5

// prefixFound reads one of the repositories below the path. If the first one is denied or empty, it reads more: permissions may
// differ, and an empty repository is not conclusive.
func (c *contentCheck) prefixFound(ctx context.Context) outcome {
	below := c.listedBelow()
	out := c.best(ctx, c.readFirst(ctx, below))
	if out.Failure == nil {
		out.Detail = message.Of("%s below %s; %s", wire.Counted(len(below), "repository", "repositories"),
			wire.CleanText(c.plan.contentPath), out.Detail)
	}
	return out
}

// readFirst reads the first repository, and if that has no tags, some more.
func (c *contentCheck) readFirst(ctx context.Context, below []string) []content.Reading {
	readings := make([]content.Reading, min(len(below), maxBelow))
	readings[0] = c.ReadTags(ctx, c.access, below[0])
	if readings[0].State() == content.HasTags {
		return readings[:1]
	}
	var work []func(context.Context)
	for i := range readings[1:] {
		work = append(work, func(ctx context.Context) { readings[i+1] = c.ReadTags(ctx, c.access, below[i+1]) })
	}
	wire.Concurrently(ctx, work...)
	return readings
}

// grantedBelow is for a path that is refused, as are unknown repositories below it, although the catalog lists some: permissions may
// be granted per repository.
func (c *contentCheck) grantedBelow(ctx context.Context) outcome {
	for _, r := range c.readFirst(ctx, c.Catalog.Below(c.plan.contentPath)) {
		if r.State().Readable() {
			return codes.Unknown("%s can be read, but %s is refused: %s. The registry grants permissions per repository, "+
				"so set {baseContentPath} to one of them", c.Wire.Name(r.Repository), wire.CleanText(c.plan.contentPath), c.Path.Why())
		}
	}
	return codes.Failed(c.denied(c.Path))
}

// best concludes from the reading that shows most.
func (c *contentCheck) best(ctx context.Context, readings []content.Reading) outcome {
	found := map[content.State]content.Reading{}
	for _, r := range readings {
		if f := c.diagnoseReading(r); f != nil {
			return codes.Failed(f)
		}
		if kind := r.State(); found[kind].Repository == "" {
			found[kind] = r
		}
	}
	if r, ok := found[content.HasTags]; ok {
		return c.contentFound(ctx, r)
	}
	// distribution returns 404 for what it lists when all manifests were deleted
	for _, kind := range []content.State{content.NoTags, content.NotFound} {
		if r, ok := found[kind]; ok {
			return c.contentEmpty(r.Repository)
		}
	}
	if r, ok := found[content.NoAccess]; ok {
		return codes.Failed(c.denied(r))
	}
	return codes.Unknown("%s", readings[0].Why())
}

// listedBelow returns the repositories below the path of packs, or all below the content path with a warning if there are none.
func (c *contentCheck) listedBelow() []string {
	below := c.Catalog.Below(c.plan.contentPath)
	if c.plan.provider != Pack || len(below) == 0 {
		return below
	}
	prefix := c.plan.contentPath + "/" + oci.PackPrefix
	packs := c.Catalog.Below(prefix)
	if len(packs) == 0 {
		c.warn(WarnContentKindMismatch, "Packs must be below %s, which is empty.", wire.CleanText(prefix))
		return below
	}
	return packs
}

package regcheck

import (
	"cmp"
	"context"
	"strings"

	"github.com/regwarden/regwarden/internal/spelling"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/product"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// contentCheck is the content stage under way.
type contentCheck struct {
	*session
	path, below content.Reading
	catalog     content.Catalog
	facts       content.Facts
}

// content checks the content path and all references.
func (s *session) content(ctx context.Context) outcome {
	return s.withReferences(ctx, s.checkContentPath(ctx))
}

// checkContentPath reports whether the content path, or what is below it, can be read.
func (s *session) checkContentPath(ctx context.Context) outcome {
	if s.plan.contentPath == "" {
		return skipped("no baseContentPath is given")
	}
	if s.plan.reference.Repository != "" {
		return s.referenced(ctx, s.plan.reference)
	}
	c, f := s.requestContent(ctx)
	if f != nil {
		return failed(f)
	}
	return c.conclude(ctx, c.facts.Decide())
}

// requestContent sends requests until the facts allow a conclusion.
func (s *session) requestContent(ctx context.Context) (*contentCheck, *failure) {
	c := &contentCheck{session: s, path: s.Tags(ctx, s.access, s.plan.contentPath)}
	if f := s.diagnoseReading(c.path); f != nil {
		return nil, f
	}
	if f := s.contentExpired(ctx, c.path); f != nil {
		return nil, f
	}
	c.facts = s.contentFacts(s.access, c.path)
	for c.facts.Decide().IsRequest() {
		if f := c.request(ctx, c.facts.Decide()); f != nil {
			return nil, f
		}
	}
	return c, nil
}

// contentIsReadable reports whether the content path is content that may be read. It reads no manifest.
func (s *session) contentIsReadable(ctx context.Context) bool {
	c, f := s.requestContent(ctx)
	if f != nil {
		return false
	}
	switch c.facts.Decide() {
	case content.PathTagged, content.PathEmpty, content.PrefixEmpty, content.ListedBelow, content.BelowReadable:
		return true
	}
	return false
}

// nameProblem is what prevents the content path from being the name of a repository.
func (s *session) nameProblem() oci.NameProblem {
	return oci.CheckName(s.plan.contentPath, s.plan.isHost)
}

func (s *session) contentFacts(acc *content.Access, path content.Reading) content.Facts {
	return content.Facts{Path: path.State(), Malformed: s.nameProblem().What != "",
		Remote: acc.Service != nil && acc.Service.Origin != s.Base.Origin}
}

// contentExpired returns the failure of credentials that have expired according to the text of the response.
func (s *session) contentExpired(ctx context.Context, r content.Reading) *failure {
	if a := r.Response; a == nil || s.plan.auth == NoAuth || a.Status != 400 && a.Status != 403 || !wire.IsExpired(a) {
		return nil
	}
	return s.expired(ctx, "%s.", r.Why())
}

// request requests what the decision needs, concurrently.
func (c *contentCheck) request(ctx context.Context, step content.Step) *failure {
	var work []func(*session)
	if step != content.RequestCatalog {
		work = append(work, func(s *session) { c.below = s.tagsBelow(ctx, s.access); c.facts.Below = c.below.State() })
	}
	switch step {
	case content.RequestCatalog, content.RequestBoth:
		work = append(work, func(s *session) {
			c.catalog = s.Catalog(ctx, s.access)
			c.facts.Listed, c.facts.Whole = c.catalog.Listing(c.plan.contentPath), c.catalog.Whole
		})
	case content.RequestSibling:
		work = append(work, func(s *session) { c.facts.Sibling = s.tagsOfSibling(ctx).State() })
	}
	c.concurrently(work...)
	if step == content.RequestCatalog {
		return nil
	}
	return c.diagnoseReading(c.below)
}

// tagsBelow requests a random repository below the path. A robot with permissions on a whole Harbor project gets 401 or 400
// for the project's own name, but 404 for an unknown repository in it.
func (s *session) tagsBelow(ctx context.Context, acc *content.Access) content.Reading {
	return s.Tags(ctx, acc, s.plan.contentPath+"/"+s.unlikely)
}

// tagsOfSibling requests a random repository below a random sibling of the path: a registry that refuses it knows the path.
func (s *session) tagsOfSibling(ctx context.Context) content.Reading {
	parent := s.plan.contentPath[:strings.LastIndexByte(s.plan.contentPath, '/')+1]
	return s.Tags(ctx, s.access, parent+s.unlikely+"/"+s.unlikely)
}

// concurrently runs requests concurrently that do not depend on each other. The longest of them counts.
func (s *session) concurrently(work ...func(*session)) {
	branches := make([]session, len(work))
	var all wire.Background
	for i, do := range work {
		branches[i] = *s
		all.Do(func() { do(&branches[i]) })
	}
	all.Wait()
	for i := range branches {
		s.Rounds = max(s.Rounds, branches[i].Rounds)
	}
}

func (c *contentCheck) conclude(ctx context.Context, step content.Step) outcome {
	shown := wire.CleanText(c.plan.contentPath)
	switch step {
	case content.PathTagged:
		return c.contentFound(ctx, c.path)
	case content.PathEmpty:
		return c.contentEmpty(c.plan.contentPath)
	case content.ListedBelow:
		return c.prefixFound(ctx)
	case content.BelowReadable:
		c.listedBelow() // for its warning
		return passed("repositories below %s may be read", shown)
	case content.BelowGranted:
		return c.grantedBelow(ctx)
	case content.PrefixEmpty:
		c.warn(WarnEmptyContent, "%s has no repositories.", shown)
		return passed("%s exists and has no repositories: an unknown repository below it is missing, "+
			"and one below a sibling is refused", shown)
	case content.PathMissing:
		return failed(c.missing())
	case content.PathDenied:
		if !c.path.Denied() { // Harbor's 400 for the name of a project
			return failed(c.denied(c.below))
		}
		return failed(c.denied(c.path))
	case content.PathInvalid:
		return failed(c.invalid())
	}
	return c.unclear()
}

// unclear returns why the registry allows no conclusion.
func (c *contentCheck) unclear() outcome {
	shown := wire.CleanText(c.plan.contentPath)
	switch {
	case c.facts.Path == content.NotFound:
		return unknown("%s is not a repository, and the catalog does not show whether repositories are below it: %s. "+
			"If the chart's name is missing at the end of {baseContentPath}, append it to have the chart checked", shown, c.catalog.Gap())
	case c.facts.Path == content.NoTags:
		return unknown("the registry returns an empty list of tags for any name, and the catalog does not show whether %s exists: %s", shown, c.catalog.Gap())
	case c.path.Response != nil && c.path.Response.Status == 200:
		return unknown("GET %s returned 200 with a body that is not a list of tags", c.path.Response.ShowURL())
	}
	return unknown("%s: the registry allows no conclusion", c.path.Why())
}

const cacheHint = "If this is a pull-through cache, pull the content once: it lists only pulled content."

func (c *contentCheck) missing() *failure {
	if better, ok := product.WithoutChartRepo(c.plan.contentPath); ok {
		return fail(CodeContentNotFound, "", "%s.", c.path.Why()).hinting("%s", product.ChartRepo(better))
	}
	f := fail(CodeContentNotFound, "", "%s; the catalog has %s and none at or below this path.", c.path.Why(), wire.Counted(len(c.catalog.Names), "repository", "repositories"))
	if near := spelling.Prefixes(c.plan.contentPath, c.catalog.Names); len(near) > 0 {
		for i := range near {
			near[i] = c.Wire.Name(near[i]) + wire.CleanText(c.plan.reference.Suffix())
		}
		return f.hinting("Correct {baseContentPath}; similar names: %s. %s", strings.Join(near, ", "), cacheHint)
	}
	return f.hinting("%s %s", f.hint, cacheHint)
}

// denied is a missing permission.
func (c *contentCheck) denied(r content.Reading) *failure {
	if c.plan.auth == NoAuth {
		return c.contentPrivate(r, "")
	}
	seen := "The credentials are valid, but %s; the repository may also not exist."
	if c.unverified {
		seen = "%s, with credentials that the registry did not verify; they may be wrong, or the repository may not exist."
	}
	hint := product.Denied(c.plan.contentPath, r.Denial(), c.plan.reference.Repository != "")
	return fail(CodeAccessDenied, "", seen, r.Why()).hinting("%s", hint)
}

// contentPrivate is the failure of content that anonymous callers may not read. public is a repository below it that they may
// read, if one is known.
func (s *session) contentPrivate(r content.Reading, public string) *failure {
	f := fail(CodeAuthRequired, "", "%s cannot be read without credentials: %s.", wire.CleanText(s.plan.contentPath), r.Why())
	f.hint = cmp.Or(s.product().Login(), f.hint)
	if public != "" {
		f.hinting("Set {baseContentPath} to a public repository, such as %s. Otherwise: %s", s.Wire.Name(public), f.hint)
	} else if s.plan.reference.Repository == "" {
		f.hint += " If the registry makes only single repositories public (Quay, GitLab, GHCR), " +
			"set {baseContentPath} to one of these repositories."
	}
	return s.hintCertificate(f)
}

func (c *contentCheck) invalid() *failure {
	f := fail(CodeContentNotFound, ReasonNameInvalid, "%s.", c.path.Why())
	switch problem := c.nameProblem(); {
	case problem.Better != "":
		f.hinting("Set {baseContentPath} to %s: %s.", wire.CleanText(problem.Better), problem.What)
	case problem.What != "":
		f.hinting("Correct {baseContentPath}: %s.", problem.What)
	}
	return f
}

func (s *session) contentEmpty(repository string) outcome {
	shown := s.Wire.Name(repository)
	s.warn(WarnEmptyContent, "%s has no tags.", shown)
	return passed("%s exists and has no tags", shown)
}

// contentFound reads the manifest of the newest tag.
func (s *session) contentFound(ctx context.Context, r content.Reading) outcome {
	count, newest, _ := r.Tags()
	shown, tag := s.Wire.Name(r.Repository), s.Wire.Name(newest)
	found := s.examine(ctx, r.Way, r.Repository, newest)
	if found.Worst() != nil {
		return s.warnDamaged(shown+":"+tag, found)
	}
	return s.examinedAs("%s: %s, %s is %s", found, shown, wire.Counted(count, "tag", "tags"), tag, found.Words())
}

// maxBelow is how many repositories below a prefix are tried.
const maxBelow = 5

// prefixFound reads one of the repositories below the path. If the first one is denied or empty, it reads more: permissions may
// differ, and an empty repository is not conclusive.
func (c *contentCheck) prefixFound(ctx context.Context) outcome {
	below := c.listedBelow()
	out := c.best(ctx, c.readFirst(ctx, below))
	if out.failure == nil {
		out.detail = message.Of("%s below %s; %s", wire.Counted(len(below), "repository", "repositories"),
			wire.CleanText(c.plan.contentPath), out.detail)
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
	var work []func(*session)
	for i := range readings[1:] {
		work = append(work, func(s *session) { readings[i+1] = s.ReadTags(ctx, s.access, below[i+1]) })
	}
	c.concurrently(work...)
	return readings
}

// grantedBelow is for a path that is refused, as are unknown repositories below it, although the catalog lists some: permissions may
// be granted per repository.
func (c *contentCheck) grantedBelow(ctx context.Context) outcome {
	for _, r := range c.readFirst(ctx, c.catalog.Below(c.plan.contentPath)) {
		if r.State().Readable() {
			return unknown("%s can be read, but %s is refused: %s. The registry grants permissions per repository, "+
				"so set {baseContentPath} to one of them", c.Wire.Name(r.Repository), wire.CleanText(c.plan.contentPath), c.path.Why())
		}
	}
	return failed(c.denied(c.path))
}

// best concludes from the reading that shows most.
func (c *contentCheck) best(ctx context.Context, readings []content.Reading) outcome {
	found := map[content.State]content.Reading{}
	for _, r := range readings {
		if f := c.diagnoseReading(r); f != nil {
			return failed(f)
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
		return failed(c.denied(r))
	}
	return unknown("%s", readings[0].Why())
}

// listedBelow returns the repositories below the path of packs, or all below the content path with a warning if there are none.
func (c *contentCheck) listedBelow() []string {
	below := c.catalog.Below(c.plan.contentPath)
	if c.plan.provider != Pack || len(below) == 0 {
		return below
	}
	prefix := c.plan.contentPath + "/" + oci.PackPrefix
	packs := c.catalog.Below(prefix)
	if len(packs) == 0 {
		c.warn(WarnContentKindMismatch, "Packs must be below %s, which is empty.", wire.CleanText(prefix))
		return below
	}
	return packs
}

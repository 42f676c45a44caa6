package regcheck

import (
	"context"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/spelling"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// contentCheck is the content stage under way.
type contentCheck struct {
	*session
	path, below reading
	catalog     catalog
	facts       contentFacts
}

// content reports whether the content path, or what is below it, can be read.
func (s *session) content(ctx context.Context) outcome {
	if s.plan.contentPath == "" {
		return skipped("no baseContentPath is given")
	}
	c, f := s.askContent(ctx)
	if f != nil {
		return failed(f)
	}
	return c.conclude(ctx, c.facts.decide())
}

// askContent asks until the facts allow a conclusion.
func (s *session) askContent(ctx context.Context) (*contentCheck, *failure) {
	c := &contentCheck{session: s, path: s.tags(ctx, s.access, s.plan.contentPath)}
	if f := s.unread(c.path); f != nil {
		return nil, f
	}
	if f := s.contentExpired(c.path); f != nil {
		return nil, f
	}
	c.facts = s.contentFacts(s.access, c.path)
	for c.facts.decide() <= askBoth {
		if f := c.ask(ctx, c.facts.decide()); f != nil {
			return nil, f
		}
	}
	return c, nil
}

// contentIsReadable reports whether the content path is content that may be read. It reads no manifest.
func (s *session) contentIsReadable(ctx context.Context) bool {
	c, f := s.askContent(ctx)
	if f != nil {
		return false
	}
	switch c.facts.decide() {
	case pathTagged, pathEmpty, listedBelow, belowReadable:
		return true
	}
	return false
}

func (s *session) contentFacts(acc *access, path reading) contentFacts {
	return contentFacts{path: path.kind(), malformed: s.nameFault().what != "",
		remote: acc.service != nil && acc.service.Origin != s.base.Origin}
}

// contentExpired is a refusal that says so in words.
func (s *session) contentExpired(r reading) *failure {
	if a := r.answer; a == nil || a.Status != 400 && (a.Status != 403 || s.plan.auth == NoAuth) || !wire.SaysExpired(a) {
		return nil
	}
	return fail(CodeAuthFailed, ReasonExpired, "%s.", r.why()).at(s.plan.secretField())
}

// ask asks for what the decision needs, all at once.
func (c *contentCheck) ask(ctx context.Context, step contentStep) *failure {
	var work []func(*session)
	if step != askCatalog {
		work = append(work, func(s *session) { c.below = s.tagsBelow(ctx, s.access) })
	}
	if step != askBelow {
		work = append(work, func(s *session) { c.catalog = s.catalog(ctx) })
	}
	c.atOnce(work...)
	if step != askBelow {
		c.facts.listed, c.facts.whole = c.catalog.listing(c.plan.contentPath), c.catalog.whole
	}
	if step == askCatalog {
		return nil
	}
	c.facts.below = c.below.kind()
	return c.unread(c.below)
}

// tagsBelow asks for a repository below the path that nobody has. A robot with permissions on a whole Harbor
// project gets 401 or 400 for the project's own name, but 404 for an unknown repository in it.
func (s *session) tagsBelow(ctx context.Context, acc *access) reading {
	return s.tags(ctx, acc, s.plan.contentPath+"/"+s.unlikely)
}

// atOnce runs requests that do not depend on each other. The longest of them counts.
func (s *session) atOnce(work ...func(*session)) {
	branches := make([]session, len(work))
	var all wire.Background
	for i, do := range work {
		branches[i] = *s
		all.Do(func() { do(&branches[i]) })
	}
	all.Wait()
	for i := range branches {
		s.rounds = max(s.rounds, branches[i].rounds)
	}
}

func (c *contentCheck) conclude(ctx context.Context, step contentStep) outcome {
	shown := wire.CleanText(c.plan.contentPath)
	switch step {
	case pathTagged:
		return c.contentFound(ctx, c.path)
	case pathEmpty:
		return c.contentEmpty(c.plan.contentPath)
	case listedBelow:
		return c.prefixFound(ctx)
	case belowReadable:
		c.packsFirst(c.catalog.below(c.plan.contentPath)) // for its warning
		return passed("repositories below %s may be read", shown)
	case pathMissing:
		return failed(c.missing())
	case pathDenied:
		if !c.path.denied() { // Harbor's 400 for the name of a project
			return failed(c.denied(c.below))
		}
		return failed(c.denied(c.path))
	case pathInvalid:
		return failed(c.invalid())
	}
	return c.unclear()
}

// unclear says why the registry allows no conclusion.
func (c *contentCheck) unclear() outcome {
	shown := wire.CleanText(c.plan.contentPath)
	switch {
	case c.facts.path == notFound:
		return unknown("%s is not a repository, and the catalog does not show whether repositories are below it: %s", shown, c.catalog.gap())
	case c.facts.path == noTags:
		return unknown("the registry returns an empty list of tags for any name, and the catalog does not show whether %s exists: %s", shown, c.catalog.gap())
	case c.path.answer != nil && c.path.answer.Status == 200:
		return unknown("GET %s was answered 200 with a body that is not a list of tags", wire.ShowURL(c.path.answer.URL))
	}
	return unknown("%s: the registry allows no conclusion", c.path.why())
}

const cacheHint = "A pull-through cache lists only what was pulled: if this is one, pull something from there first."

func (c *contentCheck) missing() *failure {
	f := fail(CodeContentNotFound, "", "%s; the catalog has %s and none at or below this path.", c.path.why(), wire.Counted(len(c.catalog.names), "repository", "repositories"))
	if near := spelling.Prefixes(c.plan.contentPath, c.catalog.names); len(near) > 0 {
		for i := range near {
			near[i] = wire.CleanText(near[i])
		}
		return f.hinting("Correct baseContentPath; what exists and comes near: %s. %s", strings.Join(near, ", "), cacheHint)
	}
	return f.hinting("%s %s", f.hint, cacheHint)
}

// denied is a missing permission.
func (c *contentCheck) denied(r reading) *failure {
	if c.plan.auth == NoAuth {
		return fail(CodeAuthRequired, "", "%s.", r.why())
	}
	said := "The credentials are valid, but %s; the repository may also not exist."
	if c.unproven {
		said = "%s, with credentials that the registry did not check before; they may be wrong, or the repository may not exist."
	}
	return fail(CodeAccessDenied, "", said, r.why()).
		hinting("Grant the user permission to pull from %s (Harbor: pull; ACR: metadata_read; GitLab: read_registry; Google: artifactregistry.repositories.downloadArtifacts). "+
			"If the registry grants permissions per repository only, set baseContentPath to one of these repositories.", wire.CleanText(c.plan.contentPath))
}

func (c *contentCheck) invalid() *failure {
	f := fail(CodeContentNotFound, ReasonNameInvalid, "%s.", c.path.why())
	switch fault := c.nameFault(); {
	case fault.better != "":
		f.hinting("Set baseContentPath to %s: %s.", wire.CleanText(fault.better), fault.what)
	case fault.what != "":
		f.hinting("Correct baseContentPath: %s.", fault.what)
	}
	return f
}

func (s *session) contentEmpty(repository string) outcome {
	shown := wire.CleanText(repository)
	s.warn(WarnEmptyContent, "%s has no tags.", shown)
	return passed("%s exists and has no tags", shown)
}

// contentFound reads the manifest of one of the tags.
func (s *session) contentFound(ctx context.Context, r reading) outcome {
	tags, _ := r.tagList()
	shown, tag := wire.CleanText(r.repository), wire.CleanText(tags.last)
	kind, problem := s.checkKind(ctx, r, tags.last)
	if problem != "" {
		s.warn(WarnContentNotReadable, "%s:%s: %s.", shown, tag, problem)
		return unknown("%s: %s, but %s cannot be read: %s", shown, wire.Counted(tags.count, "tag", "tags"), tag, problem)
	}
	return passed("%s: %s, %s is %s", shown, wire.Counted(tags.count, "tag", "tags"), tag, kind)
}

// maxBelow is how many repositories below a prefix are tried.
const maxBelow = 5

// prefixFound reads one of the repositories below the path. If the first one is denied or empty, some more are
// read: permissions may differ, and an emptied repository says nothing about the others.
func (c *contentCheck) prefixFound(ctx context.Context) outcome {
	below := c.packsFirst(c.catalog.below(c.plan.contentPath))
	readings := make([]reading, min(len(below), maxBelow))
	readings[0] = c.readTags(ctx, c.access, below[0])
	if readings[0].kind() == hasTags {
		readings = readings[:1]
	}
	var work []func(*session)
	for i := range readings[1:] {
		work = append(work, func(s *session) { readings[i+1] = s.readTags(ctx, s.access, below[i+1]) })
	}
	c.atOnce(work...)
	out := c.best(ctx, readings)
	if out.failure == nil {
		out.detail = wire.Counted(len(below), "repository", "repositories") + " below " + wire.CleanText(c.plan.contentPath) + "; " + out.detail
	}
	return out
}

// best concludes from the reading that shows most.
func (c *contentCheck) best(ctx context.Context, readings []reading) outcome {
	found := map[answerKind]reading{}
	for _, r := range readings {
		if f := c.unread(r); f != nil {
			return failed(f)
		}
		if kind := r.kind(); found[kind].repository == "" {
			found[kind] = r
		}
	}
	if r, ok := found[hasTags]; ok {
		return c.contentFound(ctx, r)
	}
	for _, kind := range []answerKind{noTags, notFound} { // distribution returns 404 for what it lists when all manifests were deleted
		if r, ok := found[kind]; ok {
			return c.contentEmpty(r.repository)
		}
	}
	if r, ok := found[noAccess]; ok {
		return failed(c.denied(r))
	}
	return unknown("%s", readings[0].why())
}

// packsFirst puts the repositories in the place of packs first, and warns when there are none.
func (s *session) packsFirst(below []string) []string {
	if s.plan.provider != Pack || len(below) == 0 {
		return below
	}
	var packs []string
	place := s.plan.contentPath + "/" + oci.PackPlace
	for _, repository := range below {
		if strings.HasPrefix(repository, place+"/") {
			packs = append(packs, repository)
		}
	}
	if len(packs) == 0 {
		s.warn(WarnContentKindMismatch, "Packs belong below %s, and nothing is there.", wire.CleanText(place))
		return below
	}
	return packs
}

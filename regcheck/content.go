package regcheck

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

const tagsQuery = "n=50"

// reading is an attempt to list the tags of a repository.
type reading struct {
	repository string
	answer     *answer
	err        error
	service    *tokenService // asked for a token
	granted    granting      // its answer when it gave none
}

// denied tells that a right is missing: the registry or its token service said no.
func (r reading) denied() bool {
	return r.granted.refused != nil || r.granted.bad != nil || r.answer != nil && denied(r.answer)
}

func (r reading) why() string {
	switch {
	case r.answer != nil:
		return "GET " + showURL(r.answer.url) + " was answered " + r.answer.said()
	case r.granted.refused != nil:
		return "the token service " + showURL(r.service.realm) + " answered " + r.granted.refused.said()
	case r.granted.bad != nil:
		return "the token service " + showURL(r.service.realm) + " answered " + r.granted.bad.said()
	}
	return "there was no answer"
}

// tags lists the tags of a repository. Where the registry names a token service only now, or wants
// another scope than the usual one, it is asked once more.
func (s *session) tags(ctx context.Context, acc *access, repository string) reading {
	r := s.tagsOnce(ctx, acc, repository, pullScope(repository))
	if r.answer == nil || r.answer.status != 401 {
		return r
	}
	if next, ok := s.otherWay(acc, r.answer, repository); ok {
		return s.tagsOnce(ctx, next.access, repository, next.scope)
	}
	return r
}

// otherWay reads from a 401 of content how else to ask. Content may be redirected to a stranger, whose challenge
// must not choose where credentials go.
func (s *session) otherWay(acc *access, a *answer, repository string) (next way, ok bool) {
	o := readOffers(a.header.Values("WWW-Authenticate"))
	if a.from != s.base.origin || o.bearer == nil {
		return way{}, false
	}
	t, f := s.readService(o.bearer, a)
	if f != nil {
		return way{}, false
	}
	scope := strings.Join(t.scopes, " ")
	if scope == "" {
		scope = pullScope(repository)
	}
	if acc.service != nil && scope == pullScope(repository) {
		return way{}, false
	}
	if acc.service == nil {
		acc = &access{service: t, who: s.whoFor(acc)}
	}
	return way{acc, scope}, true
}

// way is how content is asked for: whose rights, and for which scope.
type way struct {
	*access
	scope string
}

// whoFor is the login of a token service that only the content named.
func (s *session) whoFor(acc *access) login {
	switch {
	case acc.header == "" || s.plan.auth == NoAuth:
		return login{}
	case s.plan.auth == Basic:
		return login{user: s.plan.username, password: s.plan.password}
	case s.plan.username != "":
		return login{user: s.plan.username, password: s.plan.token}
	default:
		return login{refresh: s.plan.token}
	}
}

func (s *session) tagsOnce(ctx context.Context, acc *access, repository, scope string) reading {
	r := reading{repository: repository, service: acc.service}
	header, g := s.authorization(ctx, acc, scope)
	if acc.service != nil && header == "" {
		r.granted = g
		return r
	}
	r.answer, r.err = s.read(ctx, repository+"/tags/list", tagsQuery, header)
	return r
}

// unread is what keeps a reading from being judged at all.
func (s *session) unread(r reading) *failure {
	switch {
	case r.err != nil:
		return s.unreadable(r)
	case r.granted.failure != nil:
		return r.granted.failure
	case r.answer != nil && (r.answer.status == 429 || r.answer.status >= 500):
		return unavailable("GET "+showURL(r.answer.url), r.answer)
	case r.answer != nil && r.answer.status == 200 && r.answer.cut != nil:
		return fail(CodeUnavailable, "", "GET %s was answered 200, and the answer ended early or came too slowly.", showURL(r.answer.url))
	}
	return nil
}

// unreadable is a request for content that got no answer. A redirect that leads nowhere is the
// registry's own trouble here: it was found, and let us in.
func (s *session) unreadable(r reading) *failure {
	if x, ok := errors.AsType[*redirectError](r.err); ok {
		f := s.diagnoseRedirect(x)
		if f.entry.Code == CodeRedirected {
			return fail(CodeUnavailable, "", "%s", f.seen).retry(f.retryable)
		}
		return f
	}
	return s.diagnoseRequest(r.err)
}

// content tells whether the content path, or what is below it, can be read.
func (s *session) content(ctx context.Context) outcome {
	path := s.plan.contentPath
	if path == "" {
		return skipped("no baseContentPath is given")
	}
	r := s.tags(ctx, s.access, path)
	if f := s.unread(r); f != nil {
		return failed(f)
	}
	a := r.answer
	switch {
	case r.denied():
		return s.contentDenied(ctx, r)
	case hasCode(a.body, "NAME_INVALID"):
		return failed(fail(CodeContentNotFound, ReasonNameInvalid, "%s.", r.why()))
	case a.status == 400 && saysExpired(a):
		return failed(fail(CodeAuthFailed, ReasonExpired, "%s.", r.why()).at(s.plan.secretField()))
	case a.status == 404:
		return s.contentMissing(ctx, r)
	case a.status == 200:
		return s.contentFound(ctx, r)
	}
	return unknown("%s: the registry does not let us know", r.why())
}

// belowIsReadable asks for a repository that nobody has below the path. A robot with rights on a
// whole Harbor project gets 401 for the project's own name, but 404 for what is unknown in it.
func (s *session) belowIsReadable(ctx context.Context, acc *access) bool {
	r := s.tags(ctx, acc, s.plan.contentPath+"/regwarden-"+random())
	return r.err == nil && r.answer != nil && (r.answer.status == 404 || r.answer.status == 200)
}

func (s *session) contentDenied(ctx context.Context, r reading) outcome {
	a := r.answer
	if a != nil && a.status == 403 && saysExpired(a) && s.plan.auth != NoAuth {
		return failed(fail(CodeAuthFailed, ReasonExpired, "%s.", r.why()).at(s.plan.secretField()))
	}
	if s.belowIsReadable(ctx, s.access) {
		return passed("repositories below %s may be read", cleanText(s.plan.contentPath))
	}
	if s.plan.auth == NoAuth {
		return failed(fail(CodeAuthRequired, "", "%s.", r.why()))
	}
	said := "The credentials are good, but %s; the repository may also not exist."
	if s.unproven {
		said = "%s, with credentials that the registry did not check before; they may be wrong, or the repository may not exist."
	}
	return failed(fail(CodeAccessDenied, "", said, r.why()).
		hinting("Give the user the right to pull from %s (Harbor: pull; ACR: metadata_read; GitLab: read_registry; Google: artifactregistry.repositories.downloadArtifacts). "+
			"Where the registry grants rights per repository only, write one of these repositories into baseContentPath.", cleanText(s.plan.contentPath)))
}

// tagList is what a list of tags came to.
type tagList struct {
	count int
	last  string
}

// tagList reads the list of tags; ok is false when the answer is none. Some other service's JSON has
// neither tags nor the repository's name.
func (r reading) tagList() (tags tagList, ok bool) {
	if r.answer.over || r.answer.packed {
		return tagList{}, false
	}
	there, err := eachName(r.answer.body, "tags", func(tag string) bool {
		tags.count++
		tags.last = tag
		return true
	})
	if err != nil {
		return tagList{}, false
	}
	return tags, there || r.namesItself()
}

// namesItself knows a list of tags without tags by the name of its repository.
func (r reading) namesItself() bool {
	var list struct {
		Name string `json:"name"`
	}
	return json.Unmarshal(r.answer.body, &list) == nil && list.Name == r.repository
}

// contentFound reads the tags and looks at one of them.
func (s *session) contentFound(ctx context.Context, r reading) outcome {
	tags, ok := r.tagList()
	if !ok {
		return unknown("GET %s was answered 200 with something that is no list of tags", showURL(r.answer.url))
	}
	shown := cleanText(r.repository)
	if tags.count == 0 {
		s.warn(WarnEmptyContent, "%s has no tags.", shown)
		return passed("%s exists and has no tags", shown)
	}
	kind := s.checkKind(ctx, r.repository, tags.last)
	return passed("%s: %s, %s is %s", shown, counted(tags.count, "tag", "tags"), cleanText(tags.last), kind)
}

// contentMissing is a path that is no repository: it may be the prefix of some.
func (s *session) contentMissing(ctx context.Context, r reading) outcome {
	path := s.plan.contentPath
	shown := cleanText(path)
	c := s.catalog(ctx)
	below := c.below(path)
	switch {
	case len(below) > 0:
		return s.prefixFound(ctx, below)
	case c.why != "":
		return unknown("%s is no repository; whether some are below it is not known: %s", shown, c.why)
	}
	f := fail(CodeContentNotFound, "", "%s; the catalog has %s and none below this path.", r.why(), counted(len(c.names), "repository", "repositories"))
	if near := c.nearest(path); len(near) > 0 {
		f.hinting("Correct baseContentPath; what exists and comes near: %s.", strings.Join(near, ", "))
	} else if len(c.names) == 0 {
		f.hinting("The registry is empty for this user: push something below %s first, or leave baseContentPath empty.", shown)
	}
	return failed(f)
}

// maxBelow is how many repositories below a prefix are tried.
const maxBelow = 5

// prefixFound reads one of the repositories below the path. Some more are tried, since rights may
// differ, and a repository that was emptied says nothing about the others.
func (s *session) prefixFound(ctx context.Context, below []string) outcome {
	below = s.packsFirst(below)
	var last, readable reading
	for _, repository := range below[:min(len(below), maxBelow)] {
		last = s.tags(ctx, s.access, repository)
		if f := s.unread(last); f != nil {
			return failed(f)
		}
		if last.answer == nil || last.answer.status != 200 {
			continue
		}
		readable = last
		if tags, ok := last.tagList(); !ok || tags.count > 0 {
			break
		}
	}
	if readable.answer != nil {
		out := s.contentFound(ctx, readable)
		out.detail = counted(len(below), "repository", "repositories") + " below " + cleanText(s.plan.contentPath) + "; " + out.detail
		return out
	}
	if last.denied() && s.plan.auth != NoAuth {
		return failed(fail(CodeAccessDenied, "", "%s below %s, but %s.", counted(len(below), "repository is", "repositories are"),
			cleanText(s.plan.contentPath), last.why()))
	}
	if last.denied() {
		return failed(fail(CodeAuthRequired, "", "%s.", last.why()))
	}
	return unknown("%s", last.why())
}

// packsFirst puts what is in the place of packs first, and warns when nothing is.
func (s *session) packsFirst(below []string) []string {
	if s.plan.provider != Pack {
		return below
	}
	var packs []string
	place := s.plan.contentPath + "/spectro-packs/archive"
	for _, repository := range below {
		if strings.HasPrefix(repository, place+"/") {
			packs = append(packs, repository)
		}
	}
	if len(packs) == 0 {
		s.warn(WarnContentKindMismatch, "Packs belong below %s, and there is nothing.", cleanText(place))
		return below
	}
	return packs
}

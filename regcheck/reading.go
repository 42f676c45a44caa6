package regcheck

import (
	"context"
	"errors"
	"strings"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

const tagsQuery = "n=50"

// reading is an attempt to list the tags of a repository.
type reading struct {
	repository string
	answer     *wire.Response
	err        error
	at         way
	granted    granting // its answer when it gave none
}

// denied reports whether a permission is missing: the registry or its token service refuses.
func (r reading) denied() bool {
	return r.granted.refused != nil || r.granted.bad != nil || r.answer != nil && denied(r.answer)
}

// answerKind is what a registry says of a repository by its list of tags.
type answerKind uint8

const (
	notAsked    answerKind = iota
	hasTags                // 200
	noTags                 // 200 with an empty list
	notFound               // 404
	noAccess               // 401, 403, or the token service refuses
	nameInvalid            // the error code NAME_INVALID
	badRequest             // any other 400
	unclear                // anything else
)

func (r reading) kind() answerKind {
	switch {
	case r.denied():
		return noAccess
	case r.answer == nil:
		return unclear
	case wire.HasCode(r.answer.Body, "NAME_INVALID"):
		return nameInvalid
	case r.answer.Status == 400:
		return badRequest
	case r.answer.Status == 404:
		return notFound
	case r.answer.Status != 200:
		return unclear
	}
	switch tags, ok := r.tagList(); {
	case !ok:
		return unclear
	case tags.count == 0:
		return noTags
	}
	return hasTags
}

func (r reading) why() string {
	switch {
	case r.answer != nil:
		return "GET " + wire.ShowURL(r.answer.URL) + " was answered " + r.answer.Said()
	case r.granted.refused != nil:
		return "the token service " + wire.ShowURL(r.at.service.Realm) + " answered " + r.granted.refused.Said()
	case r.granted.bad != nil:
		return "the token service " + wire.ShowURL(r.at.service.Realm) + " answered " + r.granted.bad.Said()
	}
	return "there was no answer"
}

// tags lists the tags of the content path, or of the random repository below it, once for each access: the auth
// stage may have asked already.
func (s *session) tags(ctx context.Context, acc *access, repository string) reading {
	if r, known := acc.reading(repository); known {
		return r
	}
	r := s.readTags(ctx, acc, repository)
	if r.err == nil {
		acc.keepReading(r)
	}
	return r
}

// readTags asks once more where the registry names a token service only now, or wants another scope than the
// usual one.
func (s *session) readTags(ctx context.Context, acc *access, repository string) reading {
	r := s.tagsOnce(ctx, way{acc, pullScope(repository)}, repository)
	if r.answer == nil || r.answer.Status != 401 {
		return r
	}
	if next, ok := s.otherWay(acc, r.answer, repository); ok {
		return s.tagsOnce(ctx, next, repository)
	}
	return r
}

// otherWay reads from a 401 of content how else to ask. Content may be redirected to a stranger, whose challenge
// must not choose where credentials go.
func (s *session) otherWay(acc *access, a *wire.Response, repository string) (next way, ok bool) {
	o := challenge.Offered(a.Header.Values("WWW-Authenticate"))
	if a.From != s.base.Origin || o.Bearer == nil {
		return way{}, false
	}
	t, f := s.readService(o.Bearer, a)
	if f != nil {
		return way{}, false
	}
	scope := strings.Join(t.Scopes, " ")
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
func (s *session) whoFor(acc *access) challenge.Login {
	switch {
	case acc.header == "" || s.plan.auth == NoAuth:
		return challenge.Login{}
	case s.plan.auth == Basic:
		return challenge.Login{User: s.plan.username, Password: s.plan.password}
	case s.plan.username != "":
		return challenge.Login{User: s.plan.username, Password: s.plan.token}
	default:
		return challenge.Login{Refresh: s.plan.token}
	}
}

func (s *session) tagsOnce(ctx context.Context, at way, repository string) reading {
	r := reading{repository: repository, at: at}
	header, g := s.authorization(ctx, at.access, at.scope)
	if at.service != nil && header == "" {
		r.granted = g
		return r
	}
	r.answer, r.err = s.read(ctx, repository+"/tags/list", tagsQuery, header)
	return r
}

// unread is the failure of a reading that says nothing about the repository.
func (s *session) unread(r reading) *failure {
	switch {
	case r.err != nil:
		return s.unreadable(r)
	case r.granted.failure != nil:
		return r.granted.failure
	case r.answer != nil && (r.answer.Status == 429 || r.answer.Status >= 500):
		return unavailable("GET "+wire.ShowURL(r.answer.URL), r.answer)
	case r.answer != nil && r.answer.Status == 200 && r.answer.Cut != nil:
		return fail(CodeUnavailable, "", "GET %s was answered 200, and the answer ended early or came too slowly.", wire.ShowURL(r.answer.URL))
	}
	return nil
}

// unreadable is a request for content that got no answer. A redirect that leads nowhere is the
// registry's own trouble here: it was found, and let us in.
func (s *session) unreadable(r reading) *failure {
	if x, ok := errors.AsType[*wire.RedirectError](r.err); ok {
		f := s.diagnoseRedirect(x)
		if f.entry.Code == CodeRedirected {
			return fail(CodeUnavailable, "", "%s", f.seen).retry(f.retryable)
		}
		return f
	}
	return s.diagnoseRequest(r.err)
}

// tagList is what a list of tags came to.
type tagList struct {
	count int
	last  string // that can be asked for; empty when none can
}

// tagList reads the list of tags; ok is false when the answer is none. Some other service's JSON has
// neither tags nor the repository's name.
func (r reading) tagList() (tags tagList, ok bool) {
	if r.answer.Over || r.answer.Packed {
		return tagList{}, false
	}
	there, err := wire.EachName(r.answer.Body, "tags", func(tag string) bool {
		tags.count++
		if oci.IsReference(tag) {
			tags.last = tag
		}
		return true
	})
	if err != nil {
		return tagList{}, false
	}
	return tags, there || oci.NamesRepository(r.answer.Body, r.repository)
}

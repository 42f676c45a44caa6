package regcheck

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// Reader reads a registry after its check, with the credentials of the definition. Package inventory is its user.
type Reader struct{ s *session }

// Way is how a Reader asks for something: with whose rights, and for which scope.
type Way struct{ way way }

// Open is Check that keeps the connections for a Reader, which the caller closes. The Reader is nil when there is an
// error or the definition is not valid.
func (c *Checker) Open(ctx context.Context, d Definition) (*Report, *Reader, error) {
	p, found := d.read()
	if len(found) > 0 {
		return nil, nil, &DefinitionError{found}
	}
	s := newSession(c, p)
	opened := false
	defer func() {
		if !opened {
			s.close()
		}
	}()
	report, err := s.checked(ctx, nil)
	if err != nil || !report.Valid {
		return report, nil, err
	}
	opened = true
	return report, &Reader{s}, nil
}

// Close ends the connections.
func (r *Reader) Close() { r.s.close() }

// ContentPath returns the definition's baseContentPath as it is used.
func (r *Reader) ContentPath() string { return r.s.plan.contentPath }

// Provider returns the definition's provider type.
func (r *Reader) Provider() ProviderType { return r.s.plan.provider }

// Origin returns where the API is.
func (r *Reader) Origin() egress.Origin { return r.s.base.Origin }

// BodyLimit returns Limits.Body.
func (r *Reader) BodyLimit() int64 { return r.s.limits.Body }

// Now returns the time of Checker.Now.
func (r *Reader) Now() time.Time { return r.s.now() }

// Shown returns a text as it may be stored: cleaned, bounded, without credentials.
func (r *Reader) Shown(text string) string { return wire.CleanText(r.Masked(text)) }

// Masked returns a text without credentials.
func (r *Reader) Masked(text string) string { return r.s.shown(text) }

// Catalog and Repository return the ways to ask for the catalog and for a repository.
func (r *Reader) Catalog() Way { return Way{way{r.s.access, catalogScope}} }

// Repository returns the way to ask for a repository.
func (r *Reader) Repository(name string) Way { return Way{way{r.s.access, pullScope(name)}} }

// Basic returns the way by Basic that a response asks for in place of a token.
func (r *Reader) Basic(w Way, a *wire.Response) (Way, bool) {
	basic := r.s.basicInstead(w.way.access, a)
	return Way{way{basic, ""}}, basic != nil
}

// Other returns the way that a 401 for a repository names.
func (r *Reader) Other(w Way, a *wire.Response, repository string) (Way, bool) {
	next, ok := r.s.otherWay(w.way.access, a, repository)
	return Way{next}, ok
}

// Authorize returns the Authorization of a way. ok is false when there is none: why then says what is wrong with the token
// service, and is empty when it refused.
func (r *Reader) Authorize(ctx context.Context, w Way) (header, why string, ok bool) {
	header, g := r.s.authorization(ctx, w.way.access, w.way.scope)
	if g.failure != nil {
		return "", g.failure.seen, false
	}
	return header, "", w.way.service == nil || header != ""
}

// Renew drops the token of a way, which has expired. It returns false when there is none.
func (r *Reader) Renew(w Way) bool {
	if w.way.service == nil {
		return false
	}
	w.way.forget(w.way.scope)
	return true
}

// Get asks for a path below /v2/. It follows redirects to another origin if elsewhere is true.
func (r *Reader) Get(ctx context.Context, path, query, header string, elsewhere bool) (*wire.Response, error) {
	u := r.s.base.URL(path)
	u.RawQuery = query
	return r.s.wire.Fetch(ctx, wire.Request{URL: u, Authorization: header, Accept: oci.AcceptManifests, Keep: r.s.limits.Body}, elsewhere)
}

// Unanswered says in words why Get has no response.
func (r *Reader) Unanswered(err error) string { return r.s.unreadable(reading{err: err}).seen }

// Begin returns a function that forgets what was asked since: tokens, their masks, and connections to other hosts.
func (r *Reader) Begin() (end func()) {
	s := r.s
	mark := s.wire.Sent.Mark()
	return func() {
		s.wire.Sent.Forget(mark)
		s.access.forgetAll()
		homes := []egress.Origin{s.plan.base.Origin, s.base.Origin}
		if s.access.service != nil {
			homes = append(homes, s.access.service.Origin)
		}
		s.wire.KeepOnly(homes...)
	}
}

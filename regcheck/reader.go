package regcheck

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/content"
)

// Reader reads a registry after its check, with the credentials of the definition. It is for package inventory.
type Reader struct{ s *session }

// Open is Check that keeps the connections for a Reader, which the caller closes. The Reader is nil if there is an error or
// the definition is not valid.
func (c *Checker) Open(ctx context.Context, d Definition) (*Report, *Reader, error) {
	return c.open(ctx, d, Known{}, nil)
}

func (c *Checker) open(ctx context.Context, d Definition, known Known, o Observer) (*Report, *Reader, error) {
	p, found := d.read(true)
	if len(found) > 0 {
		return nil, nil, &DefinitionError{found}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s := newSession(c, p)
	s.known = known
	opened := false
	defer func() {
		if !opened {
			s.close()
		}
	}()
	bounded, cancel := context.WithTimeout(ctx, s.limits.Total)
	defer cancel() // before close, which waits for what runs in the background
	report, err := s.run(bounded, ctx.Err, o)
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

// Client requests content.
func (r *Reader) Client() *content.Client { return &r.s.Client }

// Now returns the time of Checker.Now.
func (r *Reader) Now() time.Time { return r.s.now() }

// ShowName returns a name from the registry as it may be stored: wire/mask.go has the rule.
func (r *Reader) ShowName(name string) string { return r.s.Wire.Name(name) }

// Access authorizes the requests of Client.
func (r *Reader) Access() *content.Access { return r.s.access }

// Authorize returns the Authorization of a way. If there is none, ok is false, and why is the problem of the
// token service, empty if the service rejected the request.
func (r *Reader) Authorize(ctx context.Context, w content.Way) (header, why string, ok bool) {
	header, g := r.s.Authorize(ctx, w)
	if g.Err != nil {
		return "", r.s.reader.Show(r.s.diagnoseGrant(w.Service, g.Err).seen), false
	}
	return header, "", w.Service == nil || header != ""
}

// NoResponse returns why a request of Client has no response.
func (r *Reader) NoResponse(err error) string { return r.s.reader.Show(r.s.diagnoseContent(err).seen) }

// Begin returns a function that releases what was added since: tokens, their masks, and connections to other hosts.
func (r *Reader) Begin() (end func()) {
	s := r.s
	mark := s.Wire.Sent.Mark()
	return func() {
		s.Wire.Sent.Forget(mark)
		s.access.ForgetAll()
		homes := []egress.Origin{s.Home, s.Base.Origin}
		if s.access.Service != nil {
			homes = append(homes, s.access.Service.Origin)
		}
		s.Wire.KeepOnly(homes...)
	}
}

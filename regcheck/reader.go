package regcheck

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/regcheck/internal/chartrepo"
	"github.com/regwarden/regwarden/regcheck/internal/content"
)

// Reader reads a registry after its check, with the credentials of the definition. It is for package inventory.
type Reader struct {
	s       subject
	access  *content.Access
	expires time.Time        // of the credentials; zero if that is not known
	charts  *chartrepo.Check // nil unless it is a chart repository
}

// Open is Check that keeps the connections for a Reader, which the caller closes. The Reader is nil if there is an error or
// the definition is not valid. That of a chart repository has at most the given number of versions of charts.
func (c *Checker) Open(ctx context.Context, p *Plan, versions int) (*Report, *Reader, error) {
	return c.open(ctx, p, Known{}, nil, versions)
}

func (c *Checker) open(ctx context.Context, p *Plan, known Known, o Observer, versions int) (
	report *Report, reader *Reader, err error,
) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	r := &run{subject: newSubject(c, p), checker: c, known: known, gone: ctx.Err, observe: o, list: versions}
	defer func() {
		if reader == nil {
			r.Wire.Close()
		}
	}()
	bounded, cancel := context.WithTimeout(ctx, r.limits.Total)
	defer cancel() // before Close, which waits for what runs in the background
	reader = r.check(bounded)
	if r.err != nil {
		return nil, nil, r.err
	}
	return r.report, reader, nil
}

// Close ends the connections.
func (r *Reader) Close() { r.s.Wire.Close() }

// Charts returns the chart repository, nil for an OCI registry.
func (r *Reader) Charts() *chartrepo.Check { return r.charts }

// ContentPath returns the definition's baseContentPath as it is used.
func (r *Reader) ContentPath() string { return r.s.plan.contentPath }

// Provider returns the definition's provider type.
func (r *Reader) Provider() ProviderType { return r.s.plan.provider }

// Client requests content.
func (r *Reader) Client() *content.Client { return &r.s.Client }

// Now returns the time of Checker.Now.
func (r *Reader) Now() time.Time { return r.s.now() }

// Expired reports whether the credentials have expired since. Another Reader obtains new ones, unless they are in the definition.
func (r *Reader) Expired() bool { return !r.expires.IsZero() && !r.Now().Before(r.expires) }

// ShowName returns a name from the registry as it may be stored: wire/mask.go has the rule.
func (r *Reader) ShowName(name string) string { return r.s.Wire.Name(name) }

// Access authorizes the requests of Client.
func (r *Reader) Access() *content.Access { return r.access }

// Authorize returns the Authorization of a way. If there is none, ok is false, and why is the problem of the
// token service, empty if the service rejected the request.
func (r *Reader) Authorize(ctx context.Context, w content.Way) (header, why string, ok bool) {
	header, g := r.s.Authorize(ctx, w)
	if g.Err != nil {
		return "", r.s.reader.Show(r.s.diagnoseGrant(w.Service, g.Err).Seen), false
	}
	return header, "", w.Service == nil || header != ""
}

// NoResponse returns why a request of Client has no response.
func (r *Reader) NoResponse(err error) string { return r.s.reader.Show(r.s.diagnoseContent(err).Seen) }

// Begin returns a function that releases what was added since: tokens, their masks, and connections to other hosts.
func (r *Reader) Begin() (end func()) {
	mark := r.s.Wire.Sent.Mark()
	return func() {
		r.s.Wire.Sent.Forget(mark)
		r.access.ForgetAll()
		homes := []egress.Origin{r.s.Home, r.s.Base.Origin}
		if r.access.Service != nil {
			homes = append(homes, r.access.Service.Origin)
		}
		r.s.Wire.KeepOnly(homes...)
	}
}

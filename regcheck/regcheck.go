package regcheck

import (
	"context"
	"crypto/x509"
	"net/url"
	"time"

	"github.com/regwarden/regwarden/egress"
)

// Checker checks definitions. The zero value works: the system's resolver, dialer and roots, the
// zero egress policy, the real clock and the limits of Limits. It is safe for concurrent use.
type Checker struct {
	Resolver egress.Resolver
	Dialer   egress.Dialer
	Egress   egress.Policy
	Roots    *x509.CertPool // nil: the system's
	Now      func() time.Time
	Limits   Limits

	// SkipControl leaves out the control request with random credentials, which tells registries
	// that check credentials from those that let everybody in.
	SkipControl bool
	// Proxy names the outbound HTTP proxy for a target, much as http.Transport.Proxy does; it is asked once for
	// each origin. Nil means none, whatever the environment says, and so does a nil URL.
	Proxy        func(target *url.URL) (*url.URL, error)
	ProxyConnect egress.ProxyConnect // what the proxy is asked to connect to
	// Header is sent with every request, so that a server recognizes a check that leads back to it.
	Header map[string]string
	Words  Words
}

// Limits bound what a registry can do to us; zero fields mean the defaults.
type Limits struct {
	Total     time.Duration // 30 s
	Resolve   time.Duration // 3 s
	Connect   time.Duration // 5 s
	TLS       time.Duration // 5 s
	Response  time.Duration // 10 s to the end of an answer
	Header    int64         // 64 KiB
	Body      int64         // 1 MiB
	Redirects int           // 3
}

func (l Limits) withDefaults() Limits {
	orDefault(&l.Total, 30*time.Second)
	orDefault(&l.Resolve, 3*time.Second)
	orDefault(&l.Connect, 5*time.Second)
	orDefault(&l.TLS, 5*time.Second)
	orDefault(&l.Response, 10*time.Second)
	orDefault(&l.Header, 64<<10)
	orDefault(&l.Body, 1<<20)
	orDefault(&l.Redirects, 3)
	return l
}

func orDefault[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

// Observer is told of each stage as it ends, in order, from the goroutine that called Check. It is not told of a stage
// in which ctx ended: that stage has no outcome.
type Observer func(StageResult)

// Check tries the definition. The error is a *DefinitionError when it can't be tried, or ctx's own
// when the caller went away; everything that was learned about a registry, however bad, is a Report.
func (c *Checker) Check(ctx context.Context, d Definition, o Observer) (*Report, error) {
	return c.check(ctx, d, Known{}, o)
}

func (c *Checker) check(ctx context.Context, d Definition, known Known, o Observer) (*Report, error) {
	p, found := d.read()
	if len(found) > 0 {
		return nil, &DefinitionError{found}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := newSession(c, p)
	s.known, s.artifact = known, known.artifact
	defer s.close()
	return s.checked(ctx, o)
}

// checked runs the stages within their time.
func (s *session) checked(ctx context.Context, o Observer) (*Report, error) {
	bounded, cancel := context.WithTimeout(ctx, s.limits.Total)
	defer cancel() // before close, so that nothing in the background keeps it waiting
	return s.run(bounded, ctx.Err, o)
}

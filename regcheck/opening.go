package regcheck

import (
	"context"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/oci"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// opening is the first exchange: GET /v2/ bare, and over TLS at the same time with the credentials
// (over plain HTTP a redirect to https must not find the password already sent).
type opening struct {
	bare   *wire.Response
	err    error
	offers challenge.Offers // of the bare answer: Harbor and ACR offer something else once there are credentials

	sent chan struct{} // closed when the authenticated answer is there; nil: not sent
	with *wire.Response
	werr error
}

// open sends the first requests once.
func (s *session) open(ctx context.Context) *opening {
	if s.opened != nil {
		return s.opened
	}
	o := &opening{}
	s.opened = o
	if s.base.Scheme == "https" && s.plan.auth != NoAuth {
		s.sendWith(ctx, o)
	}
	o.bare, o.err = s.get(ctx, "", "")
	if o.err == nil {
		s.rounds += o.bare.Rounds
		o.offers = challenge.Offered(o.bare.Header.Values("WWW-Authenticate"))
	}
	return o
}

func (s *session) sendWith(ctx context.Context, o *opening) {
	o.sent = make(chan struct{})
	spare := s.spare
	multiplexed := s.first.H2()
	s.wire.Work.Do(func() {
		defer close(o.sent)
		if !multiplexed && spare != nil {
			<-spare.done // ends with ctx at the latest
		}
		o.with, o.werr = s.get(ctx, "", s.credentials())
	})
}

// credentials is the Authorization that needs no challenge: Basic, or the token as it is.
func (s *session) credentials() string {
	if s.plan.auth == Token {
		return "Bearer " + s.plan.token
	}
	return challenge.Basic(s.plan.username, s.plan.password)
}

// withCredentials gives the answer to GET /v2/ with credentials: the one on its way, or a new one.
func (s *session) withCredentials(ctx context.Context) (*wire.Response, error) {
	o := s.open(ctx)
	if o.sent == nil {
		o.sent = make(chan struct{})
		o.with, o.werr = s.get(ctx, "", s.credentials())
		if o.with != nil {
			s.rounds += o.with.Rounds
		}
		close(o.sent)
	}
	<-o.sent
	return o.with, o.werr
}

// get asks for a path below /v2/. With credentials in the definition no request of the API follows
// a redirect to another origin.
func (s *session) get(ctx context.Context, rest, authorization string) (*wire.Response, error) {
	return s.wire.Fetch(ctx, wire.Request{URL: s.base.URL(rest), Authorization: authorization}, s.plan.auth == NoAuth)
}

// read is get for content, which may live elsewhere; authorization does not go along.
func (s *session) read(ctx context.Context, rest, query, authorization string) (*wire.Response, error) {
	u := s.base.URL(rest)
	u.RawQuery = query
	return s.request(ctx, wire.Request{URL: u, Authorization: authorization})
}

// request is read for any call.
func (s *session) request(ctx context.Context, what wire.Request) (*wire.Response, error) {
	what.Accept, what.Keep = oci.AcceptManifests, s.limits.Body
	a, err := s.wire.Fetch(ctx, what, true)
	if a != nil {
		s.rounds += a.Rounds
	}
	return a, err
}

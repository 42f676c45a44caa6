package regcheck

import (
	"context"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// opening is the first exchange: GET /v2/ without credentials, and over TLS concurrently with them. Over plain HTTP a redirect
// to https could otherwise arrive after the password was sent.
type opening struct {
	bare   *wire.Response
	err    error
	offers challenge.Offers // of the bare response: Harbor and ACR offer something else once there are credentials

	sent chan struct{} // closed when the authenticated response is there; nil: not sent
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
	if s.Base.Scheme == "https" && s.plan.auth != NoAuth {
		s.sendWith(ctx, o)
	}
	o.bare, o.err = s.get(ctx, "", "")
	if o.err == nil {
		s.Rounds += o.bare.Rounds
		o.offers = challenge.Offered(o.bare.Header.Values("WWW-Authenticate"))
	}
	return o
}

func (s *session) sendWith(ctx context.Context, o *opening) {
	o.sent = make(chan struct{})
	spare := s.spare
	multiplexed := s.first.H2()
	s.Wire.Work.Do(func() {
		defer close(o.sent)
		if !multiplexed && spare != nil {
			<-spare.done // ends with ctx at the latest
		}
		o.with, o.werr = s.get(ctx, "", s.credentials())
	})
}

// credentials returns the Authorization that needs no challenge: Basic, or the token as it is.
func (s *session) credentials() string {
	if s.plan.auth == Token {
		return "Bearer " + s.plan.token
	}
	return challenge.Basic(s.plan.username, s.plan.password)
}

// withCredentials returns the response to GET /v2/ with credentials: of the request that was sent already, or of a new one.
func (s *session) withCredentials(ctx context.Context) (*wire.Response, error) {
	o := s.open(ctx)
	if o.sent == nil {
		o.sent = make(chan struct{})
		o.with, o.werr = s.get(ctx, "", s.credentials())
		if o.with != nil {
			s.Rounds += o.with.Rounds
		}
		close(o.sent)
	}
	<-o.sent
	return o.with, o.werr
}

// get requests a path below /v2/. With credentials in the definition no request of the API follows a redirect to another
// origin.
func (s *session) get(ctx context.Context, rest, authorization string) (*wire.Response, error) {
	return s.Wire.Fetch(ctx, wire.Request{URL: s.Base.URL(rest), Authorization: authorization}, s.plan.auth == NoAuth)
}

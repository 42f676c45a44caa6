package regcheck

import (
	"context"

	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// opening is the first exchange: GET /v2/ without credentials, and over TLS concurrently with them. Over plain HTTP a redirect
// to https could otherwise arrive after the password was sent.
type opening struct {
	connection
	bare   *wire.Response
	err    error
	offers challenge.Offers // of the bare response: Harbor and ACR offer something else once there are credentials

	sent chan struct{} // closed when the authenticated response is there; nil: not sent
	with *wire.Response
	werr error
}

// exchange is the first exchange of a registry that has an API: it shows what the registry requires, and explains what is rejected later.
type exchange struct {
	subject
	opened *opening
}

// open sends the first requests.
func (s subject) open(ctx context.Context, c connection) *opening {
	o := &opening{connection: c}
	if s.plan.kind == KindChartRepository {
		o.bare, o.err = s.chartRepositoryOf().AskAnonymously(ctx)
		return o
	}
	if s.Base.Scheme == "https" && s.plan.login.Type != NoAuth && !s.plan.login.Type.IsObtained() {
		s.sendWith(ctx, o)
	}
	o.bare, o.err = s.get(ctx, "", "")
	if o.err == nil {
		o.offers = challenge.Offered(o.bare)
	}
	return o
}

func (s subject) sendWith(ctx context.Context, o *opening) {
	o.sent = make(chan struct{})
	spare, multiplexed := o.spare, o.first.H2()
	s.Wire.Work.Do(func() {
		defer close(o.sent)
		if !multiplexed && spare != nil {
			<-spare.Done // ends with ctx at the latest
		}
		o.with, o.werr = s.get(wire.Ahead(ctx), "", s.plan.login.Direct())
	})
}

// again returns the opening without the response to former credentials.
func (o *opening) again() *opening {
	return &opening{connection: o.connection, bare: o.bare, err: o.err, offers: o.offers}
}

// withCredentials returns the response to GET /v2/ with credentials: of the request that was sent already, or of a new one.
func (s exchange) withCredentials(ctx context.Context) (*wire.Response, error) {
	o := s.opened
	if o.sent == nil {
		o.sent = make(chan struct{})
		o.with, o.werr = s.get(ctx, "", s.plan.login.Direct())
		close(o.sent)
	}
	<-o.sent
	return o.with, o.werr
}

// get requests a path below /v2/. With credentials in the definition no request of the API follows a redirect to another
// origin.
func (s subject) get(ctx context.Context, rest, authorization string) (*wire.Response, error) {
	return s.Wire.Fetch(ctx, wire.Request{URL: s.Base.URL(rest), Authorization: authorization}, s.plan.login.Type == NoAuth)
}

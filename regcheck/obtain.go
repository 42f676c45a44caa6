package regcheck

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/provider"
	"github.com/regwarden/regwarden/regcheck/internal/source"
)

// What definitions are checked with whose credentials are obtained.
type (
	CredentialCache = source.Cache
	Ambient         = source.Ambient
)

// remembered returns the credentials that an earlier check obtained, with which this check begins.
func (r *run) remembered() source.Credentials {
	plan := *r.plan
	plan.login.Source = source.Bind(plan.login.Source, r.checker.Ambient)
	r.plan = &plan
	at := r.now()
	if r.checker.Full {
		at = at.Add(r.limits.DownloadTime)
	}
	got := r.checker.Obtained.Get(plan.login.Source, at)
	if got.Remembered {
		r.use(got)
	}
	return got
}

// use continues as with a definition of type basic.
func (s *subject) use(got source.Credentials) {
	plan := *s.plan
	plan.login = plan.login.Obtained(got)
	s.plan, s.Login = &plan, plan.login.ForTokens()
	for _, login := range plan.login.Authorizations() {
		s.Wire.Sent.Add(login)
	}
}

// obtain is the credentials stage: it gets username and password for the stages of s from the provider unless they are remembered.
func (r *run) obtain(ctx context.Context, s *subject, got *source.Credentials) outcome {
	if got.Remembered {
		return codes.Passed("%s", got.Describe())
	}
	issued, err := s.plan.login.Source.Obtain(ctx, provider.Over(s.Wire), r.now())
	if err != nil {
		return codes.Failed(s.diagnoseProvider(err))
	}
	r.checker.Obtained.Put(s.plan.login.Source, issued, r.now())
	*got = issued
	s.use(issued)
	return codes.Passed("%s", got.Describe())
}

// obtainAfter is obtain after the first exchange.
func (r *run) obtainAfter(ctx context.Context, x *exchange, got *source.Credentials) outcome {
	anew := !got.Remembered
	out := r.obtain(ctx, &x.subject, got)
	if anew {
		x.opened = x.opened.again()
	}
	return out
}

// auth is the auth stage. Remembered credentials that the registry rejects may have been revoked, and are obtained once more.
func (r *run) auth(ctx context.Context, x *exchange, got *source.Credentials) (grant, outcome) {
	given, out := r.authCheck(*x).auth(ctx)
	if got.Remembered && out.Failure != nil && out.Failure.Entry.Code == CodeAuthFailed {
		r.checker.Obtained.Forget(x.plan.login.Source)
		got.Remembered = false
		if anew := r.obtainAfter(ctx, x, got); anew.Failure != nil {
			return given, anew
		}
		given, out = r.authCheck(*x).auth(ctx)
	}
	return given, withHintOf(*got, out)
}

// withHintOf adds what is known of obtained credentials with which the registry does not show the content.
func withHintOf(got source.Credentials, out outcome) outcome {
	if f := out.Failure; f != nil && slices.Contains([]Code{CodeAccessDenied, CodeAuthFailed, CodeContentNotFound}, f.Entry.Code) {
		f.Hint = got.Hint(f.Hint, f.Entry.Code == CodeAuthFailed, f.Entry.Code == CodeContentNotFound)
	}
	return out
}

// diagnoseProvider is for credentials that were not obtained. The registry is not the cause.
func (s explainer) diagnoseProvider(err error) *failure {
	if x, ok := errors.AsType[*provider.ForbiddenError](err); ok {
		return s.forbidden(err, x.Host+", which issues the credentials, has an address that must not be contacted").At("")
	}
	refusal, ok := errors.AsType[*source.Refusal](err)
	if !ok {
		refusal = &source.Refusal{Reason: source.BadResponse, Seen: message.Of("%s", s.Wire.Text(err.Error()))}
	}
	f := fail(CodeCredentialSourceFailed, Reason(refusal.Reason), "%s", refusal.Seen).At(refusal.Field).Retry(refusal.Retry)
	f.Hint = cmp.Or(refusal.Hint, f.Hint)
	if refusal.Reason == source.AmbientNotAllowed && s.reader.Ambient != "" {
		f.Hint = message.Of("%s", s.reader.Ambient)
	}
	return f
}

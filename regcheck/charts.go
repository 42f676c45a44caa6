package regcheck

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/regwarden/regwarden/internal/expiry"
	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/chartindex"
	"github.com/regwarden/regwarden/regcheck/internal/chartrepo"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/source"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// checkCharts is checkRegistry for a chart repository. Credentials are obtained before the index is requested with them.
func (r *run) checkCharts(ctx context.Context, conn connection, first *opening, got source.Credentials) *Reader {
	var check *chartrepo.Check
	if r.plan.login.Source != nil {
		r.stage(StageCredentials, func() outcome { return r.obtain(ctx, &r.subject, &got) })
	}
	repository := r.chartRepository()
	r.stage(StageAPI, func() outcome {
		var anonymous *wire.Response
		if first != nil {
			if first.err != nil {
				return codes.Failed(r.explainChart("GET "+r.Base.URL("index.yaml").String(), nil, first.err))
			}
			anonymous = first.bare
		}
		conn.awaitSpare()
		var f *failure
		if check, f = repository.Begin(ctx, anonymous); f != nil {
			return codes.Failed(f)
		}
		return check.Index(ctx)
	})
	r.stage(StageAuth, func() outcome {
		r.warnOfCredentials()
		return withHintOf(got, check.Auth(ctx))
	})
	r.report.References = notExamined(r.plan)
	r.stage(StageContent, func() outcome { return r.chartContent(ctx, check) })
	return &Reader{s: r.subject, charts: check}
}

// warnOfCredentials warns of what can be known of credentials without sending them.
func (s subject) warnOfCredentials() {
	if s.plan.base.Scheme == "http" && s.plan.login.Type != NoAuth {
		s.warn(WarnPlainHTTPCredentials, "")
	}
	if s.plan.login.Source != nil {
		return // obtained credentials are renewed
	}
	if text := expiry.Soon(s.plan.login.Username, s.plan.login.Secret(), s.now()); text != "" {
		s.warnAt(WarnCredentialsExpireSoon, s.plan.login.SecretField(), "%s", text)
	}
}

// chartContent is the content stage: the charts that the definition names can be downloaded, or any chart if it names none.
func (r *run) chartContent(ctx context.Context, check *chartrepo.Check) outcome {
	path := outcome{}
	charts := len(check.Charts) - len(r.plan.references)
	switch {
	case charts > 0:
		path = check.Chart(ctx, 0, "baseContentPath")
	case len(r.plan.references) == 0:
		return check.AnyChart(ctx)
	}
	c := &contentCheck{exchange: exchange{subject: r.subject}, references: r.report.References}
	return c.concludeReferences(path, func(i int) outcome {
		return check.Chart(ctx, charts+i, referenceField(i))
	})
}

// chartRepository returns the repository of the definition.
func (r *run) chartRepository() *chartrepo.Repository {
	p := r.plan
	repository := r.chartRepositoryOf()
	repository.List = r.list
	repository.Authority, repository.Login, repository.Explainer = authorityOf(p.endpoint), r.chartLogin(), r.chartExplainer()
	if p.contentPath != "" {
		repository.Charts = append(repository.Charts, chartindex.Chart{Name: p.contentPath, Version: p.reference.Tag})
	}
	for _, ref := range p.references {
		repository.Charts = append(repository.Charts, chartindex.Chart{Name: ref.Repository, Version: ref.Tag})
	}
	if r.checker.Full {
		repository.Full = r.limits.Download
	}
	return repository
}

// chartRepositoryOf returns the repository without what is not needed for the first request.
func (s subject) chartRepositoryOf() *chartrepo.Repository {
	return &chartrepo.Repository{Wire: s.Wire, Base: s.Base}
}

// authorityOf returns the host and port of an endpoint as they are written.
func authorityOf(written string) string {
	text := strings.TrimSpace(written)
	if _, after, ok := strings.Cut(text, "://"); ok {
		text = after
	}
	host, _, _ := strings.Cut(text, "/")
	return host
}

// chartLogin returns the credentials. Helm sends Basic; a token is tried as a bearer token, and with a username as the password.
func (r *run) chartLogin() chartrepo.Login {
	given := r.plan.login
	l := chartrepo.Login{Secret: given.SecretField(), User: given.UserField(),
		PassEverywhere: r.plan.passCredentials}
	switch {
	case given.Type == Basic, given.Type == Token && given.Username != "":
		l.Headers, l.Control = given.Authorizations(), challenge.Basic(r.randomName(), random())
	case given.Type == Token:
		l.Headers, l.Control = given.Authorizations()[:1], "Bearer "+random()
	}
	if r.checker.SkipControl {
		l.Control = ""
	}
	return l
}

func (r *run) chartExplainer() chartrepo.Explainer {
	check := r.authCheck(exchange{subject: r.subject})
	return chartrepo.Explainer{
		NoResponse:  r.explainChart,
		TLS:         certs.ExplainResponse,
		Unavailable: r.unavailable,
		Warn: func(code WarningCode, field, format string, args ...any) {
			r.warnAt(code, field, format, args...)
		},
		KnownControl: func() (open, known bool) {
			if open, known = check.knownControl(); known {
				r.newControl = r.known
			}
			return open, known
		},
		RecordControl: check.recordControl,
	}
}

// explainChart returns why a request of a chart repository has no response. to is nil for its index.
func (s explainer) explainChart(what string, to *url.URL, err error) *failure {
	if r, ok := errors.AsType[*wire.RedirectError](err); ok {
		return notChartRepository(s.diagnoseRedirect(r))
	}
	if to == nil {
		return notChartRepository(s.diagnoseNoResponse(what, err))
	}
	f := s.diagnoseOther("The archive of a chart", to, err)
	if f.Field == "endpoint" { // its hint is about the endpoint's own host
		f.Hinting("Contact the repository operator: TLS at %s must be corrected, or the address of the archive in index.yaml.",
			s.Wire.Text(to.Host))
	}
	return f
}

// notChartRepository returns a failure of an OCI registry as that of a chart repository.
func notChartRepository(f *failure) *failure {
	if f.Entry.Code != CodeNotOCI {
		return f
	}
	own := fail(CodeNotChartRepository, f.Entry.Reason, "%s", f.Seen)
	if f.Hint != codes.Lookup(CodeNotOCI, f.Entry.Reason).Hint {
		own.Hint = f.Hint
	}
	return own
}

// concludeReferences examines the references one after the other.
func (c *contentCheck) concludeReferences(path outcome, examine func(i int) outcome) outcome {
	failures := make([]*failure, len(c.references))
	for i := range c.references {
		failures[i] = c.noteReference(i, examine(i))
	}
	if path.Detail == "" && path.Failure == nil {
		path = codes.Passed("")
	}
	return c.conclusion(path, failures)
}

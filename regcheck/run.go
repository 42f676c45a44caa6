package regcheck

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/expiry"
	"github.com/regwarden/regwarden/regcheck/internal/artifact"
	"github.com/regwarden/regwarden/regcheck/internal/certs"
	"github.com/regwarden/regwarden/regcheck/internal/codes"
	"github.com/regwarden/regwarden/regcheck/internal/source"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// run is a check that is running: it makes a report of the outcomes of the stages.
type run struct {
	subject
	checker *Checker
	known   Known             // of an earlier check
	gone    func() error      // the error of the caller's context: an interrupted stage has no outcome
	observe func(StageResult) // may be nil
	rounds  *wire.Rounds      // see Report.RoundTrips
	report  *Report
	err     error
	list    int // how many versions of charts a Reader returns
}

// outcome is the result of a stage: a failure, or a status with what was seen.
type outcome = codes.Outcome

// check runs the stages in order. Each gets what the stages before it found. The first failure decides, and the stages after it are
// skipped. The Reader is nil unless the report is valid.
func (r *run) check(ctx context.Context) *Reader {
	began, started := r.now(), time.Now()
	ctx, r.rounds = wire.CountRounds(ctx)
	r.report = &Report{Valid: true, Registry: r.plan.base.String(), StartedAt: began.UTC(), Warnings: []Warning{}}
	var found addresses
	var conn connection
	var first *opening
	got := r.remembered()
	r.stage(StageResolve, func() (out outcome) { found, out = r.resolve(ctx); return out })
	r.stage(StageEgress, func() outcome { return r.admit(found) })
	r.stage(StageConnect, func() (out outcome) { conn, out = r.connect(ctx); return out })
	r.stage(StageTLS, func() (out outcome) { first, out = r.handshake(ctx, conn); return out })
	check := r.checkRegistry
	if r.plan.kind == KindChartRepository {
		check = r.checkCharts
	}
	reader := check(ctx, conn, first, got)
	r.finish(started)
	if r.err != nil || !r.report.Valid {
		return nil
	}
	if r.plan.login.Source == nil {
		reader.expires = r.report.CredentialsExpire
	}
	return reader
}

// checkRegistry runs the stages of an OCI registry that follow TLS. first is what was requested in the tls stage, nil if nothing was; got
// are the credentials that are remembered, the zero value if none are.
func (r *run) checkRegistry(ctx context.Context, conn connection, first *opening, got source.Credentials) *Reader {
	var x exchange
	var given grant
	r.stage(StageAPI, func() (out outcome) { x, out = r.api(ctx, conn, first); return out })
	if r.plan.login.Source != nil {
		r.stage(StageCredentials, func() outcome { return r.obtainAfter(ctx, &x, &got) })
	}
	r.stage(StageAuth, func() (out outcome) { given, out = r.auth(ctx, &x, &got); return out })
	r.report.References = notExamined(r.plan)
	r.stage(StageContent, func() outcome {
		c := contentCheck{exchange: x, grant: given, examination: r.examination(), references: r.report.References}
		return withHintOf(got, c.content(ctx))
	})
	return &Reader{s: x.subject, access: given.access, expires: got.Expires}
}

// authCheck returns the check of the credentials of an exchange.
func (r *run) authCheck(x exchange) authCheck {
	return authCheck{exchange: x, control: !r.checker.SkipControl, known: r.known}
}

// stage runs a stage unless an earlier one failed, and adds its outcome to the report.
func (r *run) stage(name Stage, do func() outcome) {
	if r.err != nil {
		return
	}
	result := StageResult{Name: name, Status: Skipped}
	if r.report.Valid {
		begin, before := time.Now(), r.rounds.Count()
		out := do()
		if r.err = r.gone(); r.err != nil {
			return
		}
		result.Status, result.Detail, result.DetailText = out.Status, r.reader.Show(out.Detail), out.Detail
		result.Duration = time.Since(begin)
		result.DurationMS = result.Duration.Milliseconds()
		result.RoundTrips = r.rounds.Count() - before
		for _, origin := range r.Wire.TakeHops() {
			result.Hops = append(result.Hops, r.Wire.Text(origin.String()))
		}
		if out.Failure != nil {
			r.report.setFailure(out.Failure, name, r.reader)
		}
	}
	r.report.Stages = append(r.report.Stages, result)
	if r.observe != nil {
		r.observe(result)
	}
}

// finish adds to the report what is not the outcome of one stage.
func (r *run) finish(started time.Time) {
	for _, w := range r.warnings {
		r.report.Warnings = append(r.report.Warnings, Warning{w.code, w.field, r.reader.Show(w.text), w.text})
	}
	r.report.Duration = time.Since(started)
	r.report.DurationMS = r.report.Duration.Milliseconds()
	r.report.RoundTrips = r.rounds.Count()
	r.report.Certificates = append(r.served, certs.OfClient(r.plan.tls.Client)...)
	if r.plan.login.Source == nil { // obtained credentials are renewed
		r.report.CredentialsExpire = expiry.NotAfter(r.plan.login.Username, r.plan.login.Secret())
	}
	r.report.Known = r.knownAfter()
}

// examination returns how artifacts are examined.
func (r *run) examination() examination {
	x := examination{platform: r.checker.Platform, known: artifact.ReadKnown(r.known.Artifacts)}
	if r.checker.Full {
		x.download = &artifact.Download{Limit: r.limits.Download, Progress: r.checker.Progress}
	}
	return x
}

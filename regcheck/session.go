package regcheck

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/egress"
	"github.com/regwarden/regwarden/internal/expiry"
	"github.com/regwarden/regwarden/regcheck/internal/artifact"
	"github.com/regwarden/regwarden/regcheck/internal/challenge"
	"github.com/regwarden/regwarden/regcheck/internal/content"
	"github.com/regwarden/regwarden/regcheck/internal/message"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

// session is one check that is running. Stages run one after the other. Each sets fields of its own.
type session struct {
	content.Client // Base: a redirect that was followed changes it; Rounds: see Report.RoundTrips

	plan    *plan
	limits  Limits
	reader  Audience
	now     func() time.Time
	control bool  // send control requests
	known   Known // of Recheck

	platform string             // Checker.Platform
	download *artifact.Download // nil: blobs are only asked for
	found    []netip.Addr       // resolve
	resolved string             // resolve: the addresses in words
	first    *wire.Conn         // connect
	spare    *spareConn         // connect: a second connection that is being opened; nil if none is needed

	expires    time.Time       // tls: when the first certificate of the endpoint expires
	opened     *opening        // tls or api: the first requests and their responses
	access     *content.Access // auth: authorizes requests for content
	warnings   []warning       // all stages
	unverified bool            // auth: the registry did not check the credentials
	unlikely   string          // the random name of a repository
	newControl Known           // auth: results of control requests
	examined   []artifact.Known
	blobConns  int               // content: connections for the blobs of an artifact; 0: the usual number
	references []ReferenceResult // content; skipped before
}

type stage struct {
	name Stage
	run  func(*session, context.Context) outcome
}

// outcome is the result of a stage: a failure, or a status with what was seen.
type outcome struct {
	status  Status
	detail  message.Text
	failure *failure
}

func passed(format string, args ...any) outcome {
	return outcome{status: OK, detail: message.Of(format, args...)}
}

func skipped(detail message.Text) outcome { return outcome{status: Skipped, detail: detail} }

func unknown(format string, args ...any) outcome {
	return outcome{status: Unknown, detail: message.Of(format, args...)}
}

func failed(f *failure) outcome { return outcome{status: Failed, detail: f.seen, failure: f} }

func stages() []stage {
	return []stage{
		{StageResolve, (*session).resolve},
		{StageEgress, (*session).egress},
		{StageConnect, (*session).connect},
		{StageTLS, (*session).handshake},
		{StageAPI, (*session).api},
		{StageAuth, (*session).auth},
		{StageContent, (*session).content},
	}
}

func newSession(c *Checker, p *plan) *session {
	s := &session{plan: p, limits: c.Limits.withDefaults(), platform: c.Platform, reader: c.Audience, now: c.Now, control: !c.SkipControl}
	if s.now == nil {
		s.now = time.Now
	}
	if c.Full {
		s.download = &artifact.Download{Limit: s.limits.Download, Progress: c.Progress}
		s.limits.Total += s.limits.DownloadTime
	}
	s.unlikely = s.randomName()
	tokens := challenge.Client{Wire: wire.New(s.connections(c)), Name: s.reader.program(), Home: p.base.Origin}
	s.Client = content.Client{Client: tokens, Base: p.base, Login: p.login(), Limit: s.limits.Body}
	for _, login := range p.authorizations() { // a registry may know them before they are sent
		s.Wire.Sent.Add(login)
	}
	for _, ref := range p.references {
		s.references = append(s.references, ReferenceResult{Reference: ref.String(), Status: Skipped, Message: "not examined"})
	}
	s.warnOfDefinition()
	return s
}

// connections returns what the connections of this check need.
func (s *session) connections(c *Checker) wire.Config {
	header := map[string]string{"User-Agent": c.Audience.program()}
	maps.Copy(header, c.Header)
	path := s.plan.endpointPath
	if path != "" {
		path = "/" + path
	}
	l := s.limits
	return wire.Config{
		Guard: &egress.Guard{Policy: c.Egress, Resolver: c.Resolver, Dialer: c.Dialer, Proxy: c.Proxy, ProxyConnect: c.ProxyConnect,
			Roots: c.Roots, Now: s.now},
		Visible: s.plan.visible(), Header: header, Now: s.now, Home: s.plan.base.Origin, HomePath: path,
		Limits: wire.Limits{Resolve: l.Resolve, Connect: l.Connect, Handshake: l.TLS, Response: l.Response, Header: l.Header, Body: l.Body, Redirects: l.Redirects},
		Roots:  c.Roots, Extra: s.plan.roots, ClientCert: s.plan.clientCert, SkipVerify: s.plan.skipVerify,
	}
}

// warnOfDefinition warns of fields that have no effect.
func (s *session) warnOfDefinition() {
	for _, p := range s.plan.unknown {
		s.warnAt(WarnUnknownField, p.Field, "%s %s", p.Field, p.Problem)
	}
	if ignored := s.plan.ignoredTLS; len(ignored) > 0 {
		s.warn(WarnTLSSettingsIgnored, "Without effect: %s.", strings.Join(ignored, ", "))
	}
}

func (s *session) close() {
	s.dropSpare()
	s.Wire.Close()
}

// run runs the stages in order. The first failure decides, and the stages after it are skipped. gone returns the error
// of the caller's context: an interrupted stage has no result.
func (s *session) run(ctx context.Context, gone func() error, o Observer) (*Report, error) {
	began := s.now()
	started := time.Now()
	report := &Report{Valid: true, Registry: s.plan.base.String(), StartedAt: began.UTC(), Warnings: []Warning{}}
	for _, st := range stages() {
		result := StageResult{Name: st.name, Status: Skipped}
		if report.Valid {
			begin, before := time.Now(), s.Rounds
			out := st.run(s, ctx)
			if err := gone(); err != nil {
				return nil, err
			}
			result.Status, result.Detail = out.status, s.reader.Show(out.detail)
			result.Duration = time.Since(begin)
			result.DurationMS = result.Duration.Milliseconds()
			result.RoundTrips = s.Rounds - before
			for _, origin := range s.Wire.TakeHops() {
				result.Hops = append(result.Hops, s.Wire.Text(origin.String()))
			}
			if out.failure != nil {
				out.failure.into(report, st.name, s.reader)
			}
		}
		report.Stages = append(report.Stages, result)
		if o != nil {
			o(result)
		}
	}
	for _, warning := range s.warnings {
		report.Warnings = append(report.Warnings, Warning{warning.code, warning.field, s.reader.Show(warning.text)})
	}
	report.Duration = time.Since(started)
	report.DurationMS = report.Duration.Milliseconds()
	report.RoundTrips, report.CertificateExpires = s.Rounds, s.expires
	report.CredentialsExpire = expiry.NotAfter(s.plan.username, s.plan.password+s.plan.token) // at most one of them is there
	report.Known, report.References = s.knownAfter(report.Valid), s.references
	return report, nil
}

// randomName returns a name that does not exist.
func (s *session) randomName() string { return s.reader.program() + "-" + random() }

// warning is a Warning before it is shown.
type warning struct {
	code  WarningCode
	field string
	text  message.Text
}

// warn adds a warning once. The text makes it concrete.
func (s *session) warn(code WarningCode, format string, args ...any) {
	s.warnAt(code, lookupWarning(code).Field, format, args...)
}

// warnAt is warn for a field other than the code's own.
func (s *session) warnAt(code WarningCode, field, format string, args ...any) {
	e := lookupWarning(code)
	text := e.Sentence
	if format != "" {
		text += " " + message.Of(format, args...)
	}
	s.addWarning(warning{code, field, text + " " + e.Hint})
}

// addWarning adds a warning unless there is one with its code and field.
func (s *session) addWarning(w warning) {
	if !slices.ContainsFunc(s.warnings, func(other warning) bool { return other.code == w.code && other.field == w.field }) {
		s.warnings = append(s.warnings, w)
	}
}

// failure is why a check is not valid.
type failure struct {
	entry     Entry
	seen      message.Text // what was tried and what came back; one or more sentences
	field     string
	hint      message.Text
	retryable bool
}

func fail(code Code, reason Reason, format string, args ...any) *failure {
	e := lookup(code, reason)
	return &failure{entry: e, seen: message.Of(format, args...), field: e.Field, hint: e.Hint, retryable: e.Retryable}
}

func (f *failure) at(field string) *failure { f.field = field; return f }

func (f *failure) retry(worth bool) *failure { f.retryable = worth; return f }

func (f *failure) hinting(format string, args ...any) *failure {
	f.hint = message.Of(format, args...)
	return f
}

func (f *failure) into(r *Report, name Stage, reader Audience) {
	r.Valid, r.Stage = false, name
	r.Code, r.Reason, r.Field, r.Hint, r.Retryable = f.entry.Code, f.entry.Reason, f.field, reader.Show(f.hint), f.retryable
	r.Message = strings.TrimSuffix(reader.Show(f.entry.Sentence+" "+f.seen), " ")
}

func random() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
	return hex.EncodeToString(raw[:])
}

// Package scan reads the files and directories of a command line, checks the registry definitions that package definitions finds in
// them, and shows the result in a terminal.
package scan

import (
	"cmp"
	"context"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/fixes"
	"github.com/regwarden/regwarden/regcheck"
)

// DefaultConcurrency is the number of checks at the same time.
const DefaultConcurrency = 16

// defaultPerHost is the number of checks at the same time for one host: a registry may limit or block clients that send more.
const defaultPerHost = 4

// Interrupted is why a definition was not checked if the scan was canceled before.
const Interrupted = "The scan was interrupted."

// Checks is how to check the definitions of a result. Only Check is required.
type Checks struct {
	Check       func(context.Context, *regcheck.Plan) (*regcheck.Report, error)
	Concurrency int               // checks at the same time; default DefaultConcurrency
	PerHost     int               // of those, for one host and port; default 4
	Audience    regcheck.Audience // for whom Check's reports are
	CA          string            // PEM certificates to trust in addition for all definitions
	// Progress is called when a check of a registry begins or ends, by one goroutine at a time.
	Progress func(done, total int, registry string)
}

// Run checks every distinct definition of the result once, and adds the report to all registries that have it. A check that has no
// report is in NotChecked; so are those that did not begin before ctx ended.
func (c Checks) Run(ctx context.Context, result *model.Result) {
	result.Validate()
	q := newQueue(result, cmp.Or(c.PerHost, defaultPerHost))
	progress := progress{report: c.Progress, total: len(q.pending)}
	var workers sync.WaitGroup
	for range min(cmp.Or(c.Concurrency, DefaultConcurrency), len(q.pending)) {
		workers.Go(func() {
			for j := q.next(ctx); j != nil; j = q.next(ctx) {
				progress.begin(j.host)
				c.run(ctx, j)
				progress.end(j.host)
				q.release(j)
			}
		})
	}
	workers.Wait()
	for _, j := range q.pending {
		j.attach(ctx, nil, context.Cause(ctx))
	}
	withoutNames(result)
	for i := range result.Registries {
		r := &result.Registries[i]
		r.Report = fixes.Report(*r, r.Report, c.Audience)
	}
	result.Summarize()
}

// withCA returns a definition that trusts more certificates.
func withCA(d regcheck.Definition, pem string) regcheck.Definition {
	if pem == "" || strings.HasPrefix(d.Endpoint, "http://") || d.Auth.TLS.Enabled && d.Auth.TLS.InsecureSkipVerify {
		return d
	}
	auth := *d.Auth
	if !auth.TLS.Enabled {
		auth.TLS = regcheck.TLS{Enabled: true}
	}
	auth.TLS.CA = strings.TrimSpace(auth.TLS.CA + "\n" + pem)
	d.Auth = &auth
	return d
}

// NoNames is why definitions were not checked if no host name could be resolved.
const NoNames = "No host name could be resolved, so that nothing was checked: this machine reaches no DNS server."

// missingNameIsCertain is whether the report that a name does not exist comes from a DNS server. The resolvers of macOS and Windows return
// the same error without a network.
var missingNameIsCertain = runtime.GOOS != "darwin" && runtime.GOOS != "windows"

// withoutNames makes all definitions not checked if the machine could resolve no name. Of one host, the name is more likely wrong; and a
// DNS server that reports that a name does not exist, which no retry changes, was reached.
func withoutNames(result *model.Result) {
	hosts := map[string]bool{}
	for _, r := range result.Registries {
		if r.Report == nil {
			continue
		}
		if r.Report.Code != regcheck.CodeHostNotFound || !r.Report.Retryable && missingNameIsCertain {
			return
		}
		name := url.URL{Host: hostOf(r.Definition)}
		hosts[name.Hostname()] = true
	}
	if len(hosts) < 2 {
		return
	}
	for i := range result.Registries {
		if r := &result.Registries[i]; r.Report != nil {
			r.Report, r.NotChecked = nil, NoNames
		}
	}
}

// run checks a definition. If its program connects without TLS to a registry that has none, so does the check.
func (c Checks) run(ctx context.Context, j *job) {
	plan, problems := regcheck.Parse(withCA(j.definition, c.CA))
	if len(problems) > 0 {
		j.refuse(problems)
		return
	}
	report, err := c.Check(ctx, plan)
	if err == nil && report.Reason == regcheck.ReasonNotTLS && j.fallsBack {
		if plan, problems := regcheck.Parse(withoutTLS(j.definition)); len(problems) == 0 {
			report, err = c.Check(ctx, plan)
			j.note("The registry has no TLS. It was used over plain HTTP, as its program does.")
		}
	}
	j.attach(ctx, report, err)
}

// withoutTLS returns a definition for plain HTTP.
func withoutTLS(d regcheck.Definition) regcheck.Definition {
	d.Endpoint = "http://" + strings.TrimPrefix(d.Endpoint, "https://")
	auth := *d.Auth
	auth.TLS, d.Auth = regcheck.TLS{}, &auth
	return d
}

// note replaces the text of the notice about plain HTTP by what the check found out.
func (j *job) note(message string) {
	for _, r := range j.registries {
		if i := slices.IndexFunc(r.Notices, isFallback); i >= 0 {
			r.Notices[i].Message = message
		}
	}
}

func isFallback(n model.Notice) bool { return n.Code == model.NoticePlainHTTPFallback }

// job is one check for all registries with the same definition.
type job struct {
	definition regcheck.Definition
	host       string
	fallsBack  bool // to plain HTTP
	registries []*model.Registry
}

// refuse adds the problems of a definition to its registries.
func (j *job) refuse(problems []regcheck.Problem) {
	for _, r := range j.registries {
		r.DefinitionProblems = problems
	}
}

// attach adds the outcome of a check to its registries.
func (j *job) attach(ctx context.Context, report *regcheck.Report, err error) {
	if report != nil && j.definition.ProviderType == "" {
		report.Warnings = slices.DeleteFunc(report.Warnings, ofKind)
	}
	for _, r := range j.registries {
		switch {
		case err == nil:
			r.Report = report
		case ctx.Err() != nil:
			r.NotChecked = Interrupted
		default:
			r.NotChecked = err.Error()
		}
	}
}

// ofKind reports whether a warning compares the content with a kind of artifact. The engine's default kind must not be compared: a file
// without a kind may be for any.
func ofKind(w regcheck.Warning) bool { return w.Code == regcheck.WarnContentKindMismatch }

// queue has the checks that have not begun, in order, and how many run for each host.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	pending []*job
	running map[string]int
	perHost int
}

func newQueue(result *model.Result, perHost int) *queue {
	q := &queue{running: map[string]int{}, perHost: perHost}
	q.changed.L = &q.mu
	known := map[string]*job{}
	for i := range result.Registries {
		r := &result.Registries[i]
		if r.Resolution != model.Resolved || len(r.DefinitionProblems) > 0 {
			continue
		}
		key, fallsBack := model.Key(r.Definition), slices.ContainsFunc(r.Notices, isFallback)
		if fallsBack {
			key += " or without TLS"
		}
		if known[key] == nil {
			known[key] = &job{definition: r.Definition, host: hostOf(r.Definition), fallsBack: fallsBack}
			q.pending = append(q.pending, known[key])
		}
		known[key].registries = append(known[key].registries, r)
	}
	return q
}

func hostOf(d regcheck.Definition) string {
	u, err := url.Parse(d.Registry())
	if err != nil {
		return d.Endpoint
	}
	return u.Host
}

// next returns the first check whose host has a free slot. It waits for a slot, and returns nil if no check is left or ctx ended.
func (q *queue) next(ctx context.Context) *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.pending) > 0 && ctx.Err() == nil {
		i := slices.IndexFunc(q.pending, func(j *job) bool { return q.running[j.host] < q.perHost })
		if i >= 0 {
			j := q.pending[i]
			q.pending = slices.Delete(q.pending, i, i+1)
			q.running[j.host]++
			return j
		}
		q.changed.Wait() // a running check ends, also when ctx ends
	}
	return nil
}

func (q *queue) release(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running[j.host]--
	q.changed.Broadcast()
}

// progress counts the checks that ended.
type progress struct {
	mu          sync.Mutex
	report      func(done, total int, registry string)
	done, total int
}

func (p *progress) begin(registry string) { p.add(0, registry) }
func (p *progress) end(registry string)   { p.add(1, registry) }

func (p *progress) add(n int, registry string) {
	if p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.report(p.done, p.total, registry)
}

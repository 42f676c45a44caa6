package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// found returns a resolved definition with a password.
func found(host, user string, password secret.String) model.Registry {
	auth := &regcheck.Auth{Username: user, Password: password}
	auth.Type = auth.Kind()
	return model.Registry{Resolution: model.Resolved, Sources: []model.Source{{File: "a.yaml", Line: 1}}, Notices: []model.Notice{},
		Definition: regcheck.Definition{Endpoint: "https://" + host, Auth: auth}}
}

// A registry without TLS is used as its program uses it: over plain HTTP if the program does that, and not otherwise.
func TestFallbackToPlainHTTP(t *testing.T) {
	fallback := found("a.test", "ada", "x")
	fallback.Notices = []model.Notice{{Code: model.NoticePlainHTTPFallback, Message: "may connect without TLS"}}
	result := model.Result{Registries: []model.Registry{fallback, found("a.test", "ada", "x")}}
	checks := Checks{Check: func(_ context.Context, plan *regcheck.Plan) (*regcheck.Report, error) {
		if plan.Endpoint() == "https://a.test" {
			return &regcheck.Report{Code: regcheck.CodeTLSFailed, Reason: regcheck.ReasonNotTLS}, nil
		}
		return &regcheck.Report{Valid: plan.Endpoint() == "http://a.test"}, nil
	}}
	checks.Run(t.Context(), &result)
	first, second := result.Registries[0], result.Registries[1]
	if !first.Report.Valid || !strings.Contains(first.Notices[0].Message, "was used over plain HTTP") || second.Report.Valid {
		t.Errorf("%+v %+v, %+v", first.Report, first.Notices, second.Report)
	}
}

// Without DNS nothing was checked; a single name that does not exist is a wrong one. Some systems do not distinguish both.
func TestNoNames(t *testing.T) {
	certain := missingNameIsCertain
	t.Cleanup(func() { missingNameIsCertain = certain })
	for _, row := range []struct {
		name               string
		hosts              []string
		retryable, certain bool
		want               string
	}{
		{"one host", []string{"r0.test"}, true, true, ""},
		{"several hosts", []string{"r0.test", "r1.test", "r2.test"}, true, true, NoNames},
		{"ports of one host", []string{"r0.test", "r0.test:5000", "r0.test:5001"}, true, true, ""},
		{"names that do not exist", []string{"r0.test", "r1.test"}, false, true, ""},
		{"names that do not exist, or no network", []string{"r0.test", "r1.test"}, false, false, NoNames},
		{"one that does not exist, or no network", []string{"r0.test"}, false, false, ""},
	} {
		missingNameIsCertain = row.certain
		result := model.Result{}
		for _, host := range row.hosts {
			result.Registries = append(result.Registries, found(host, "ada", "x"))
		}
		Checks{Check: func(context.Context, *regcheck.Plan) (*regcheck.Report, error) {
			return &regcheck.Report{Code: regcheck.CodeHostNotFound, Retryable: row.retryable}, nil
		}}.Run(t.Context(), &result)
		if got := result.Registries[0]; got.NotChecked != row.want || (got.Report == nil) != (row.want != "") {
			t.Errorf("%s: %q, %+v", row.name, got.NotChecked, got.Report)
		}
		var text strings.Builder
		if err := (Text{}).Write(&text, result); err != nil || strings.Count(text.String(), "DNS") != min(1, len(row.want)) {
			t.Errorf("%s: %v\n%s", row.name, err, text.String())
		}
	}
}

// recorder is a check that records what runs.
type recorder struct {
	mu                sync.Mutex
	checked           []string
	running, most     map[string]int
	runningAll, mosts int
	last              time.Duration // of a check
	err               error
}

func (r *recorder) check(ctx context.Context, plan *regcheck.Plan) (*regcheck.Report, error) {
	r.count(plan.Endpoint(), 1)
	defer r.count(plan.Endpoint(), -1)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(r.last):
	}
	if r.err != nil {
		return nil, r.err
	}
	return &regcheck.Report{Valid: plan.Endpoint() != "https://wrong.test", Registry: plan.Endpoint()}, nil
}

func (r *recorder) count(host string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		r.running, r.most = map[string]int{}, map[string]int{}
	}
	if n > 0 {
		r.checked = append(r.checked, host)
	}
	r.running[host] += n
	r.runningAll += n
	r.most[host], r.mosts = max(r.most[host], r.running[host]), max(r.mosts, r.runningAll)
}

func TestEqualDefinitionsAreCheckedOnce(t *testing.T) {
	kubelet := found("one.test", "ada", "x")
	kubelet.Consumer = model.Kubelet
	slash := found("one.test", "ada", "x")
	slash.Definition.Endpoint += "/"
	withoutTLS := found("one.test", "ada", "x")
	withoutTLS.Definition.Auth.TLS.CA = "not used"
	result := model.Result{Registries: []model.Registry{
		found("one.test", "ada", "x"), kubelet, slash, withoutTLS,
		found("one.test", "ada", "y"), found("wrong.test", "ada", "x"), found("two.test", "ada", "x"),
	}}
	path := found("one.test", "ada", "x")
	path.Definition.BaseContentPath = "charts"
	unresolved := found("three.test", "", "")
	unresolved.Resolution, unresolved.Reason = model.Unresolved, model.UnresolvedTemplate
	unusable := found("four.test", "ada", "line break\n")
	result.Registries = append(result.Registries, path, unresolved, unusable)
	r := &recorder{}
	Checks{Check: r.check}.Run(t.Context(), &result)
	if len(r.checked) != 5 {
		t.Errorf("checked %d times, want 5: %q", len(r.checked), r.checked)
	}
	for i, want := range []bool{true, true, true, true, true, false, true, true} {
		if report := result.Registries[i].Report; report == nil || report.Valid != want {
			t.Errorf("registry %d: %v, want valid %t", i, report, want)
		}
	}
	if got := result.Registries[8]; got.Report != nil || got.NotChecked != "" {
		t.Errorf("unresolved: %v %q", got.Report, got.NotChecked)
	}
	if got := result.Registries[9]; got.Report != nil || len(got.DefinitionProblems) != 1 ||
		got.DefinitionProblems[0].Field != "auth.password" {
		t.Errorf("a password with a line break at its end: %v %v", got.Report, got.DefinitionProblems)
	}
	want := model.Summary{Found: 10, Checked: 8, Valid: 7, NotValid: 2, Unresolved: 1}
	if result.Summary != want {
		t.Errorf("summary %+v, want %+v", result.Summary, want)
	}
}

// A registry is never contacted by more than PerHost checks at a time, and all others are not delayed by it.
func TestConcurrencyIsLimitedInAllAndPerHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var result model.Result
		for i := range 40 {
			result.Registries = append(result.Registries, found("slow.test", fmt.Sprint("user", i), "x"))
		}
		for i := range 12 {
			result.Registries = append(result.Registries, found(fmt.Sprintf("host%d.test", i), "ada", "x"))
		}
		r := &recorder{last: time.Second}
		start := time.Now()
		Checks{Check: r.check, Concurrency: 16, PerHost: 4}.Run(t.Context(), &result)
		if r.mosts != 16 || r.most["https://slow.test"] != 4 {
			t.Errorf("at most %d checks at the same time and %d of one host, want 16 and 4", r.mosts, r.most["https://slow.test"])
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("took %v, want 10s: 40 checks of one host, 4 at a time", took)
		}
	})
}

func TestInterruptedScanShowsWhatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var result model.Result
		for i := range 10 {
			result.Registries = append(result.Registries, found(fmt.Sprintf("host%d.test", i), "ada", "x"))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		r := &recorder{last: time.Second}
		Checks{Check: r.check, Concurrency: 2}.Run(ctx, &result)
		done := 0
		for _, registry := range result.Registries {
			switch {
			case registry.Report != nil:
				done++
			case registry.NotChecked != Interrupted:
				t.Errorf("not checked because %q", registry.NotChecked)
			}
		}
		if done != 4 || NotChecked(result) != 6 || len(r.checked) != 6 {
			t.Errorf("%d done, %d not checked, %d begun; want 4, 6, 6", done, NotChecked(result), len(r.checked))
		}
	})
}

func TestFaultOfACheckIsNotItsResult(t *testing.T) {
	result := model.Result{Registries: []model.Registry{found("one.test", "ada", "x")}}
	Checks{Check: (&recorder{err: errors.New("no memory")}).check}.Run(t.Context(), &result)
	if got := result.Registries[0]; got.NotChecked != "no memory" || got.Report != nil || result.Summary.NotValid != 0 {
		t.Errorf("%q %v %+v", got.NotChecked, got.Report, result.Summary)
	}
}

func TestProgressCountsChecks(t *testing.T) {
	result := model.Result{Registries: []model.Registry{found("one.test", "ada", "x"), found("one.test", "ada", "y")}}
	var shown []string
	Checks{Check: (&recorder{}).check, Concurrency: 1, Progress: func(done, total int, registry string) {
		shown = append(shown, fmt.Sprintf("%d/%d %s", done, total, registry))
	}}.Run(t.Context(), &result)
	if want := []string{"0/2 one.test", "1/2 one.test", "1/2 one.test", "2/2 one.test"}; !slices.Equal(shown, want) {
		t.Errorf("%q, want %q", shown, want)
	}
}

// The kind of the content is compared only with a kind that the file has.
func TestDefaultKindIsNotCompared(t *testing.T) {
	mismatch := func(context.Context, *regcheck.Plan) (*regcheck.Report, error) {
		return &regcheck.Report{Valid: true, Warnings: []regcheck.Warning{{Code: regcheck.WarnContentKindMismatch},
			{Code: regcheck.WarnRedirected}}}, nil
	}
	withKind := found("one.test", "ada", "x")
	withKind.Definition.ProviderType = regcheck.Zarf
	result := model.Result{Registries: []model.Registry{found("one.test", "ada", "x"), withKind}}
	Checks{Check: mismatch}.Run(t.Context(), &result)
	if without, with := result.Registries[0].Report.Warnings, result.Registries[1].Report.Warnings; len(without) != 1 || len(with) != 2 {
		t.Errorf("%d warnings without a kind and %d with one, want 1 and 2", len(without), len(with))
	}
}

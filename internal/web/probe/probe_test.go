package probe

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/watch"
)

// request is what a handler asked for.
type request struct {
	target watch.Target
	maxAge time.Duration
	within time.Duration
}

func get(t *testing.T, query, timeout string, found watch.RegistryHealth, err error) (asked []request, status int, body string) {
	t.Helper()
	handler := Handler(http.NotFoundHandler(), func(ctx context.Context, target watch.Target, maxAge time.Duration) (
		watch.RegistryHealth, error,
	) {
		deadline, _ := ctx.Deadline()
		asked = append(asked, request{target, maxAge, time.Until(deadline)})
		return found, err
	}, 15*time.Minute, slog.New(slog.DiscardHandler))
	r, w := httptest.NewRequest(http.MethodGet, Path+query, nil), httptest.NewRecorder()
	if timeout != "" {
		r.Header.Set(timeoutHeader, timeout)
	}
	handler.ServeHTTP(w, r)
	return asked, w.Code, w.Body.String()
}

func TestQueries(t *testing.T) {
	for query, want := range map[string]request{
		"?target=harbor": {watch.Target{Name: "harbor"}, 30 * time.Minute, 0},
		"?target=a%20b&organization=acme&project=Blue&max-age=1h": {watch.Target{Name: "a b", Org: "acme", Project: "Blue"}, time.Hour, 0},
	} {
		asked, status, _ := get(t, query, "", watch.RegistryHealth{}, nil)
		if status != http.StatusOK || len(asked) != 1 || asked[0].target != want.target || asked[0].maxAge != want.maxAge {
			t.Errorf("%s: %d, %+v", query, status, asked)
		}
	}
	for _, query := range []string{"", "?target=", "?target=a&target=b", "?target=a&max-age=1s", "?target=a&max-age=x", "?target=a;b",
		"?target=a&endpoint=https://r.example", "?target=a&password=hunter2", "?target=a&module=http_2xx"} {
		asked, status, body := get(t, query, "", watch.RegistryHealth{}, nil)
		if status != http.StatusBadRequest || len(asked) != 0 || strings.Contains(body, "hunter2") {
			t.Errorf("%s: %d %s, %+v", query, status, body, asked)
		}
	}
}

// A probe ends before Prometheus stops waiting for it.
func TestTimeouts(t *testing.T) {
	for header, want := range map[string]time.Duration{"": defaultTimeout, "10": 9500 * time.Millisecond, "0.4": 200 * time.Millisecond,
		"100000": maxTimeout - timeoutMargin, "-1": defaultTimeout, "NaN": defaultTimeout, "1e400": defaultTimeout, "x": defaultTimeout} {
		asked, _, _ := get(t, "?target=r", header, watch.RegistryHealth{}, nil)
		if got := asked[0].within; got > want || got < want-20*time.Second {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}

// A registry that fails is a result. That nothing is known of it is an error, for which Prometheus sets up to 0.
func TestResults(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_500)
	failing := watch.RegistryHealth{Stages: []watch.StageTime{
		{Stage: "resolve", Took: 2 * time.Millisecond}, {Stage: "auth", Took: time.Second}}}
	failing.Health.Since, failing.Health.LastAt = at, at
	failing.Health.State.Code, failing.Health.State.Reason, failing.Health.State.Stage = "RegistryAuthFailed", "refused", "auth"
	failing.Health.State.CertificateNotAfter = at
	healthy := watch.RegistryHealth{}
	healthy.Health.Since, healthy.Health.State.Valid = at, true
	failing.Health.State.CredentialsNotAfter = at
	page, err := os.ReadFile("../../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	families, err := metricsOf(failing).Gather()
	for _, family := range families {
		if !strings.Contains(string(page), "\n| `"+family.GetName()+"` |") {
			t.Errorf("%s is not documented", family.GetName())
		}
	}
	if err != nil || len(families) != 7 {
		t.Errorf("%d metrics, %v", len(families), err)
	}
	for _, tt := range []struct {
		found watch.RegistryHealth
		lines []string
	}{
		{failing, []string{"probe_success 0", "probe_duration_seconds 1.002", "probe_ssl_earliest_cert_expiry 1.8000000005e+09",
			`regwarden_probe_failure_info{code="RegistryAuthFailed",reason="refused",stage="auth"} 1`,
			`regwarden_probe_stage_duration_seconds{stage="resolve"} 0.002`, "regwarden_probe_check_timestamp_seconds 1.8000000005e+09"}},
		{healthy, []string{"probe_success 1"}},
		{watch.RegistryHealth{}, []string{"probe_success 0"}},
	} {
		_, status, body := get(t, "?target=r", "", tt.found, nil)
		for _, line := range tt.lines {
			if status != http.StatusOK || !strings.Contains(body, "\n"+line+"\n") {
				t.Errorf("%d, no line %s in\n%s", status, line, body)
			}
		}
	}
	for err, want := range map[error]int{fault.ResourceNotFound("Registry not found."): http.StatusNotFound,
		fault.Busy("No server.", time.Second): http.StatusServiceUnavailable, errors.New("secret"): http.StatusInternalServerError} {
		if _, status, body := get(t, "?target=r", "", healthy, err); status != want || strings.Contains(body, "secret") {
			t.Errorf("%v: %d %s", err, status, body)
		}
	}
}

// More probes than maxInFlight are refused at once.
func TestProbesAreBounded(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	handler := Handler(http.NotFoundHandler(), func(context.Context, watch.Target, time.Duration) (watch.RegistryHealth, error) {
		entered <- struct{}{}
		<-release
		return watch.RegistryHealth{}, nil
	}, time.Minute, slog.New(slog.DiscardHandler))
	send := func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: Path, RawQuery: "target=r"}})
		return w.Code
	}
	statuses := make(chan int, maxInFlight)
	for range maxInFlight {
		go func() { statuses <- send() }()
		<-entered
	}
	if status := send(); status != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", status)
	}
	close(release)
	for range maxInFlight {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("one of those: %d", status)
		}
	}
}

package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regwarden/regwarden/regcheck"
)

// collector is an OTLP receiver.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	header http.Header
	path   string
	spans  []span
}

func newCollector(t testing.TB, status int) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent traces
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.header, c.path = r.Header, r.URL.Path
		for _, of := range sent.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(c.Close)
	return c
}

// start sets variables and starts; what it started ends before the collector.
func start(t testing.TB, log *slog.Logger, environment map[string]string) (*Tracing, error) {
	t.Helper()
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER",
		"OTEL_SDK_DISABLED", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TIMEOUT",
		"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY"} {
		t.Setenv(name, environment[name])
	}
	return Start(t.Context(), "v1", log)
}

func attributesOf(s span) map[string]any {
	all := map[string]any{}
	for _, a := range s.Attributes {
		for _, value := range a.Value {
			all[a.Key] = value
		}
	}
	return all
}

// A request is a span in the trace of its caller, and a check below it a span with one for each stage that ran.
func TestSpans(t *testing.T) {
	c := newCollector(t, http.StatusOK)
	var log bytes.Buffer
	tracing, err := start(t, slog.New(slog.NewTextHandler(&log, nil)), map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL + "/base",
		"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b"})
	if err != nil {
		t.Fatal(err)
	}
	logger := tracing.Logger(slog.New(slog.NewTextHandler(&log, nil))).With("a", "b")
	const traceID, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	handler := tracing.Requests(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		report := &regcheck.Report{Registry: "https://r.example/v2/?token=hunter2", Code: "RegistryAuthFailed", Reason: "refused",
			Stage: regcheck.StageAuth, Stages: []regcheck.StageResult{
				{Name: regcheck.StageResolve, Status: regcheck.OK, Duration: time.Millisecond, Detail: "hunter2"},
				{Name: regcheck.StageAuth, Status: regcheck.Failed, Duration: time.Second, Detail: "hunter2"},
				{Name: regcheck.StageContent, Status: regcheck.Skipped}}}
		tracing.Check(r.Context(), time.Now(), report, nil)
		tracing.Check(r.Context(), time.Now(), nil, context.Canceled)
		logger.InfoContext(r.Context(), "request")
		tracing.Request(r.Context(), "/v1/refresh/{token}", "GET", 500, "InternalError")
	}))
	r := httptest.NewRequest(http.MethodGet, "/v1/refresh/hunter2?q=hunter2", nil)
	r.Header.Set("Traceparent", "00-"+traceID+"-"+parent+"-01")
	handler.ServeHTTP(httptest.NewRecorder(), r)
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/healthz", nil)) // its check is a trace of its own
	tracing.Stop()

	spans := map[string]span{}
	for _, s := range c.spans {
		if s.TraceID == traceID {
			spans[s.Name] = s
		}
	}
	request, check, auth := spans["GET /v1/refresh/{token}"], spans["check"], spans["stage auth"]
	if request.ParentSpanID != parent || check.ParentSpanID != request.SpanID || auth.ParentSpanID == "" || len(spans) != 4 {
		t.Errorf("not one tree: %+v", spans)
	}
	if request.Kind != 2 || request.Status.Code != 2 || attributesOf(request)["http.response.status_code"] != "500" {
		t.Errorf("the request: %+v", request)
	}
	if a := attributesOf(auth); auth.Status.Code != 2 || a["regwarden.code"] != "RegistryAuthFailed" ||
		a["regwarden.reason"] != "refused" ||
		auth.Start != spans["stage resolve"].End {
		t.Errorf("the stage that failed: %+v", auth)
	}
	if c.path != "/base/v1/traces" || c.header.Get("Api-Key") != "a b" {
		t.Errorf("sent to %s with %v", c.path, c.header)
	}
	if text, _ := json.Marshal(c.spans); strings.Contains(string(text), "hunter2") {
		t.Errorf("a span has a secret: %s", text)
	}
	if text := log.String(); !strings.Contains(text, "msg=request a=b trace_id="+traceID) {
		t.Errorf("the log is %s", text)
	}
}

func TestEnvironment(t *testing.T) {
	discard := slog.New(slog.DiscardHandler)
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, off := range []map[string]string{{}, {endpoint: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{endpoint: "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}} {
		tracing, err := start(t, discard, off)
		if tracing != nil || err != nil {
			t.Errorf("%v: %v, %v", off, tracing, err)
		}
		tracing.Check(t.Context(), time.Now(), nil, nil)
		tracing.Request(t.Context(), "", "", 0, "")
		tracing.Stop()
		if tracing.Logger(discard) != discard {
			t.Error("the logger is changed")
		}
	}
	for name, value := range map[string]string{endpoint: "hunter2:4318", "OTEL_TRACES_EXPORTER": "zipkin",
		"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_HEADERS": "hunter2", "OTEL_EXPORTER_OTLP_TIMEOUT": "10s",
		"OTEL_EXPORTER_OTLP_CERTIFICATE": "/missing", "OTEL_EXPORTER_OTLP_CLIENT_KEY": "/missing"} {
		_, err := start(t, discard, map[string]string{endpoint: "http://127.0.0.1:1", name: value})
		if err == nil || !strings.Contains(err.Error(), "OTEL_") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// A collector that refuses spans, or redirects them, is in the log, and nothing else happens.
func TestCollectorRefuses(t *testing.T) {
	c := newCollector(t, http.StatusTemporaryRedirect)
	var log bytes.Buffer
	tracing, err := start(t, slog.New(slog.NewTextHandler(&log, nil)), map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.URL})
	if err != nil {
		t.Fatal(err)
	}
	tracing.Check(t.Context(), time.Now(), nil, errors.New("canceled"))
	tracing.Stop()
	if c.path != "/" || !strings.Contains(log.String(), "the collector returned 307 Temporary Redirect for 1 spans") {
		t.Errorf("sent to %s: %s", c.path, &log)
	}
}

// BenchmarkGET compares requests over loopback with and without tracing.
func BenchmarkGET(b *testing.B) {
	c := newCollector(b, http.StatusOK)
	traced, err := start(b, slog.New(slog.DiscardHandler), map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(traced.Stop)
	for name, tracing := range map[string]*Tracing{"off": nil, "on": traced} {
		server := httptest.NewServer(tracing.Requests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "{}")
			tracing.Request(r.Context(), "/v1/users", "GET", http.StatusOK, "")
		})))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				response, err := http.Get(server.URL + "/v1/users")
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
		server.Close()
	}
}

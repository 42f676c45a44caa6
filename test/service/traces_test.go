package service_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// collector receives traces as OTLP in JSON.
type collector struct {
	mu    sync.Mutex
	text  strings.Builder
	spans []span
}

type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	Attributes                          []struct {
		Key   string
		Value map[string]any
	}
}

func (s span) attribute(key string) any {
	for _, a := range s.Attributes {
		if a.Key == key {
			for _, value := range a.Value {
				return value
			}
		}
	}
	return nil
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var sent struct {
		ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
	}
	text, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(text, &sent) != nil || r.URL.Path != "/v1/traces" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.Write(text)
	for _, of := range sent.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// await returns the spans of the trace in which there is a span of that name, once all of them have come.
func (c *collector) await(t *testing.T, name string, spans int) (trace []span) {
	t.Helper()
	instance.Await(t, name, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		at := slices.IndexFunc(c.spans, func(s span) bool { return s.Name == name })
		if at < 0 {
			return false
		}
		trace = slices.DeleteFunc(slices.Clone(c.spans), func(s span) bool { return s.TraceID != c.spans[at].TraceID })
		return len(trace) == spans
	})
	return trace
}

// TestTraces has a login, a refresh, a check that fails, and a scheduled one, in a collector.
func TestTraces(t *testing.T) {
	t.Parallel()
	collected := &collector{}
	receiver := httptest.NewServer(collected)
	t.Cleanup(receiver.Close)
	server := instance.Start(t, instance.Options{Env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + receiver.URL,
		"OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test"}})
	registry := &account{password: adaPassword}
	endpoint := httptest.NewServer(registry)
	t.Cleanup(endpoint.Close)
	admin, tokens := loggedIn(t, server, instance.Email, instance.Org, instance.Password)
	admin.client.Do("GET", refresh+tokens.RefreshToken+"?x=hunter2", "").Want(http.StatusOK)
	const traceID, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	admin.client.Do("POST", diagnose, basic(endpoint.URL, ada, "hunter2"),
		append(slices.Clone(admin.credential), "Traceparent", "00-"+traceID+"-"+parent+"-01")...).Want(http.StatusOK)

	if login := collected.await(t, "POST /v1/auth", 1)[0]; login.attribute("http.response.status_code") != "200" {
		t.Errorf("the login: %+v", login)
	}
	if refreshed := collected.await(t, "GET "+refresh+"{token}", 1)[0]; refreshed.attribute("http.route") != refresh+"{token}" {
		t.Errorf("the refresh: %+v", refreshed)
	}
	spans := map[string]span{}
	for _, s := range collected.await(t, "POST "+diagnose, 7) {
		spans[s.Name] = s
	}
	request, check, failed := spans["POST "+diagnose], spans["check"], spans["stage auth"]
	if request.TraceID != traceID || request.ParentSpanID != parent || check.ParentSpanID != request.SpanID ||
		failed.ParentSpanID != check.SpanID || failed.attribute("regwarden.code") != "RegistryAuthFailed" ||
		failed.attribute("regwarden.reason") != "refused" {
		t.Errorf("the check: %+v", spans)
	}
	if text := server.Log(); !strings.Contains(text, "path="+diagnose) || !strings.Contains(text, "trace_id="+traceID) {
		t.Errorf("the log does not have the trace:\n%s", text)
	}

	admin.make(registriesPath, newRegistry("watched", spec(endpoint.URL, basicAuth(adaPassword), nil)))
	instance.Await(t, "a trace of a scheduled check", func() bool {
		collected.mu.Lock()
		defer collected.mu.Unlock()
		return slices.ContainsFunc(collected.spans, func(s span) bool { return s.Name == "check" && s.ParentSpanID == "" })
	})
	collected.mu.Lock()
	defer collected.mu.Unlock()
	text := collected.text.String()
	for _, secret := range []string{"hunter2", adaPassword, tokens.RefreshToken, tokens.Authorization, instance.Password, instance.Email} {
		if strings.Contains(text, secret) {
			t.Errorf("the traces have %s", secret)
		}
	}
	if !strings.Contains(text, "deployment.environment.name") || strings.Contains(text, "readyz") {
		t.Error("the traces lack an attribute of the environment, or have health checks")
	}
}

// Package telemetry exports traces of requests and checks by OTLP, as the standard environment variables of OpenTelemetry say. Only the
// wiring imports it: other packages call functions that it sets.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	serviceName = "regwarden"
	stopTimeout = 5 * time.Second // for the spans that are left when the service ends
)

// Tracing creates and exports spans. A nil *Tracing does nothing.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// Start reads the environment. It returns nil if no collector is named there.
func Start(ctx context.Context, version string, log *slog.Logger) (*Tracing, error) {
	exporter, err := newExporter(os.Getenv)
	if err != nil || exporter == nil {
		return nil, err
	}
	described, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", serviceName),
		attribute.String("service.version", version)), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces not exported", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described))
	log.Info("exporting traces", "endpoint", exporter.endpoint.Redacted(), "protocol", protocol)
	return &Tracing{provider, provider.Tracer("github.com/regwarden/regwarden")}, nil
}

// Stop exports the spans that are left.
func (t *Tracing) Stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}

// Requests begins a span for each request, in the trace that its traceparent names. Health checks have none: they would be most spans.
func (t *Tracing) Requests(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == api.PathHealth || r.URL.Path == api.PathReady {
			next.ServeHTTP(w, r)
			return
		}
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx, "HTTP request", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Request describes a request that has ended by what its log line has: the path may contain a token, its template does not.
func (t *Tracing) Request(ctx context.Context, template, method string, status int, code string) {
	span := trace.SpanFromContext(ctx)
	if t == nil || !span.IsRecording() {
		return
	}
	span.SetName(method + " " + template)
	span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", template),
		attribute.Int("http.response.status_code", status))
	if code != "" {
		span.SetAttributes(attribute.String("error.type", code))
	}
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
}

// Check adds a span of a check that has ended, with one for each stage. Stages follow one another, so that durations are enough.
func (t *Tracing) Check(ctx context.Context, began time.Time, report *regcheck.Report, err error) {
	if t == nil {
		return
	}
	ctx, span := t.tracer.Start(ctx, "check", trace.WithTimestamp(began))
	defer span.End()
	if err != nil {
		span.SetAttributes(attribute.String("error.type", fault.CodeOf(err)))
		span.SetStatus(codes.Error, "")
		return
	}
	span.SetAttributes(attribute.Bool("regwarden.valid", report.Valid))
	if registry, err := url.Parse(report.Registry); err == nil {
		span.SetAttributes(attribute.String("server.address", registry.Hostname()))
	}
	cause := []attribute.KeyValue{attribute.String("regwarden.code", string(report.Code)),
		attribute.String("regwarden.reason", string(report.Reason))}
	if !report.Valid {
		span.SetAttributes(cause...)
	}
	for at, stages := began, report.Stages; len(stages) > 0; stages = stages[1:] {
		stage := stages[0]
		if stage.Status == regcheck.Skipped {
			continue
		}
		_, s := t.tracer.Start(ctx, "stage "+string(stage.Name), trace.WithTimestamp(at))
		s.SetAttributes(attribute.String("regwarden.stage", string(stage.Name)), attribute.String("regwarden.status", string(stage.Status)))
		if stage.Name == report.Stage {
			s.SetAttributes(cause...)
			s.SetStatus(codes.Error, "")
		}
		at = at.Add(stage.Duration)
		s.End(trace.WithTimestamp(at))
	}
}

// Logger returns a logger that adds the id of the trace to the lines of a request.
func (t *Tracing) Logger(log *slog.Logger) *slog.Logger {
	if t == nil {
		return log
	}
	return slog.New(logHandler{log.Handler()})
}

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := trace.SpanContextFromContext(ctx).TraceID(); id.IsValid() {
		r.AddAttrs(slog.String("trace_id", id.String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }

// isOff reports whether the environment asks for no traces.
func isOff(getenv func(string) string) bool {
	return strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(getenv("OTEL_TRACES_EXPORTER"), "none")
}

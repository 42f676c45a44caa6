package telemetry

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// protocol is the only one: the exporters of OpenTelemetry bring gRPC and protobuf, 2.2 MB more in the binary.
const protocol = "http/json"

const defaultTimeout = 10 * time.Second

// exporter sends spans as OTLP in JSON.
type exporter struct {
	endpoint *url.URL
	header   http.Header
	client   *http.Client
}

// variables reads a variable for traces, or else that for all signals, and returns which of them it read.
type variables func(name string) (text, variable string)

// newExporter returns nil if traces are off.
func newExporter(getenv func(string) string) (*exporter, error) {
	var get variables = func(name string) (text, variable string) {
		variable = "OTEL_EXPORTER_OTLP_TRACES_" + name
		if text = getenv(variable); text == "" {
			variable = "OTEL_EXPORTER_OTLP_" + name
			text = getenv(variable)
		}
		return text, variable
	}
	if endpoint, _ := get("ENDPOINT"); endpoint == "" || isOff(getenv) {
		return nil, nil
	}
	if kind := getenv("OTEL_TRACES_EXPORTER"); kind != "" && kind != "otlp" {
		return nil, errors.New("OTEL_TRACES_EXPORTER: must be otlp or none")
	}
	if p, name := get("PROTOCOL"); p != "" && p != protocol && p != "http/protobuf" { // collectors receive both at the same address
		return nil, fmt.Errorf("%s: must be %s", name, protocol)
	}
	e := &exporter{header: http.Header{"Content-Type": {"application/json"}}}
	var err error
	if e.endpoint, err = get.endpoint(); err != nil {
		return nil, err
	}
	if err := e.addHeaders(get("HEADERS")); err != nil {
		return nil, err
	}
	e.client, err = get.client()
	return e, err
}

func (get variables) endpoint() (*url.URL, error) {
	text, variable := get("ENDPOINT")
	target, err := url.Parse(text)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, fmt.Errorf("%s: must be a URL, such as http://127.0.0.1:4318", variable) // the value may have a password
	}
	if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		target = target.JoinPath("v1", "traces")
	}
	return target, nil
}

// client returns a client without redirects: one could take the headers to another host.
func (get variables) client() (*http.Client, error) {
	timeout := defaultTimeout
	if text, name := get("TIMEOUT"); text != "" {
		milliseconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil || milliseconds == 0 {
			return nil, fmt.Errorf("%s: must be milliseconds", name)
		}
		timeout = time.Duration(milliseconds) * time.Millisecond
	}
	config, err := get.tls()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	return &http.Client{Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// addHeaders reads name=value,name=value, with escaped values. An error does not repeat them: they are credentials.
func (e *exporter) addHeaders(text, variable string) error {
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || err != nil {
			return fmt.Errorf("%s: must be name=value pairs, separated by commas", variable)
		}
		e.header.Set(strings.TrimSpace(name), value)
	}
	return nil
}

func (get variables) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file, name := get("CERTIFICATE"); file != "" {
		roots, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(roots) {
			return nil, fmt.Errorf("%s: %s has no certificate", name, file)
		}
	}
	certificate, name := get("CLIENT_CERTIFICATE")
	key, _ := get("CLIENT_KEY")
	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Shutdown implements sdktrace.SpanExporter.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// ExportSpans implements sdktrace.SpanExporter. Spans that a collector does not accept are lost: those of the next minutes matter more
// than memory for a queue.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	body, err := json.Marshal(encode(spans))
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = e.header.Clone()
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector returned %s for %d spans", response.Status, len(spans))
	}
	return nil
}

// The JSON encoding of OTLP: ids in hexadecimal, 64-bit numbers as strings.
type (
	traces struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	attributes struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []span `json:"spans"`
	}
	span struct {
		TraceID      string     `json:"traceId"`
		SpanID       string     `json:"spanId"`
		TraceState   string     `json:"traceState,omitempty"`
		ParentSpanID string     `json:"parentSpanId,omitempty"`
		Name         string     `json:"name"`
		Kind         int        `json:"kind"`
		Start        string     `json:"startTimeUnixNano"`
		End          string     `json:"endTimeUnixNano"`
		Attributes   []keyValue `json:"attributes,omitempty"`
		Status       struct {
			Code int `json:"code,omitempty"`
		} `json:"status"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// encode returns spans of one provider, which all have the same resource and scope.
func encode(spans []sdktrace.ReadOnlySpan) traces {
	if len(spans) == 0 {
		return traces{}
	}
	scope := scopeSpans{}
	scope.Scope.Name = spans[0].InstrumentationScope().Name
	for _, s := range spans {
		scope.Spans = append(scope.Spans, encodeSpan(s))
	}
	return traces{[]resourceSpans{{attributes{encodeAttributes(spans[0].Resource().Attributes())}, []scopeSpans{scope}}}}
}

func encodeSpan(s sdktrace.ReadOnlySpan) span {
	const statusError = 2 // of OTLP, where the numbers are not those of package codes
	own := s.SpanContext()
	out := span{TraceID: own.TraceID().String(), SpanID: own.SpanID().String(), TraceState: own.TraceState().String(), Name: s.Name(),
		Kind: int(s.SpanKind()), Start: nanoseconds(s.StartTime()), End: nanoseconds(s.EndTime()),
		Attributes: encodeAttributes(s.Attributes())}
	if s.Parent().HasSpanID() {
		out.ParentSpanID = s.Parent().SpanID().String()
	}
	if s.Status().Code == codes.Error {
		out.Status.Code = statusError
	}
	return out
}

func nanoseconds(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

func encodeAttributes(list []attribute.KeyValue) (all []keyValue) {
	for _, a := range list {
		value := map[string]any{"stringValue": a.Value.String()}
		switch a.Value.Type() {
		case attribute.BOOL:
			value = map[string]any{"boolValue": a.Value.AsBool()}
		case attribute.INT64:
			value = map[string]any{"intValue": a.Value.String()}
		default: // no other types are used
		}
		all = append(all, keyValue{string(a.Key), value})
	}
	return all
}

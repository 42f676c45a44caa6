// Package probe serves the health of one stored registry to Prometheus, in the form of blackbox_exporter.
package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/watch"
)

// Path is the path of probes.
const Path = "/probe"

const (
	// minAge bounds how often probes have a registry contacted: anyone who reaches the address may send them.
	minAge = time.Minute

	timeoutHeader  = "X-Prometheus-Scrape-Timeout-Seconds"
	defaultTimeout = 30 * time.Second
	maxTimeout     = time.Minute            // the server of this handler ends a response a little later
	timeoutMargin  = 500 * time.Millisecond // for the response
	maxInFlight    = 100                    // probes that wait read the store five times a second
)

// Find returns the health of a registry from a check that is younger than maxAge, and waits for one until ctx ends. It is
// watch.Service.Probe.
type Find func(ctx context.Context, target watch.Target, maxAge time.Duration) (watch.RegistryHealth, error)

// Handler serves GET /probe?target=NAME, and passes on other requests to next. Results may be as old as two intervals of checks, unless
// a request says otherwise.
func Handler(next http.Handler, find Find, interval time.Duration, log *slog.Logger) http.Handler {
	slots := make(chan struct{}, maxInFlight)
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "Too many probes are running.", http.StatusServiceUnavailable)
			return
		}
		target, maxAge, err := parse(r.URL.RawQuery, max(2*interval, minAge))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeoutOf(r))
		defer cancel()
		found, err := find(ctx, target, maxAge)
		if err != nil {
			fail(w, err, log)
			return
		}
		promhttp.HandlerFor(metricsOf(found), promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
	return mux
}

// parse reads a query. Unknown parameters are errors: a credential or an address in a URL must not be ignored silently.
func parse(rawQuery string, age time.Duration) (target watch.Target, maxAge time.Duration, err error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return target, 0, errors.New("The query is malformed.") //nolint:staticcheck // a response
	}
	for name, values := range query {
		switch {
		case !slices.Contains([]string{"target", "organization", "project", "max-age"}, name):
			return target, 0, errors.New("Parameters are target, organization, project and max-age.") //nolint:staticcheck // as above
		case len(values) > 1:
			return target, 0, fmt.Errorf("%s: must be sent only once", name)
		}
	}
	target = watch.Target{Name: query.Get("target"), Org: query.Get("organization"), Project: query.Get("project")}
	if target.Name == "" {
		return target, 0, errors.New("target: is required: the name of a stored registry")
	}
	if text := query.Get("max-age"); text != "" {
		if age, err = time.ParseDuration(text); err != nil || age < minAge {
			return target, 0, fmt.Errorf("max-age: must be a duration of at least %s, such as 30m", minAge)
		}
	}
	return target, age, nil
}

// timeoutOf returns how long a probe may take: a little less than Prometheus waits.
func timeoutOf(r *http.Request) time.Duration {
	seconds, err := strconv.ParseFloat(r.Header.Get(timeoutHeader), 64)
	if err != nil || !(seconds > 0) {
		return defaultTimeout
	}
	timeout := time.Duration(min(seconds, maxTimeout.Seconds()) * float64(time.Second))
	return max(timeout-timeoutMargin, timeout/2)
}

func fail(w http.ResponseWriter, err error, log *slog.Logger) {
	f := fault.Visible(err)
	if f.Kind == fault.Internal {
		log.Error("probe failed", "error", err)
	}
	http.Error(w, f.Message, f.Status())
}

// metricsOf has the names of blackbox_exporter where they exist, so that its rules and dashboards can be used.
func metricsOf(r watch.RegistryHealth) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	gauge := func(name, help string, labels prometheus.Labels, value float64) {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels})
		g.Set(value)
		registry.MustRegister(g)
	}
	timestamp := func(name, help string, at time.Time) {
		if !at.IsZero() {
			gauge(name, help, nil, float64(at.UnixMilli())/1000)
		}
	}
	state, word, took, success := r.Health.State, r.Health.Word(), time.Duration(0), 0.0
	for _, stage := range r.Stages {
		took += stage.Took
		gauge("regwarden_probe_stage_duration_seconds", "Duration of each stage of the check.", prometheus.Labels{"stage": stage.Stage},
			stage.Took.Seconds())
	}
	if word == watch.Healthy {
		success = 1
	}
	if state.Code != "" {
		gauge("regwarden_probe_failure_info", "The cause of the failure.",
			prometheus.Labels{"code": state.Code, "reason": state.Reason, "stage": state.Stage}, 1)
	}
	gauge("probe_success", "1 if the registry is healthy.", nil, success)
	gauge("probe_duration_seconds", "Duration of the check that the result is from.", nil, took.Seconds())
	timestamp("probe_ssl_earliest_cert_expiry", "When the first certificate expires.", state.CertificateNotAfter)
	timestamp("regwarden_probe_credentials_expiry_timestamp_seconds", "When the credentials expire.", state.CredentialsNotAfter)
	timestamp("regwarden_probe_check_timestamp_seconds", "When the check ended that the result is from.", r.Health.LastAt)
	return registry
}

// Package metrics counts what the service does, for Prometheus.
package metrics

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/regcheck"
)

// Metrics counts events of the service. Every label has a closed set of values: with values chosen by clients, the
// number of series would be unbounded, and labels could contain a secret. The zero value of *Metrics counts nothing.
type Metrics struct {
	registry       *prometheus.Registry
	requests       *prometheus.HistogramVec
	validations    *prometheus.CounterVec
	validationTime prometheus.Histogram
	logins         *prometheus.CounterVec
	watchChecks    *prometheus.CounterVec
	deliveries     *prometheus.CounterVec
	latency        *prometheus.HistogramVec
}

// Load returns the number of running and of waiting operations.
type Load func() (running, waiting int)

// New returns the metrics of one service. queues are read at each scrape.
func New(version string, queues map[string]Load) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "regwarden_http_request_duration_seconds", Help: "HTTP requests by route, method and class of status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"route", "method", "status"}),
		validations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "regwarden_validations_total", Help: "Validations by outcome, code and failed stage.",
		}, []string{"outcome", "code", "stage"}),
		validationTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "regwarden_validation_duration_seconds", Help: "Duration of validations that returned a result.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "regwarden_logins_total", Help: "Logins by outcome.",
		}, []string{"outcome"}),
		watchChecks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "regwarden_watch_checks_total", Help: "Scheduled checks of stored registries by outcome.",
		}, []string{"outcome"}),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "regwarden_alert_deliveries_total", Help: "Attempts to deliver an alert by channel type and outcome.",
		}, []string{"channel", "outcome"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "regwarden_queue_latency_seconds", Help: "How late scheduled checks and attempts to deliver an alert began.",
			Buckets: []float64{1, 2, 5, 10, 30, 60, 300, 900, 3600},
		}, []string{"queue"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "regwarden_build_info", Help: "1, with the version as label.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.validations, m.validationTime, m.logins, m.watchChecks, m.deliveries, m.latency, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.beginAtZero()
	for name, load := range queues {
		m.registry.MustRegister(newQueue(name, load))
	}
	return m
}

// Handler serves GET /metrics, on a separate listener.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4,
	}))
	return mux
}

// queue collects the load of one queue, with both numbers from the same moment.
type queue struct {
	load             Load
	running, waiting *prometheus.Desc
}

func newQueue(name string, load Load) *queue {
	label := prometheus.Labels{"queue": name}
	return &queue{load: load,
		running: prometheus.NewDesc("regwarden_queue_running", "Operations that are running.", nil, label),
		waiting: prometheus.NewDesc("regwarden_queue_waiting", "Operations that wait for a slot.", nil, label),
	}
}

func (q *queue) Describe(to chan<- *prometheus.Desc) {
	to <- q.running
	to <- q.waiting
}

func (q *queue) Collect(to chan<- prometheus.Metric) {
	running, waiting := q.load()
	to <- prometheus.MustNewConstMetric(q.running, prometheus.GaugeValue, float64(running))
	to <- prometheus.MustNewConstMetric(q.waiting, prometheus.GaugeValue, float64(waiting))
}

// Request counts a completed request. template and method are those of the access log.
func (m *Metrics) Request(template, method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	class := "none" // the connection was closed without a response
	if status > 0 {
		class = strconv.Itoa(status/100) + "xx"
	}
	m.requests.WithLabelValues(template, method, class).Observe(took.Seconds())
}

// Validation counts a validation with a result or a fault.
func (m *Metrics) Validation(report *regcheck.Report, err error) {
	switch {
	case m == nil:
	case err != nil:
		m.validations.WithLabelValues("refused", fault.CodeOf(err), "").Inc()
	default:
		m.validations.WithLabelValues(string(reports.Outcome(report)), string(report.Code), string(report.Stage)).Inc()
		m.validationTime.Observe(report.Duration.Seconds())
	}
}

// Login counts a login.
func (m *Metrics) Login(err error) {
	if m == nil {
		return
	}
	outcome := "succeeded"
	if err != nil {
		outcome = fault.CodeOf(err)
	}
	m.logins.WithLabelValues(outcome).Inc()
}

package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/watch"
	"github.com/regwarden/regwarden/internal/web/connlimit"
)

// scrapeTimeout bounds the queries of a scrape.
const scrapeTimeout = 2 * time.Second

// WatchCheck counts a scheduled check.
func (m *Metrics) WatchCheck(outcome string) { m.watchChecks.WithLabelValues(outcome).Inc() }

// QueueLatency records how late a job of a queue began.
func (m *Metrics) QueueLatency(queue string, late time.Duration) {
	m.latency.WithLabelValues(queue).Observe(late.Seconds())
}

// Delivery counts an attempt to deliver an alert.
func (m *Metrics) Delivery(channel, outcome string) {
	m.deliveries.WithLabelValues(channel, outcome).Inc()
}

// beginAtZero exports the counters of which a single step is an alert: Prometheus sees no increase in a series that begins at 1.
func (m *Metrics) beginAtZero() {
	for _, outcome := range watch.Outcomes() {
		m.watchChecks.WithLabelValues(string(outcome))
	}
	for _, channel := range []string{alerts.TypeEmail, alerts.TypeHTTP} {
		for _, outcome := range alerts.Outcomes() {
			m.deliveries.WithLabelValues(channel, string(outcome))
		}
	}
}

// Watch registers metrics of pending work, which are counted at each scrape. An interval of 0 means that there are no
// scheduled checks.
func (m *Metrics) Watch(stored *watch.Service, interval time.Duration, alerts *alerts.Deliverer) {
	m.registry.MustRegister(&waiting{watch: stored, interval: interval, alerts: alerts,
		records: prometheus.NewDesc("regwarden_watch_records",
			"Stored registries that are due for a check, and those that are late by an interval or more.", []string{"state"}, nil),
		pending: prometheus.NewDesc("regwarden_alert_deliveries_waiting", "Alert deliveries that wait for their first attempt or a retry.",
			nil, nil),
	})
}

// waiting collects the pending work of the store.
type waiting struct {
	watch            *watch.Service
	interval         time.Duration
	alerts           *alerts.Deliverer
	records, pending *prometheus.Desc
}

func (w *waiting) Describe(to chan<- *prometheus.Desc) {
	to <- w.records
	to <- w.pending
}

// Collect omits metrics that the store does not return in time.
func (w *waiting) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	if w.interval > 0 {
		if due, late, err := w.watch.CountDue(ctx, w.interval); err == nil {
			to <- prometheus.MustNewConstMetric(w.records, prometheus.GaugeValue, float64(due), "due")
			to <- prometheus.MustNewConstMetric(w.records, prometheus.GaugeValue, float64(late), "late")
		}
	}
	if n, err := w.alerts.CountPending(ctx); err == nil {
		to <- prometheus.MustNewConstMetric(w.pending, prometheus.GaugeValue, float64(n))
	}
}

// Clock registers the metric of the machine's clock. behind returns how far it is behind the newest time that a server has seen.
func (m *Metrics) Clock(behind func() time.Duration) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "regwarden_clock_behind_seconds", Help: "How far the clock of the machine is behind the newest time seen.",
	}, func() float64 { return behind().Seconds() }))
}

// Connections registers metrics of the open and refused connections, which load counts.
func (m *Metrics) Connections(load func() (open int, counts connlimit.Counts)) {
	m.registry.MustRegister(&connections{load: load,
		open: prometheus.NewDesc("regwarden_connections_open", "Open client connections.", nil, nil),
		refused: prometheus.NewDesc("regwarden_connections_refused_total", "Client connections refused, by the limit they reached.",
			[]string{"limit"}, nil),
		closed: prometheus.NewDesc("regwarden_connections_closed_total",
			"Client connections closed in favor of new ones, by the limit they reached.", []string{"limit"}, nil),
	})
}

type connections struct {
	load                  func() (int, connlimit.Counts)
	open, refused, closed *prometheus.Desc
}

func (c *connections) Describe(to chan<- *prometheus.Desc) {
	to <- c.open
	to <- c.refused
	to <- c.closed
}

func (c *connections) Collect(to chan<- prometheus.Metric) {
	open, counts := c.load()
	to <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, float64(open))
	for _, count := range []struct {
		of    *prometheus.Desc
		n     int64
		limit string
	}{
		{c.refused, counts.RefusedInAll, "all"}, {c.refused, counts.RefusedOfSource, "source"},
		{c.closed, counts.ClosedInAll, "all"}, {c.closed, counts.ClosedOfSource, "source"},
	} {
		to <- prometheus.MustNewConstMetric(count.of, prometheus.CounterValue, float64(count.n), count.limit)
	}
}

// AuditChain registers metrics of the chain of audit records. lag returns the number of its newest batch, negative if it is not known,
// and how long the oldest record waits that could be linked.
func (m *Metrics) AuditChain(lag func(context.Context) (newest int64, waits time.Duration, err error)) {
	m.registry.MustRegister(&auditChain{lag: lag,
		newest: prometheus.NewDesc("regwarden_audit_chain_batch", "Number of the newest batch of the chain of audit records.", nil, nil),
		waits: prometheus.NewDesc("regwarden_audit_chain_lag_seconds", "Time since which the oldest audit record waits to be linked.", nil,
			nil),
	})
}

type auditChain struct {
	lag           func(context.Context) (int64, time.Duration, error)
	newest, waits *prometheus.Desc
}

func (a *auditChain) Describe(to chan<- *prometheus.Desc) {
	to <- a.newest
	to <- a.waits
}

func (a *auditChain) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	if newest, waits, err := a.lag(ctx); err == nil {
		if newest >= 0 {
			to <- prometheus.MustNewConstMetric(a.newest, prometheus.GaugeValue, float64(newest))
		}
		to <- prometheus.MustNewConstMetric(a.waits, prometheus.GaugeValue, waits.Seconds())
	}
}

package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regwarden/regwarden/internal/alerts"
	"github.com/regwarden/regwarden/internal/watch"
)

// scrapeTimeout bounds the queries of a scrape.
const scrapeTimeout = 2 * time.Second

// WatchCheck counts a scheduled check.
func (m *Metrics) WatchCheck(outcome string) { m.watchChecks.WithLabelValues(outcome).Inc() }

// Delivery counts an attempt to deliver an alert.
func (m *Metrics) Delivery(channel, outcome string) {
	m.deliveries.WithLabelValues(channel, outcome).Inc()
}

// Watch registers metrics of pending work, which are counted at each scrape. An interval of 0 means that there are no
// scheduled checks.
func (m *Metrics) Watch(stored *watch.Service, interval time.Duration, alerts *alerts.Service) {
	m.registry.MustRegister(&waiting{watch: stored, interval: interval, alerts: alerts,
		records: prometheus.NewDesc("regwarden_watch_records", "Stored registries that are due for a check, and those that are late by an interval or more.", []string{"state"}, nil),
		pending: prometheus.NewDesc("regwarden_alert_deliveries_waiting", "Alert deliveries that wait for their first attempt or a retry.", nil, nil),
	})
}

// waiting collects the pending work of the store.
type waiting struct {
	watch            *watch.Service
	interval         time.Duration
	alerts           *alerts.Service
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

// Connections registers metrics of the open and refused connections of a listener.
func (m *Metrics) Connections(l *Listener) {
	m.registry.MustRegister(&connections{listener: l,
		open:    prometheus.NewDesc("regwarden_connections_open", "Open client connections.", nil, nil),
		refused: prometheus.NewDesc("regwarden_connections_refused_total", "Client connections refused, by the limit they reached.", []string{"limit"}, nil),
	})
}

type connections struct {
	listener      *Listener
	open, refused *prometheus.Desc
}

func (c *connections) Describe(to chan<- *prometheus.Desc) {
	to <- c.open
	to <- c.refused
}

func (c *connections) Collect(to chan<- prometheus.Metric) {
	open, refused := c.listener.load()
	to <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, float64(open))
	to <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(refused[refusedInAll]), "all")
	to <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(refused[refusedPerSource]), "source")
}

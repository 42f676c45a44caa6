package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regwarden/regwarden/internal/service/watch"
)

// Registries registers metrics of each stored registry, of all organizations. If there are more than limit, their series are omitted.
// Names are labels, since rules and dashboards have to name a registry; limit bounds the number of series.
func (m *Metrics) Registries(stored *watch.Service, limit int) {
	each := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"organization", "registry", "kind"}, more...), nil)
	}
	m.registry.MustRegister(&registrySeries{watch: stored, limit: limit,
		healthy: each("regwarden_registry_healthy", "1 for a registry that is healthy, 0 for one that fails; none while it is not known."),
		failure: each("regwarden_registry_failure_info",
			"1 for a registry that fails, with the cause as labels.", "code", "reason", "stage"),
		checked: each("regwarden_registry_last_check_timestamp_seconds", "When the newest check of a registry ended."),
		certificate: each("regwarden_registry_certificate_expiry_timestamp_seconds",
			"When the first certificate of a registry or of its client expires."),
		credentials: each("regwarden_registry_credentials_expiry_timestamp_seconds", "When the credentials of a registry expire."),
		stage: each("regwarden_registry_stage_duration_seconds",
			"Duration of each stage of the newest check of a registry, without those that were skipped.", "stage"),
		omitted: prometheus.NewDesc("regwarden_registry_series_omitted",
			"1 if there are too many registries for metrics of each, otherwise 0.", nil, nil),
	})
}

// registrySeries collects the health of stored registries.
type registrySeries struct {
	watch                                                               *watch.Service
	limit                                                               int
	healthy, failure, checked, certificate, credentials, stage, omitted *prometheus.Desc
}

func (s *registrySeries) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.healthy, s.failure, s.checked, s.certificate, s.credentials, s.stage, s.omitted} {
		to <- d
	}
}

// Collect omits metrics that the store does not return in time.
func (s *registrySeries) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	list, complete, err := s.watch.HealthOfAll(ctx, s.limit)
	if err != nil {
		return
	}
	omitted := 0.0
	if !complete {
		list, omitted = nil, 1
	}
	to <- prometheus.MustNewConstMetric(s.omitted, prometheus.GaugeValue, omitted)
	for _, r := range list {
		s.collect(to, r)
	}
}

func (s *registrySeries) collect(to chan<- prometheus.Metric, r watch.RegistryHealth) {
	send := func(d *prometheus.Desc, value float64, more ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{r.Org, r.Name, r.Kind}, more...)...)
	}
	sendTime := func(d *prometheus.Desc, at time.Time) {
		if !at.IsZero() {
			send(d, float64(at.UnixMilli())/1000)
		}
	}
	state := r.Health.State
	if word := r.Health.Word(); word == watch.Healthy {
		send(s.healthy, 1)
	} else if word == watch.Failing {
		send(s.healthy, 0)
		send(s.failure, 1, state.Code, state.Reason, state.Stage)
	}
	sendTime(s.checked, r.Health.LastAt)
	sendTime(s.certificate, state.CertificateNotAfter)
	sendTime(s.credentials, state.CredentialsNotAfter)
	for _, stage := range r.Stages {
		send(s.stage, stage.Took.Seconds(), stage.Stage)
	}
}

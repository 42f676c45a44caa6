package bench

import (
	"testing"

	"github.com/regwarden/regwarden/test/instance"
)

// maxTracing is how much processor time a request may take when none of them is sampled, in percent of one without tracing.
const maxTracing = 115

// BenchmarkTracing measures what traces add to the cheapest request, a token-checked GET, with a collector on loopback that accepts them.
// The batch processor drops spans that come faster than it exports them.
func BenchmarkTracing(b *testing.B) {
	collector, figures, r := startChild(b, true, "bare"), samples{}, &report{b: b}
	endpoint := "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.line
	modes := []struct {
		name string
		env  []string
	}{
		{"off", nil},
		{"none_sampled", []string{endpoint, "OTEL_TRACES_SAMPLER=always_off"}},
		{"one_percent", []string{endpoint, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01"}},
		{"all", []string{endpoint}},
	}
	gets, servers := map[string]func(int) error{}, map[string]*instance.Server{}
	for _, mode := range modes {
		server := start(b, instance.Options{Env: mode.env})
		servers[mode.name] = server
		gets[mode.name] = newClient(b, server.URL).get(pathAlerts, server.Client(b).Login().Authorization)
	}
	for range *rounds {
		for _, mode := range modes {
			figures.measure(b, mode.name, manyClients, cpuOf(servers[mode.name].PID()), gets[mode.name])
		}
	}
	for _, mode := range modes {
		row := []metric{figure(figures.median(mode.name+" /s"), "req/s"), figure(figures.median(mode.name+" cpu-ms"), "cpu-ms/req")}
		if percent := figures.percent(mode.name+" cpu-ms", "off cpu-ms"); mode.name == "none_sampled" {
			row = append(row, atMost(percent, "%-of-off", maxTracing))
		} else if mode.name != "off" {
			row = append(row, figure(percent, "%-of-off"))
		}
		r.row(mode.name, row...)
	}
	r.end()
}

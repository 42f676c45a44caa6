package metrics

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	metricDesc = regexp.MustCompile(`fqName: "(\w+)".*constLabels: \{(.*)\}, variableLabels: \{(.*)\}`)
	metricRow  = regexp.MustCompile("(?m)^\\| `(regwarden_\\w+)` \\| \\w+ \\| (.*?)\\s*\\|")
	metricName = regexp.MustCompile(`\bregwarden_[a-z_]+`)
	labelName  = regexp.MustCompile(`(\w+)(?:="[^"]*")?`)
)

// Counters whose first step raises an alert begin at 0: Prometheus sees no increase in a series that begins at 1.
func TestCountersBeginAtZero(t *testing.T) {
	m := New("v", nil)
	page := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, name := range []string{`regwarden_alert_deliveries_total{channel="email",outcome="givenUp"}`,
		`regwarden_alert_deliveries_total{channel="http",outcome="delivered"}`,
		`regwarden_alert_deliveries_total{channel="http",outcome="givenUp"}`,
		`regwarden_watch_checks_total{outcome="failed"}`, `regwarden_watch_checks_total{outcome="valid"}`} {
		if !strings.Contains(page.Body.String(), name+" 0\n") {
			t.Errorf("%s is not 0", name)
		}
	}
}

// The number of the newest batch is left out before it was read: 0 would be a chain that was cut off.
func TestBatchThatIsNotKnown(t *testing.T) {
	for newest, want := range map[int64]bool{-1: false, 0: true, 5: true} {
		m := New("v", nil)
		m.AuditChain(func(context.Context) (int64, time.Duration, error) { return newest, time.Minute, nil })
		page := httptest.NewRecorder()
		m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		text := page.Body.String()
		if there := strings.Contains(text, fmt.Sprintf("\nregwarden_audit_chain_batch %d\n", newest)); there != want ||
			!strings.Contains(text, "\nregwarden_audit_chain_lag_seconds 60\n") {
			t.Errorf("%d: %s", newest, text)
		}
	}
}

// The page of metrics has a row for each metric with its labels, and its rules use only metrics that exist.
func TestPageOfMetricsIsComplete(t *testing.T) {
	m := New("v", map[string]Load{"validation": nil})
	m.Watch(nil, time.Minute, nil)
	m.Connections(nil)
	m.AuditChain(nil)
	m.Clock(nil)
	m.Registries(nil, 1)
	labels := map[string][]string{}
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		m.registry.Describe(descriptions)
	}()
	for d := range descriptions {
		parts := metricDesc.FindStringSubmatch(d.String())
		if parts == nil {
			t.Errorf("cannot read %s", d)
		} else if strings.HasPrefix(parts[1], "regwarden_") {
			for _, label := range labelName.FindAllStringSubmatch(parts[2]+","+parts[3], -1) {
				labels[parts[1]] = append(labels[parts[1]], label[1])
			}
			labels[parts[1]] = append(labels[parts[1]], "")
		}
	}
	page, err := os.ReadFile("../../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, row := range metricRow.FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = true
		for _, label := range labels[row[1]] {
			if !strings.Contains(row[2], label) {
				t.Errorf("the row of %s does not have the label %s", row[1], label)
			}
		}
	}
	for name := range labels {
		if !documented[name] {
			t.Errorf("%s is not documented", name)
		}
	}
	for _, name := range metricName.FindAllString(string(page), -1) {
		if strings.HasPrefix(name, "regwarden_probe_") { // of package probe
			continue
		}
		base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		if !slices.ContainsFunc([]string{name, base}, func(n string) bool { return labels[n] != nil }) {
			t.Errorf("%s does not exist", name)
		}
	}
}

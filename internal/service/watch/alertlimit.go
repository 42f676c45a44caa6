package watch

import (
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// The alert rate limit of one registry. A user who makes its health status change often, by its definition or on its server, must not
// fill the mailboxes of an organization.
const (
	maxAlerts   = 20
	alertWindow = 24 * time.Hour // begins with the first alert
)

// limitedAlert is an alert after the rate limit.
type limitedAlert struct {
	kind       alerts.Kind
	raised     bool      // false: suppressed
	until      time.Time // not zero: this is the last alert until then
	suppressed int64     // earlier changes without an alert
	changed    bool      // this check changed the status so
}

// limitAlerts allows alerts of these kinds unless maxAlerts were raised in the window, and counts suppressed ones. If alerts were
// suppressed, the first counted check after the window raises alerts with the current status, so that the last alerts are correct.
// limitAlerts updates the counters in after.
func limitAlerts(after *store.Watched, kinds []alerts.Kind, counted bool, now time.Time) (limited []limitedAlert) {
	due := kinds
	if !now.Before(after.WindowStart.Add(alertWindow)) || after.WindowStart.After(now) { // or a clock was wrong
		after.SentCount = 0
		if after.SuppressedCount > 0 && counted {
			due = currentKinds(after.State, kinds)
		}
	}
	for _, kind := range due {
		alert := limitAlert(after, now)
		alert.kind, alert.changed = kind, slices.Contains(kinds, kind)
		limited = append(limited, alert)
	}
	return limited
}

// limitAlert counts one alert.
func limitAlert(after *store.Watched, now time.Time) (alert limitedAlert) {
	switch {
	case after.SentCount >= maxAlerts:
		after.SuppressedCount++
		return alert
	case after.SentCount == 0:
		after.WindowStart, alert.suppressed, after.SuppressedCount = now, after.SuppressedCount, 0
	}
	alert.raised = true
	if after.SentCount++; after.SentCount == maxAlerts {
		alert.until = after.WindowStart.Add(alertWindow)
	}
	return alert
}

// currentKinds returns all alerts that describe a status. They include those of the check that led to it.
func currentKinds(v store.HealthResult, changed []alerts.Kind) []alerts.Kind {
	kinds := alertsOf(store.Watched{}, store.Watched{State: v})
	switch {
	case v.Valid:
		return append([]alerts.Kind{alerts.RegistryValid}, kinds...)
	case slices.Contains(changed, alerts.RegistryCodeChanged):
		kinds[0] = alerts.RegistryCodeChanged
	}
	return kinds
}

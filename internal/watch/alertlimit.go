package watch

import (
	"time"

	"github.com/regwarden/regwarden/internal/alerts"
	"github.com/regwarden/regwarden/internal/store"
)

// The alert rate limit of one registry. A user who makes its health status change often, by its definition or on its server, must not
// fill the mailboxes of an organization.
const (
	maxAlerts   = 20
	alertWindow = 24 * time.Hour // begins with the first alert
)

// limitedAlert is the alert of a change after the rate limit.
type limitedAlert struct {
	kind       alerts.Kind // "": no alert is raised
	until      time.Time   // not zero: this is the last alert until then
	suppressed int64       // earlier changes without an alert
	changed    bool        // the status changed, with or without an alert
}

// limitAlerts allows an alert of that kind unless maxAlerts were raised in the window, and counts suppressed ones. If alerts were
// suppressed, the first counted check after the window raises an alert with the current status, so that the last alert is correct.
// limitAlerts updates the counters in after.
func limitAlerts(after *store.Watched, kind alerts.Kind, counted bool, now time.Time) limitedAlert {
	alert := limitedAlert{kind: kind, changed: kind != ""}
	ended := !now.Before(after.WindowStart.Add(alertWindow)) || after.WindowStart.After(now) // or a clock was wrong
	if ended {
		after.SentCount = 0
		if after.SuppressedCount > 0 && counted && kind == "" {
			alert.kind = kindOf(after.State)
		}
	}
	switch {
	case alert.kind == "":
		return alert
	case after.SentCount >= maxAlerts:
		after.SuppressedCount++
		alert.kind = ""
		return alert
	case after.SentCount == 0:
		after.WindowStart, alert.suppressed, after.SuppressedCount = now, after.SuppressedCount, 0
	}
	if after.SentCount++; after.SentCount == maxAlerts {
		alert.until = after.WindowStart.Add(alertWindow)
	}
	return alert
}

func kindOf(v store.HealthResult) alerts.Kind {
	if v.Valid {
		return alerts.RegistryValid
	}
	return alerts.RegistryNotValid
}

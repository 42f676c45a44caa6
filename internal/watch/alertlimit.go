package watch

import (
	"time"

	"github.com/regwarden/regwarden/internal/alerts"
	"github.com/regwarden/regwarden/internal/store"
)

// The alert rate limit of one registry: a user who makes it change often, by its definition or on its server, must not fill the
// mailboxes of an organization.
const (
	maxAlerts   = 20
	alertWindow = 24 * time.Hour // begins with the first of them
)

// limitedAlert is what the alert rate limit leaves of a change.
type limitedAlert struct {
	kind       alerts.Kind // "": none is raised
	until      time.Time   // not zero: this is the last alert until then
	suppressed int64       // changes before this one without an alert
	changed    bool        // the status changed, whether an alert is raised or not
}

// limitAlerts raises an alert of that kind unless maxAlerts were raised in the window, and counts the suppressed ones. After the
// window, the next check that counts raises an alert with the status if any was suppressed, so that the last alert that people have
// is true. It updates the counters in after.
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

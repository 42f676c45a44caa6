package watch

import (
	"time"

	"github.com/regwarden/regwarden/internal/alerts"
	"github.com/regwarden/regwarden/internal/store"
)

const (
	confirmAfter = time.Minute // a failure that may pass is rechecked before an alert is raised
	maxBackOff   = 4           // intervals between checks of a registry that stays unreachable
)

// result is the result of one check, as far as it is compared with others.
type result struct {
	store.HealthResult
	retryable bool // the same definition may well be valid later
}

// decision is what follows from a check.
type decision struct {
	after   store.Watched // the registry's row without its times
	counted bool          // the result is the health status now
	alert   alerts.Kind   // "": nothing changed
	confirm bool          // recheck soon
	backOff int           // otherwise: after this many intervals
}

// decide returns the next health status and at most one alert, from the status before and the result of a check. A failure that may
// pass becomes the status only when a second check confirms it.
func decide(before store.Watched, now result, at time.Time) decision {
	d := decision{after: before, backOff: 1}
	d.after.Unreachable, d.after.Unconfirmed = 0, false
	if now.retryable && !now.Valid {
		d.after.Unreachable = before.Unreachable + 1
		d.backOff = backOff(d.after.Unreachable)
		if !sameState(before, now.HealthResult) && !before.Unconfirmed {
			d.after.Unconfirmed, d.confirm = true, true
			return d
		}
	}
	d.counted = true
	d.after.State = now.HealthResult
	if !now.Valid { // a check that failed early has not seen the certificate
		d.after.State.ExpiresSoon = now.ExpiresSoon || before.State.ExpiresSoon
	}
	if !sameState(before, now.HealthResult) {
		d.after.Since = at
	}
	d.alert = alertOf(before, d.after)
	return d
}

// sameState reports whether v is the status already. Another stage or field of the same code is no change.
func sameState(before store.Watched, v store.HealthResult) bool {
	return !before.Since.IsZero() && before.State.Valid == v.Valid && before.State.Code == v.Code
}

// alertOf returns the alert for a change of status. A registry that is valid from the start raises none.
func alertOf(before, after store.Watched) alerts.Kind {
	first := before.Since.IsZero()
	switch {
	case !after.State.Valid && (first || before.State.Valid):
		return alerts.RegistryNotValid
	case after.State.Valid && !first && !before.State.Valid:
		return alerts.RegistryValid
	case !after.State.Valid && after.State.Code != before.State.Code:
		return alerts.RegistryCodeChanged
	case after.State.ExpiresSoon && !before.State.ExpiresSoon:
		return alerts.CertificateExpiresSoon
	}
	return ""
}

// backOff is 1 interval for the first failures, the confirmation among them, then 2, then maxBackOff.
func backOff(unreachable int64) int {
	switch {
	case unreachable <= 2:
		return 1
	case unreachable == 3:
		return 2
	default:
		return maxBackOff
	}
}

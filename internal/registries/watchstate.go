package registries

import (
	"time"

	"github.com/regwarden/regwarden/internal/alerts"
	"github.com/regwarden/regwarden/internal/store"
)

const (
	confirmAfter = time.Minute // a failure that may pass is looked at again before anybody is woken
	maxBackOff   = 4           // intervals between checks of a registry that stays unreachable
)

// seen is what one check came to.
type seen struct {
	store.Verdict
	retryable bool // the same definition may well be valid later
}

// decision is what follows from a check: the watch's row as it is to be, but for its times, and what to tell.
type decision struct {
	after   store.Watched
	counted bool        // the verdict is the state now
	alert   alerts.Kind // "": nothing changed
	confirm bool        // look again soon
	backOff int         // else: after so many intervals
}

// decide is the whole of the watch's judgement: what was known and what was seen make what is known next, and at
// most one alert. A failure that may pass by itself becomes the state only when a second check ends so too.
func decide(before store.Watched, now seen, at time.Time) decision {
	d := decision{after: before, backOff: 1}
	d.after.Unreachable, d.after.Unconfirmed = 0, false
	if now.retryable && !now.Valid {
		d.after.Unreachable = before.Unreachable + 1
		d.backOff = backOff(d.after.Unreachable)
		if !sameState(before, now.Verdict) && !before.Unconfirmed {
			d.after.Unconfirmed, d.confirm = true, true
			return d
		}
	}
	d.counted = true
	d.after.State = now.Verdict
	if !now.Valid { // a check that failed early has not seen the certificate
		d.after.State.ExpiresSoon = now.ExpiresSoon || before.State.ExpiresSoon
	}
	if !sameState(before, now.Verdict) {
		d.after.Since = at
	}
	d.alert = alertOf(before, d.after)
	return d
}

// sameState reports whether a verdict is the state already. Another stage or field of the same code is no news.
func sameState(before store.Watched, v store.Verdict) bool {
	return !before.Since.IsZero() && before.State.Valid == v.Valid && before.State.Code == v.Code
}

// alertOf says what a change of state is worth: a definition that is valid from the start is no news.
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

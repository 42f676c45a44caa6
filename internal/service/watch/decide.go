package watch

import (
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
)

const (
	confirmAfter = time.Minute // a transient failure is rechecked after it, before an alert is raised
	maxBackoff   = 4           // intervals between checks of a registry that stays unreachable
)

// result is the part of a check's result that is compared with earlier results.
type result struct {
	store.HealthResult
	retryable    bool // the same definition may be valid later
	certificates registries.Certificates
}

// readCredentials reports whether a check that failed has read when the credentials expire.
func (r result) readCredentials() bool {
	return r.Stage == string(regcheck.StageAuth) || r.Stage == string(regcheck.StageContent)
}

// readCertificates reports whether a check that failed has read when the certificates expire. Of those that TLS refuses it does not say
// whether they expire soon.
func (r result) readCertificates() bool {
	return r.Stage != string(regcheck.StageTLS) && hasEndpoint(r.certificates)
}

// decision is what follows from a check.
type decision struct {
	after   store.Watched // the registry's row without its times
	counted bool          // the result is the new health status
	alerts  []alerts.Kind // of all that changed; a change of the result is the first
	confirm bool          // recheck after confirmAfter
	backoff int           // otherwise: after this many intervals
}

// decide returns the next health status and the alerts for the status before and the result of a check. A transient failure becomes the
// status only if a second check confirms it.
func decide(before store.Watched, now result, at time.Time) decision {
	d := decision{after: before, backoff: 1}
	d.after.Unreachable, d.after.Unconfirmed = 0, false
	if now.retryable && !now.Valid {
		d.after.Unreachable = before.Unreachable + 1
		d.backoff = backoffFor(d.after.Unreachable)
		if !sameState(before, now.HealthResult) && !before.Unconfirmed {
			d.after.Unconfirmed, d.confirm = true, true
			return d
		}
	}
	d.counted = true
	d.after.State, d.after.Certificates = now.HealthResult, now.certificates
	if !now.Valid {
		d.after.Certificates = withEndpoint(now.certificates, before.Certificates)
		d.after.State.CertificateNotAfter = firstOf(d.after.Certificates)
		d.after.State = withExpiry(d.after.State, before.State, now.readCertificates(), now.readCredentials())
	}
	if !sameState(before, now.HealthResult) {
		d.after.Since = at
	}
	d.alerts = alertsOf(before, d.after)
	return d
}

// withExpiry returns the result of a check that failed with what an earlier one saw of the certificate and the credentials. One that
// failed early has not seen the certificate, or not read the credentials.
func withExpiry(now, before store.HealthResult, readCertificates, readCredentials bool) store.HealthResult {
	if !readCertificates {
		now.CertificateExpiresSoon = now.CertificateExpiresSoon || before.CertificateExpiresSoon
	}
	if now.CertificateNotAfter.IsZero() {
		now.CertificateNotAfter = before.CertificateNotAfter
	}
	if readCredentials {
		return now
	}
	now.CredentialsExpireSoon = now.CredentialsExpireSoon || before.CredentialsExpireSoon
	if now.CredentialsNotAfter.IsZero() {
		now.CredentialsNotAfter = before.CredentialsNotAfter
	}
	return now
}

// withEndpoint returns the certificates of a check that failed. One that ended before TLS has not seen those of the endpoint, so that
// those of an earlier check stay.
func withEndpoint(now, before registries.Certificates) registries.Certificates {
	if !hasEndpoint(now) {
		now = append(slices.DeleteFunc(slices.Clone(before), ofClient), now...)
	}
	return now
}

func hasEndpoint(certificates registries.Certificates) bool {
	return slices.ContainsFunc(certificates, func(c registries.Certificate) bool { return !ofClient(c) })
}

func ofClient(c registries.Certificate) bool { return c.Role == string(regcheck.RoleClient) }

func firstOf(certificates registries.Certificates) (at time.Time) {
	for _, c := range certificates {
		if at.IsZero() || c.NotAfter.Before(at) {
			at = c.NotAfter
		}
	}
	return at
}

// sameState reports whether v equals the status. A different stage or field with the same code is not a change, but whether the registry
// fails or only the provider of its credentials is down.
func sameState(before store.Watched, v store.HealthResult) bool {
	return !before.Since.IsZero() && before.State.Valid == v.Valid && before.State.Code == v.Code &&
		before.State.Undecided() == v.Undecided()
}

// alertsOf returns the alerts for a change of status, one for each part of it that changed: what the next check finds is compared with
// the whole status, so a change without an alert would never get one.
func alertsOf(before, after store.Watched) (kinds []alerts.Kind) {
	if kind := alertOfResult(before, after); kind != "" {
		kinds = append(kinds, kind)
	}
	if after.State.CertificateExpiresSoon && !before.State.CertificateExpiresSoon {
		kinds = append(kinds, alerts.CertificateExpiresSoon)
	}
	if after.State.CredentialsExpireSoon && !before.State.CredentialsExpireSoon {
		kinds = append(kinds, alerts.CredentialsExpireSoon)
	}
	return kinds
}

// alertOfResult returns the alert for a change of the result, "" for none. A registry that is valid in its first check raises none.
func alertOfResult(before, after store.Watched) alerts.Kind {
	first := before.Since.IsZero()
	switch {
	case after.State.Valid && !first && !before.State.Valid:
		return alerts.RegistryValid
	case after.State.Valid, !first && sameState(before, after.State):
		return ""
	case first || before.State.Valid || before.State.Undecided():
		return alerts.RegistryNotValid
	}
	return alerts.RegistryCodeChanged
}

// backoffFor returns 1 interval for the first failures, including the confirmation, then 2, then maxBackoff.
func backoffFor(unreachable int64) int {
	switch {
	case unreachable <= 2:
		return 1
	case unreachable == 3:
		return 2
	default:
		return maxBackoff
	}
}

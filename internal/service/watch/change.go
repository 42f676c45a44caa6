package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// recordChanges appends the audit records of a change of status and raises its alerts.
func recordChanges(ctx context.Context, tx *store.Tx, c finishedCheck, after store.Watched, limited []limitedAlert, now time.Time) error {
	for _, l := range limited {
		if l.changed {
			if err := tx.Audits.Append(ctx, changeRecord(c, after, l.kind, now)); err != nil {
				return err
			}
		}
		if l.raised {
			if err := raise(ctx, tx, c, after, l, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func raise(ctx context.Context, tx *store.Tx, c finishedCheck, after store.Watched, limited limitedAlert, now time.Time) error {
	org, err := tx.Orgs.Get(ctx, c.registry.OrgUID)
	if err != nil {
		return err
	}
	alert := alerts.Alert{Component: alerts.RegistryHealth, Kind: limited.kind, At: now,
		Organization: alerts.Organization{UID: org.UID, Name: org.Name},
		Registry: &alerts.Registry{UID: c.registry.UID, Name: c.registry.Name, Endpoint: c.registry.Definition.Endpoint,
			Previous: previous(c.row), Current: alerts.ResultOf(after.State)}}
	alert.Message = sentence(alert) + limited.remark()
	return alerts.Raise(ctx, tx, alert)
}

// remark reports that alerts before or after this one are suppressed. It is empty if none are.
func (a limitedAlert) remark() string {
	switch {
	case a.suppressed > 0:
		return fmt.Sprintf(" It changed often: %d earlier changes had no alert.", a.suppressed)
	case !a.until.IsZero():
		return " It changes often: no more alerts for it until " + a.until.UTC().Format(time.RFC1123) + "."
	}
	return ""
}

func previous(before store.Watched) *alerts.HealthResult {
	if before.Since.IsZero() {
		return nil
	}
	v := alerts.ResultOf(before.State)
	return &v
}

// sentence returns the alert on one line.
func sentence(a alerts.Alert) string {
	r := a.Registry
	undecided := store.HealthResult{Reason: r.Current.Reason}.Undecided()
	if undecided && (a.Kind == alerts.RegistryNotValid || a.Kind == alerts.RegistryCodeChanged) {
		return r.Unchecked()
	}
	switch a.Kind {
	case alerts.RegistryValid:
		return fmt.Sprintf("Registry %q (%s) is valid again.", r.Name, r.Endpoint)
	case alerts.RegistryCodeChanged:
		return fmt.Sprintf("Registry %q (%s) is still not valid, now for another reason: %s (before: %s).", r.Name, r.Endpoint,
			r.Current.Code, r.Previous.Code)
	case alerts.CertificateExpiresSoon:
		return fmt.Sprintf("The certificate of registry %q (%s) %s.", r.Name, r.Endpoint,
			expiresOn(r.Current.CertificateNotAfter, a.At, "expires"))
	case alerts.CredentialsExpireSoon:
		return fmt.Sprintf("The credentials of registry %q (%s) %s.", r.Name, r.Endpoint,
			expiresOn(r.Current.CredentialsNotAfter, a.At, "expire"))
	default:
		return fmt.Sprintf("Registry %q (%s) is not valid: %s.", r.Name, r.Endpoint, r.Current.Code)
	}
}

// expiresOn returns when something expires or expired, as the end of a sentence with that verb.
func expiresOn(notAfter, now time.Time, verb string) string {
	switch {
	case notAfter.IsZero(): // an earlier version stored the status
		return verb + " soon"
	case !notAfter.After(now):
		verb = "expired"
	}
	return verb + " on " + notAfter.UTC().Format(time.RFC1123)
}

func changeRecord(c finishedCheck, after store.Watched, kind alerts.Kind, now time.Time) audit.Record {
	record := audit.Record{UID: audit.NewUID(), At: now, OrgUID: c.registry.OrgUID, ActorName: string(audit.MethodService),
		Method: audit.MethodService,
		Action: audit.RegistryWatch, Object: c.registry.UID, Outcome: audit.NotValid, Reason: after.State.Code}
	switch {
	case after.State.Valid:
		record.Outcome = audit.Valid
	case after.State.Undecided():
		record.Outcome = audit.Unknown
	}
	if kind == alerts.CertificateExpiresSoon || kind == alerts.CredentialsExpireSoon {
		record.Reason = string(kind)
	}
	return record
}

package watch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/storage/mutes"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// mutedHealth is the health of a registry at its last alert, while later changes are muted.
type mutedHealth struct {
	Since time.Time
	State store.HealthResult
}

// quiet is what mutes mean for the result of one check.
type quiet struct {
	muted   bool        // no alert is raised now
	pending bool        // earlier changes had no alert
	before  mutedHealth // with which the alerts compare
	note    bool        // before is to be stored
	clear   bool        // and to be deleted
}

// muted reads the mutes of a registry, if the check would raise alerts without them: few do.
func muted(ctx context.Context, tx *store.Tx, c finishedCheck, d decision, now time.Time) (q quiet, err error) {
	q.before = mutedHealth{c.row.Since, c.row.State}
	raised := limitAlerts(&d.after, d.alerts, d.counted, now) // d is a copy
	if q.pending, err = tx.Mutes.Pending(ctx, c.row.RegistryUID, &q.before); err == nil && (q.pending || len(raised) > 0) {
		var of []mutes.Mute
		of, err = tx.Mutes.OfOrg(ctx, c.row.OrgUID, now)
		q.muted = slices.ContainsFunc(of, func(m mutes.Mute) bool { return m.Covers(c.registry.UID, c.registry.Labels, now) })
	}
	// An expiry that is gone, as that of an endpoint that was replaced, is not the one of which an alert was sent.
	q.before.State.CertificateExpiresSoon = q.before.State.CertificateExpiresSoon && c.row.State.CertificateExpiresSoon
	q.before.State.CredentialsExpireSoon = q.before.State.CredentialsExpireSoon && c.row.State.CredentialsExpireSoon
	if err != nil {
		err = fmt.Errorf("read the mutes of a registry: %w", err)
	}
	return q, err
}

// limit returns the changes of a check with the alerts that are raised for them. The first check that counts after a mute raises those of
// what changed during it, unless it changed back.
func (q *quiet) limit(d *decision, before store.Watched, now time.Time) (limited []limitedAlert) {
	switch {
	case q.muted:
		q.note = len(d.alerts) > 0
		for _, kind := range d.alerts {
			limited = append(limited, limitedAlert{kind: kind, changed: true})
		}
		return limited
	case !q.pending || !d.counted:
		return limitAlerts(&d.after, d.alerts, d.counted, now)
	}
	q.clear = true
	before.Since, before.State = q.before.Since, q.before.State
	changed := d.alerts
	limited = limitAlerts(&d.after, alertsOf(before, d.after), true, now)
	for i := range limited {
		limited[i].changed = slices.Contains(changed, limited[i].kind)
	}
	for _, kind := range changed {
		if !slices.ContainsFunc(limited, func(l limitedAlert) bool { return l.kind == kind }) {
			limited = append(limited, limitedAlert{kind: kind, changed: true})
		}
	}
	return limited
}

// store stores what the check after the mute compares with.
func (q *quiet) store(ctx context.Context, tx *store.Tx, row store.Watched) error {
	switch {
	case q.note:
		q.before.State.Message, q.before.State.Hint = "", ""
		return tx.Mutes.Note(ctx, row.OrgUID, row.RegistryUID, q.before)
	case q.clear:
		return tx.Mutes.Clear(ctx, row.RegistryUID)
	}
	return nil
}

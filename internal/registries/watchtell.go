package registries

import (
	"context"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/alerts"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// tell puts a change of state on record and raises what is to be told.
func (w *watch) tell(ctx context.Context, tx *store.Tx, f finding, d decision, n notice, now time.Time) error {
	if n.changed {
		if err := tx.Audits.Append(ctx, changeRecord(f, d, now)); err != nil {
			return err
		}
	}
	if n.kind == "" {
		return nil
	}
	org, err := tx.Orgs.Get(ctx, f.OrgUID)
	if err != nil {
		return err
	}
	alert := alerts.Alert{Component: alerts.RegistryHealth, Kind: n.kind, At: now,
		Organization: alerts.Organization{UID: org.UID, Name: org.Name},
		Registry:     &alerts.Registry{UID: f.UID, Name: f.Name, Endpoint: f.Definition.Endpoint, Previous: previous(f.row), Current: current(f, d)}}
	alert.Message = sentence(alert) + n.remark()
	return alerts.Raise(ctx, tx, alert)
}

// remark says of an alert that others were or will be missing.
func (n notice) remark() string {
	switch {
	case n.untold > 0:
		return fmt.Sprintf(" It changed often: %d changes before were not told of.", n.untold)
	case !n.until.IsZero():
		return " It changes often: nothing more is told of it until " + n.until.UTC().Format(time.RFC1123) + "."
	}
	return ""
}

func previous(before store.Watched) *alerts.Verdict {
	if before.Since.IsZero() {
		return nil
	}
	v := shown(before.State)
	return &v
}

func current(f finding, d decision) alerts.Verdict {
	v := shown(d.after.State)
	switch {
	case f.report != nil:
		v.Message, v.Hint = f.report.Message, f.report.Hint
	case v.Code == CodeSecretUnreadable:
		v.Message, v.Hint = "The stored secrets of this registry cannot be read.", "Send the registry again with its secrets."
	default:
		v.Message, v.Hint = "The stored definition cannot be used.", "Correct the field and send the registry again."
	}
	return v
}

func shown(v store.Verdict) alerts.Verdict {
	return alerts.Verdict{Valid: v.Valid, Code: v.Code, Stage: v.Stage, Reason: v.Reason, Field: v.Field, CertificateExpiresSoon: v.ExpiresSoon}
}

// sentence is the alert on one line.
func sentence(a alerts.Alert) string {
	r := a.Registry
	switch a.Kind {
	case alerts.RegistryValid:
		return fmt.Sprintf("Registry %q (%s) is valid again.", r.Name, r.Endpoint)
	case alerts.RegistryCodeChanged:
		return fmt.Sprintf("Registry %q (%s) is still not valid, now for another reason: %s (before: %s).", r.Name, r.Endpoint, r.Current.Code, r.Previous.Code)
	case alerts.CertificateExpiresSoon:
		return fmt.Sprintf("The certificate of registry %q (%s) expires within 30 days.", r.Name, r.Endpoint)
	default:
		return fmt.Sprintf("Registry %q (%s) is not valid: %s.", r.Name, r.Endpoint, r.Current.Code)
	}
}

func changeRecord(f finding, d decision, now time.Time) audit.Event {
	e := audit.Event{UID: audit.NewUID(), At: now, OrgUID: f.OrgUID, ActorName: string(audit.MethodService), Method: audit.MethodService, Action: audit.RegistryWatch,
		Object: f.UID, Outcome: audit.NotValid, Reason: d.after.State.Code}
	if d.after.State.Valid {
		e.Outcome = audit.Valid
	}
	if d.alert == alerts.CertificateExpiresSoon {
		e.Reason = string(alerts.CertificateExpiresSoon)
	}
	return e
}

// WatchStatus is what the watch knows of a kept definition now. The zero Since says that no check has counted yet.
type WatchStatus struct {
	State         store.Verdict
	Since, LastAt time.Time
	NextAt        time.Time
	Unconfirmed   bool // the newest check failed in a way that may pass, and is looked at again soon
}

// VerdictRun is a run of equal verdicts.
type VerdictRun = store.VerdictRun

// maxHistory bounds what is listed of a history.
const maxHistory = 200

// History returns what the watch found of a stored registry definition: its health status, and at most limit runs of equal
// results, the newest first. limit is 1–200; 0 means all that are stored. The runs follow one of them; the zero value
// precedes all.
//
// Faults: NotFound.
func (s *Service) History(ctx context.Context, orgUID, uid string, limit int, after VerdictRun) (WatchStatus, []VerdictRun, error) {
	if limit == 0 {
		limit = maxHistory
	}
	var row store.Watched
	var runs []store.VerdictRun
	if !isUID(uid) {
		return WatchStatus{}, nil, noSuchRegistry()
	}
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		if row, err = tx.Watch.Get(ctx, orgUID, uid); err != nil {
			return err
		}
		runs, err = tx.Watch.Verdicts(ctx, orgUID, uid, after, limit)
		return err
	})
	if err != nil {
		return WatchStatus{}, nil, fmt.Errorf("read a registry's history: %w", notFound(err))
	}
	return WatchStatus{State: row.State, Since: row.Since, LastAt: row.LastAt, NextAt: row.NextAt, Unconfirmed: row.Unconfirmed}, runs, nil
}

// WatchLoad returns how many stored definitions are due now, and how many of these should have been checked an
// interval ago, or are due so late that the clock was wrong when that was written. Each is counted up to 100,000.
func (s *Service) WatchLoad(ctx context.Context, interval time.Duration) (due, late int64, err error) {
	now := s.now()
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		if due, err = tx.Watch.Count(ctx, now, 100_000); err != nil {
			return err
		}
		if late, err = tx.Watch.Count(ctx, now.Add(-interval), 100_000); err != nil {
			return err
		}
		ahead, err := tx.Watch.CountAhead(ctx, now.Add((maxBackOff+1)*interval+max(watchLease, store.ContactsAhead)), 100_000)
		late += ahead
		return err
	})
	if err != nil {
		return 0, 0, fault.Busy("The watch cannot be counted now.", time.Second)
	}
	return due, late, nil
}

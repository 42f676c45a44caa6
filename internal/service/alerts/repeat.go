package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/storage/incidents"
	"github.com/regwarden/regwarden/internal/storage/mutes"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	repeatInterval = 10 * time.Second // between searches for incidents that are due
	repeatBatch    = 100
	postponed      = 5 * time.Minute // while a registry is muted, its channel is not active, or it does not fail
)

// ofIncident reports whether an alert begins, changes or ends an incident of a registry.
func (a Alert) ofIncident() bool {
	return a.Registry != nil && (a.Kind == RegistryNotValid || a.Kind == RegistryCodeChanged || a.Kind == RegistryValid)
}

// begins reports whether an alert begins an incident. Another one of the kind follows an outage of the provider of the credentials: a
// channel that alerted of the outage must not wait again, since it would then not report the recovery.
func (a Alert) begins() bool {
	return a.Kind == RegistryNotValid && (a.Registry.Previous == nil || !a.Registry.Previous.undecided())
}

// atOnce reports whether a channel sends an alert at once, and stores when it alerts of an incident later or again.
func atOnce(ctx context.Context, tx *store.Tx, a Alert, c store.AlertedChannel) (bool, error) {
	if !a.ofIncident() || a.Kind == RegistryValid {
		return true, nil
	}
	waiting := !c.DueAt.IsZero() && c.Sent == 0
	next := incidents.Incident{ChannelUID: c.UID, RegistryUID: a.Registry.UID, OrgUID: a.Organization.UID, AlertUID: a.UID, Sent: c.Sent}
	switch {
	case waiting:
		next.DueAt = c.DueAt
		return false, tx.Incidents.Put(ctx, next)
	case c.DueAt.IsZero() && a.begins() && c.AfterMinutes > 0:
		next.DueAt = a.At.Add(time.Duration(c.AfterMinutes) * time.Minute)
		return false, tx.Incidents.Put(ctx, next)
	case c.RepeatHours > 0:
		next.DueAt, next.Sent = nextRepeat(a.At, c.AlertTimes), c.Sent+1
		return true, tx.Incidents.Put(ctx, next)
	}
	return true, nil
}

func nextRepeat(at time.Time, times store.AlertTimes) time.Time {
	return at.Add(time.Duration(times.RepeatHours) * time.Hour)
}

// recovered ends the incidents of a registry, and returns the channels without those that have sent nothing of it: they do not report the
// recovery either. All incidents are locked before a channel is, since the Repeater locks an incident first.
func recovered(ctx context.Context, tx *store.Tx, a Alert, channels []store.AlertedChannel) ([]store.AlertedChannel, error) {
	ended, err := tx.Incidents.Delete(ctx, a.Organization.UID, a.Registry.UID)
	return slices.DeleteFunc(channels, func(c store.AlertedChannel) bool {
		return slices.ContainsFunc(ended, func(i incidents.Incident) bool { return i.ChannelUID == c.UID && i.Sent == 0 })
	}), err
}

// Repeater sends alerts of registries that have failed long enough, or still fail.
type Repeater struct {
	db  *store.DB
	now func() time.Time
	log *slog.Logger
}

// Run sends alerts when they are due, until ctx ends. Any number of replicas may use the same store.
func (s *Repeater) Run(ctx context.Context) {
	loop.Retry(ctx, repeatInterval, s.log, "alerts not repeated", s.sendDue)
}

// sendDue sends all alerts that are due, in batches. It goes on with the batch after an incident whose alert cannot be stored, which the
// next call retries.
func (s *Repeater) sendDue(ctx context.Context) error {
	for {
		now := s.now()
		due, err := store.Read(ctx, s.db, func(tx *store.Tx) ([]incidents.Incident, error) {
			return tx.Incidents.Due(ctx, now, repeatBatch)
		})
		for _, i := range due {
			err = errors.Join(err, s.db.InTx(ctx, func(tx *store.Tx) error { return repeat(ctx, tx, i, now) }))
		}
		if err != nil {
			return fmt.Errorf("repeat alerts: %w", err)
		}
		if len(due) < repeatBatch {
			return nil
		}
	}
}

// repeat enqueues the alert of an incident that is due, unless another replica has done so.
func repeat(ctx context.Context, tx *store.Tx, i incidents.Incident, now time.Time) error {
	channel, err := tx.Channels.Get(ctx, i.OrgUID, i.ChannelUID)
	var watched store.Watched
	if err == nil {
		watched, err = tx.Watch.Get(ctx, i.OrgUID, i.RegistryUID)
	}
	silent := false
	if err == nil {
		silent, err = muted(ctx, tx, i, watched, now)
	}
	switch {
	case errors.Is(err, store.ErrNotFound): // deleted since, and the incident with it
		return nil
	case err != nil:
		return err
	case silent || !channel.Active || watched.State.Valid:
		i, before := i, i.DueAt
		i.DueAt = now.Add(postponed)
		_, err := tx.Incidents.Move(ctx, before, i)
		return err
	}
	return send(ctx, tx, i, channel, watched, now)
}

// muted reports whether a registry is muted, or was when its result changed: the next check raises the alert of that.
func muted(ctx context.Context, tx *store.Tx, i incidents.Incident, watched store.Watched, now time.Time) (bool, error) {
	var before struct{ State store.HealthResult } // the change
	pending, err := tx.Mutes.Pending(ctx, i.RegistryUID, &before)
	if err != nil || pending && (before.State.Code != watched.State.Code || before.State.Undecided() != watched.State.Undecided()) {
		return true, err
	}
	all, err := tx.Mutes.OfOrg(ctx, i.OrgUID, now)
	if err != nil || len(all) == 0 {
		return false, err
	}
	registry, err := tx.Registries.GetPlain(ctx, i.OrgUID, i.RegistryUID)
	return slices.ContainsFunc(all, func(m mutes.Mute) bool { return m.Covers(i.RegistryUID, registry.Labels, now) }), err
}

// send enqueues an alert, and stores when the next one is due.
func send(ctx context.Context, tx *store.Tx, i incidents.Incident, channel store.Channel, watched store.Watched, now time.Time) error {
	if i.Sent > 0 && channel.RepeatHours == 0 { // changed since
		_, err := tx.Incidents.End(ctx, i)
		return err
	}
	stored, err := newest(ctx, tx, i, watched, now)
	if err != nil {
		return err
	}
	next := i
	next.AlertUID, next.Sent, next.DueAt = stored.UID, i.Sent+1, nextRepeat(now, channel.AlertTimes)
	change := func() (bool, error) { return tx.Incidents.Move(ctx, i.DueAt, next) }
	if channel.RepeatHours == 0 {
		change = func() (bool, error) { return tx.Incidents.End(ctx, i) }
	}
	if changed, err := change(); err != nil || !changed {
		return err
	}
	return tx.Outbox.Enqueue(ctx, stored, i.ChannelUID, latest(now))
}

// newest returns the stored alert of an incident if its channel has not sent it and it has the current result. Otherwise it stores one that
// the registry still fails: no alert is raised for a result that changes beyond the limit of the registry.
func newest(ctx context.Context, tx *store.Tx, i incidents.Incident, watched store.Watched, now time.Time) (store.Alert, error) {
	stored := store.Alert{UID: i.AlertUID, OrgUID: i.OrgUID, RegistryUID: i.RegistryUID, At: now}
	body, err := tx.Outbox.Body(ctx, i.OrgUID, i.AlertUID)
	if err != nil {
		return stored, err
	}
	var a Alert
	if err := json.Unmarshal(body, &a); err != nil {
		return stored, fmt.Errorf("read an alert: %w", err)
	}
	if i.Sent == 0 && a.Registry.Current.Code == watched.State.Code && a.Registry.Current.undecided() == watched.State.Undecided() {
		return stored, nil
	}
	if stored, err = reminder(a, i, watched, now); err == nil {
		err = tx.Outbox.Store(ctx, stored)
	}
	stored.RegistryUID = i.RegistryUID
	return stored, err
}

// undecided is Undecided of store.HealthResult.
func (v HealthResult) undecided() bool {
	return store.HealthResult{Valid: v.Valid, Reason: v.Reason}.Undecided()
}

// reminder returns the alert that a registry still fails, from an earlier one.
func reminder(a Alert, i incidents.Incident, watched store.Watched, now time.Time) (store.Alert, error) {
	a.Kind, a.At, a.Repeat = RegistryNotValid, now, i.Sent
	a.Registry.Current = ResultOf(watched.State)
	a.Message = fmt.Sprintf("Registry %q (%s) is still not valid: %s, since %s.", a.Registry.Name, a.Registry.Endpoint, watched.State.Code,
		watched.Since.UTC().Format(time.RFC1123))
	if watched.State.Undecided() {
		a.Message = a.Registry.Unchecked()
	}
	return encode(&a)
}

// Unchecked returns the message of an alert that the provider of the credentials of a registry is down.
func (r Registry) Unchecked() string {
	return fmt.Sprintf("Registry %q (%s) cannot be checked: the provider of its credentials is down, not the registry. %s", r.Name,
		r.Endpoint, r.Current.Message)
}

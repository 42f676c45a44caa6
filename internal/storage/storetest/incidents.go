package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/internal/storage/incidents"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// alertIncidents stores incidents, of which one of several callers changes each, and which are deleted with their channel or registry.
func alertIncidents(t *testing.T, db *store.DB) {
	org := mustOrg(t, db, "acme")
	project := mustProject(t, db, org)
	first, second := mustWatched(t, db, org, "a"), mustWatched(t, db, org, "b")
	channel := store.Channel{UID: "c", OrgUID: org.UID, ProjectUID: project.UID, Component: "RegistryHealth", Type: "email", Active: true,
		CreatedAt: start, AlertTimes: store.AlertTimes{AfterMinutes: 5, RepeatHours: 6}}
	alert := store.Alert{UID: "a", OrgUID: org.UID, Component: channel.Component, At: start, Body: []byte(`{}`), RegistryUID: first.UID}
	of := incidents.Incident{ChannelUID: "c", RegistryUID: first.UID, OrgUID: org.UID, AlertUID: "a", DueAt: start.Add(time.Minute)}
	later := alert
	later.UID = "b"
	var seen []store.AlertedChannel
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		err := errors.Join(tx.Channels.Insert(ctx, channel), tx.Outbox.Store(ctx, alert), tx.Outbox.Store(ctx, later))
		without, listErr := tx.Outbox.AlertedChannels(ctx, alert)
		other := of
		other.RegistryUID, other.Sent = second.UID, 1
		err = errors.Join(err, listErr, tx.Incidents.Put(ctx, of), tx.Incidents.Put(ctx, other))
		with, listErr := tx.Outbox.AlertedChannels(ctx, alert)
		seen = slices.Concat(without, with)
		return errors.Join(err, listErr)
	})
	want := []store.AlertedChannel{{UID: "c", AlertTimes: channel.AlertTimes}, {UID: "c", AlertTimes: channel.AlertTimes, DueAt: of.DueAt}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	next := of
	next.DueAt, next.Sent, next.AlertUID = of.DueAt.Add(time.Hour), 1, "b"
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		due, err := tx.Incidents.Due(ctx, of.DueAt, 1)
		early, err2 := tx.Incidents.Due(ctx, start, 9)
		waiting, err3 := tx.Outbox.Count(ctx, 9)
		if err := errors.Join(err, err2, err3); len(due) != 1 || len(early) != 0 || waiting != 0 || err != nil {
			t.Errorf("%v, %v, %d waiting: %v", due, early, waiting, err)
		}
		for i, want := range []bool{true, false} {
			if moved, err := tx.Incidents.Move(ctx, of.DueAt, next); moved != want || err != nil {
				t.Errorf("move %d: %t, %v", i, moved, err)
			}
		}
		if ended, err := tx.Incidents.End(ctx, of); ended || err != nil {
			t.Errorf("the end of an incident that was moved: %t, %v", ended, err)
		}
		if other, err := tx.Incidents.Delete(ctx, "other", first.UID); len(other) != 0 || err != nil {
			t.Errorf("of another organization: %v, %v", other, err)
		}
		return tx.Registries.Delete(ctx, org.UID, second.UID)
	})
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		left, err := tx.Incidents.Due(ctx, next.DueAt, 9)
		if diff := cmp.Diff([]incidents.Incident{next}, left); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		return nil
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error {
		ended, err := tx.Incidents.Delete(ctx, org.UID, first.UID)
		if diff := cmp.Diff([]incidents.Incident{next}, ended); diff != "" || err != nil {
			t.Errorf("the recovery: %v\n%s", err, diff)
		}
		if left, err := tx.Incidents.Due(ctx, next.DueAt, 9); len(left) != 0 || err != nil {
			t.Errorf("after the recovery: %v, %v", left, err)
		}
		return tx.Incidents.Put(ctx, next)
	})
	mustWrite(t, db, func(ctx context.Context, tx *store.Tx) error { return tx.Channels.Delete(ctx, org.UID, "c") })
	mustRead(t, db, func(ctx context.Context, tx *store.Tx) error {
		if left, err := tx.Incidents.Due(ctx, next.DueAt, 9); len(left) != 0 || err != nil {
			t.Errorf("after the deletion of the channel: %v, %v", left, err)
		}
		return nil
	})
}

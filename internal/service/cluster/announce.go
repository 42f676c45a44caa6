package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	// repeatAfter is when the Event of a failure is written again: API servers delete Events after an hour.
	repeatAfter   = 55 * time.Minute
	announceBatch = 1000
	maxRefused    = 10 // Events of a pass; the next pass continues after them
	announceTime  = 5 * time.Second
)

// announcer writes Events. The store has which changes of health were written; what objects lack is remembered by one leader.
type announcer struct {
	*Service
	written map[defect]time.Time
	refused bool         // the last pass could not write an Event
	after   store.Origin // where the last pass ended; empty: at the end
}

// announce writes the Events that are due for the objects that are known.
func (a *announcer) announce(ctx context.Context, now resolved) {
	if len(now.objects) == 0 {
		return
	}
	err := errors.Join(bounded(ctx, now, a.announceHealth), bounded(ctx, now, a.announceDefects))
	if err != nil && !a.refused && ctx.Err() == nil {
		a.Log.Error("events of the cluster not written; they are tried again", "cluster", a.Cluster, "error", err)
	}
	a.refused = err != nil
}

// bounded limits how long writing Events delays storing what changed in the cluster.
func bounded(ctx context.Context, now resolved, write func(context.Context, resolved) error) error {
	ctx, cancel := context.WithTimeout(ctx, announceTime)
	defer cancel()
	return write(ctx, now)
}

// announceHealth writes the Events of changes of health. One that is refused, such as by a quota of its namespace, prevents no other.
func (a *announcer) announceHealth(ctx context.Context, now resolved) error {
	at := a.now()
	due, err := store.Read(ctx, a.db, func(tx *store.Tx) ([]store.Announcement, error) {
		return tx.Origins.Unannounced(ctx, a.OrgUID, a.Cluster, a.after, at.Add(-repeatAfter), announceBatch)
	})
	if err != nil {
		return err
	}
	done, err := a.writeHealth(ctx, now, due)
	if len(done) == 0 {
		return err
	}
	return errors.Join(err, a.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, one := range done {
			if err := tx.Origins.Announced(ctx, a.OrgUID, one, at); err != nil {
				return err
			}
		}
		return nil
	}))
}

// writeHealth writes Events, and returns the announcements that need not be written again.
func (a *announcer) writeHealth(ctx context.Context, now resolved, due []store.Announcement) (done []store.Announcement, err error) {
	var refused []error
	a.after = store.Origin{}
	for i, one := range due {
		object, written := now.objects[one.Object] // one that is not known is about to be deleted
		if written && (!one.Health.State.Valid || one.WasFailing) {
			if err := a.source.Write(ctx, a.event(one, object, now.entry(one.Origin))); err != nil {
				refused, written = append(refused, err), false
			}
		}
		if written {
			done = append(done, one)
		}
		if len(refused) == maxRefused || ctx.Err() != nil || i == announceBatch-1 {
			a.after = one.Origin
			break
		}
	}
	return done, errors.Join(refused...)
}

// event returns the Event for a health status. Its hint is in the words of the object.
func (a *announcer) event(one store.Announcement, object Object, e *entry) Event {
	state := one.Health.State
	event := Event{Object: object, Warning: true, Reason: state.Code, Message: one.Entry + ": " + state.Message}
	if state.Valid {
		event.Warning, event.Reason, event.Message = false, reasonValid, one.Entry+" can be used again."
		return event
	}
	if state.Code == fault.CodeInvalidRequest {
		event.Reason = reasonInvalid
	}
	hint := state.Hint
	if report, err := reports.Decode(one.Report); err == nil && e != nil {
		report = a.Words(e.found, report)
		event.Message, hint = one.Entry+": "+report.Message, report.Hint
	}
	if hint != "" {
		event.Message += " Fix: " + hint
	}
	return event
}

// announceDefects writes an Event for each object that lacks something, and again while it does.
func (a *announcer) announceDefects(ctx context.Context, now resolved) error {
	still := make(map[defect]time.Time, len(now.defects))
	for _, f := range now.defects {
		still[f] = a.written[f]
	}
	a.written = still
	var refused []error
	for f, last := range still { // in random order
		if a.now().Sub(last) < repeatAfter {
			continue
		}
		event := Event{Object: now.objects[f.origin], Warning: true, Reason: f.reason, Message: f.message}
		if err := a.source.Write(ctx, event); err == nil {
			a.written[f] = a.now()
		} else if refused = append(refused, err); len(refused) == maxRefused || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(refused...)
}

package cluster

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	// repeatAfter is when the Event of a failure is written again: API servers delete Events after an hour.
	repeatAfter   = 55 * time.Minute
	announceBatch = 1000
)

// announcer writes Events. The store has which changes of health were written; what objects lack is remembered by one leader.
type announcer struct {
	*Service
	written map[defect]time.Time
	refused bool // the last Event was not written
}

// announce writes the Events that are due for the objects that are known.
func (a *announcer) announce(ctx context.Context, now resolved) {
	if len(now.objects) == 0 {
		return
	}
	err := a.announceHealth(ctx, now)
	if err == nil {
		err = a.announceDefects(ctx, now)
	}
	if err != nil && !a.refused && ctx.Err() == nil {
		a.Log.Error("events of the cluster not written; they are tried again", "cluster", a.Cluster, "error", err)
	}
	a.refused = err != nil
}

func (a *announcer) announceHealth(ctx context.Context, now resolved) error {
	at := a.now()
	due, err := store.Read(ctx, a.db, func(tx *store.Tx) ([]store.Announcement, error) {
		return tx.Origins.Unannounced(ctx, a.OrgUID, a.Cluster, at.Add(-repeatAfter), announceBatch)
	})
	if err != nil {
		return err
	}
	var done []store.Announcement
	for _, one := range due {
		object, known := now.objects[one.Object]
		if !known {
			continue // it is about to be deleted
		}
		if !one.Health.State.Valid || one.WasFailing {
			if err = a.source.Write(ctx, a.event(one, object, now.entry(one.Origin))); err != nil {
				break
			}
		}
		done = append(done, one)
	}
	if len(done) == 0 {
		return err
	}
	stored := a.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, one := range done {
			if err := tx.Origins.Announced(ctx, a.OrgUID, one, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = stored
	}
	return err
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
	for f, last := range still {
		if a.now().Sub(last) < repeatAfter {
			continue
		}
		event := Event{Object: now.objects[f.origin], Warning: true, Reason: f.reason, Message: f.message}
		if err := a.source.Write(ctx, event); err != nil {
			return err
		}
		a.written[f] = a.now()
	}
	return nil
}

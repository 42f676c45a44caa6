package registries

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// Standing is a kept registry in a list, with what is known of it.
type Standing = store.RegistryStanding

// Standings lists an organization's registries by name. An operator names the organization; others leave it empty.
func (s *Service) Standings(ctx context.Context, p auth.Principal, org string) ([]Standing, error) {
	var list []Standing
	err := s.db.View(ctx, func(tx *store.Tx) error {
		in, err := p.Org(ctx, tx, org)
		if err != nil {
			return err
		}
		list, err = tx.RegistryStandings(ctx, in.UID)
		return err
	})
	return list, asDone("list registries", err)
}

// Synchronized tells how the synchronization of a registry that Find returned stands. The zero value says that
// there never was one.
func (s *Service) Synchronized(ctx context.Context, r Registry) (state store.RegistrySync, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		if state, err = tx.RegistrySync(ctx, r.OrgUID, r.UID); errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return state, asDone("look up the synchronization of a registry", err)
}

// CheckNow checks a registry that Find returned, at an operator's wish. The verdict counts as one of the watch's:
// it is part of the history, and what it changes is told by alerts. The watch goes on an interval later; a check
// of the watch that is under way is not heard any more.
//
// Faults: as Check; Conflict with CodeSecretUnreadable.
func (s *Service) CheckNow(ctx context.Context, origin audit.Origin, p auth.Principal, r Registry, interval time.Duration, observe regcheck.Observer) (*regcheck.Report, error) {
	if err := p.May(auth.OpenRegistries); err != nil {
		return nil, err
	}
	kept, err := s.stored(ctx, r.OrgUID, r.UID)
	if err != nil {
		return nil, err
	}
	w := &watch{s, WatchConfig{Interval: interval}}
	row, err := w.take(ctx, kept)
	if err != nil {
		return nil, err
	}
	report, err := s.Check(ctx, p, origin, Request{
		AuditUID: uuid.NewString(), Purpose: Diagnose, Definition: kept.Definition, OrgUID: kept.OrgUID, Observe: observe,
	})
	if err != nil {
		w.release(ctx, row)
		return nil, err
	}
	_, err = w.end(ctx, finding{record: kept, row: row, report: report, seen: seenIn(report)})
	return report, err
}

// take has the lease on one definition, whoever has it now.
func (w *watch) take(ctx context.Context, r record) (row store.Watched, err error) {
	until := w.now().Add(watchLease)
	err = w.db.InTx(ctx, func(tx *store.Tx) (err error) {
		row, err = tx.TakeWatch(ctx, r.OrgUID, r.UID, uuid.NewString(), until)
		return notFound(err)
	})
	return row, asDone("take a registry out of the watch", err)
}

package watch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/service/auth/names"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// maxSameName bounds how many organizations are read that have a registry of the name of a target.
const maxSameName = 1000

// Target names a stored registry. Org and Project are necessary if several organizations have a registry of that name.
type Target struct{ Name, Org, Project string }

// Probe returns the health of a stored registry, for the operator, from a check that ended less than maxAge ago. If there is none, it
// makes the registry due, and waits until a server has checked it or ctx ends.
//
// Faults: NotFound; Conflict if several registries match; Unavailable if no check ends in time.
func (s *Service) Probe(ctx context.Context, target Target, maxAge time.Duration) (RegistryHealth, error) {
	found, err := s.probe(ctx, target, maxAge)
	if err != nil && ctx.Err() != nil {
		err = notDone("No server has checked the registry in time: all are busy, or their --watch-interval is 0s.")
	}
	return found, err
}

func (s *Service) probe(ctx context.Context, target Target, maxAge time.Duration) (RegistryHealth, error) {
	began := s.now()
	for hastened := false; ; hastened = true {
		found, err := s.find(ctx, target)
		if err != nil || began.Sub(found.Health.LastAt) < maxAge {
			return found, err
		}
		if !hastened {
			err = s.db.InTx(ctx, func(tx *store.Tx) error { return tx.Watch.Hasten(ctx, found.OrgUID, found.UID, began) })
			if err != nil {
				return found, fmt.Errorf("make a registry due: %w", err)
			}
		}
		if err := loop.Sleep(ctx, pollInterval); err != nil {
			return found, err
		}
	}
}

// find returns the only registry that a target names.
func (s *Service) find(ctx context.Context, target Target) (found RegistryHealth, err error) {
	list, err := store.Read(ctx, s.db, func(tx *store.Tx) ([]RegistryHealth, error) {
		return tx.Watch.HealthByName(ctx, names.Canonical(target.Name), maxSameName)
	})
	if err != nil {
		return found, fault.Wrap("find a registry", err)
	}
	list = slices.DeleteFunc(list, func(r RegistryHealth) bool {
		return target.Org != "" && names.Canonical(r.Org) != names.Canonical(target.Org) ||
			target.Project != "" && names.Canonical(r.Project) != names.Canonical(target.Project)
	})
	switch len(list) {
	case 0:
		return found, registries.NotFound(store.ErrNotFound)
	case 1:
		return list[0], nil
	}
	return found, &fault.Error{Kind: fault.Conflict, Code: fault.CodeInvalidRequest,
		Message: "Several registries have this name. Name the organization or project too."}
}

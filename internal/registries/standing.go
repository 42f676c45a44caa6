package registries

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/store"
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
		list, err = tx.Registries.Standings(ctx, in.UID)
		return err
	})
	return list, asDone("list registries", err)
}

// Synchronized tells how the synchronization of a registry that Find returned stands. The zero value says that
// there never was one.
func (s *Service) Synchronized(ctx context.Context, r Registry) (state store.RegistrySync, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		if state, err = tx.Syncs.Get(ctx, r.OrgUID, r.UID); errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return state, asDone("look up the synchronization of a registry", err)
}

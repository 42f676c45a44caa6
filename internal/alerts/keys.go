package alerts

import (
	"context"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

const (
	keyWarning = 7 * 24 * time.Hour
	keyEvery   = 5 * time.Minute
	keyBatch   = 100
	keptFor    = 30 * 24 * time.Hour // alerts, after which nothing of them can still be on its way
)

// WatchKeys raises an alert for each API key that expires within seven days, until ctx ends. A key that is given
// another end is told of again in its time. It also deletes alerts that are long past.
func (s *Service) WatchKeys(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.tellExpiring(ctx)
		if err == nil {
			err = s.sweep(ctx)
		}
		if err != nil && ctx.Err() == nil && s.config.Log != nil {
			s.config.Log.Error("expiring API keys were not looked for; trying again in some minutes", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(keyEvery):
		}
	}
}

func (s *Service) tellExpiring(ctx context.Context) error {
	for {
		now := s.now()
		var keys []store.ExpiringKey
		err := s.db.View(ctx, func(tx *store.Tx) (err error) {
			keys, err = tx.ExpiringKeys(ctx, APIKeyExpiry, now, now.Add(keyWarning), keyBatch)
			return err
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := s.db.InTx(ctx, func(tx *store.Tx) error { return tellKeys(ctx, tx, keys, now) }); err != nil {
			return fmt.Errorf("tell of expiring API keys: %w", err)
		}
	}
}

// tellKeys raises one alert for each key that no other replica told of meanwhile.
func tellKeys(ctx context.Context, tx *store.Tx, keys []store.ExpiringKey, now time.Time) error {
	for _, k := range keys {
		first, err := tx.NoteKeyAlert(ctx, k.UID, k.ExpiresAt)
		if err != nil {
			return err
		}
		if !first {
			continue
		}
		err = Raise(ctx, tx, Alert{Component: APIKeyExpiry, Kind: APIKeyExpiresSoon, At: now, Organization: Organization{k.OrgUID, k.OrgName},
			Message: fmt.Sprintf("API key %q of %s expires on %s.", k.Name, k.Email, k.ExpiresAt.UTC().Format(time.RFC1123)),
			APIKey:  &APIKey{UID: k.UID, Name: k.Name, User: k.Email, ExpiresAt: k.ExpiresAt}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) sweep(ctx context.Context) error {
	for n := int64(keyBatch); n == keyBatch; {
		err := s.db.InTx(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.DeleteAlerts(ctx, s.now().Add(-keptFor), keyBatch)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete old alerts: %w", err)
		}
	}
	return nil
}

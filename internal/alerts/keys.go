package alerts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

const (
	keyWarning = 7 * 24 * time.Hour
	keyEvery   = 5 * time.Minute
	keyBatch   = 100
	sweepBatch = 10                  // alerts, each with what it owed to up to a hundred channels
	keptFor    = 30 * 24 * time.Hour // alerts, after which nothing of them can still be on its way
)

// WatchKeys raises alerts for API keys that expire within seven days, until ctx ends. A key that is given another end
// is told of again in its time; one that was made to live no longer than seven days is not told of. It also deletes alerts that are long past.
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

// tellExpiring goes through the keys in batches. An organization whose alert cannot be written is left for the next
// time and keeps no other one from its own.
func (s *Service) tellExpiring(ctx context.Context) error {
	now := s.now()
	var failed error
	for after := (store.ExpiringKey{ExpiresAt: now}); ; {
		var keys []store.ExpiringKey
		err := s.db.View(ctx, func(tx *store.Tx) (err error) {
			keys, err = tx.APIKeys.Expiring(ctx, APIKeyExpiry, after, now.Add(keyWarning), keyWarning, keyBatch)
			return err
		})
		if err != nil || len(keys) == 0 {
			return errors.Join(failed, err)
		}
		after = keys[len(keys)-1]
		for _, of := range byOrganization(keys) {
			if err := s.db.InTx(ctx, func(tx *store.Tx) error { return tellKeys(ctx, tx, of, now) }); err != nil {
				failed = fmt.Errorf("tell of expiring API keys: %w", err)
			}
		}
	}
}

// byOrganization gives the keys of each organization together.
func byOrganization(keys []store.ExpiringKey) [][]store.ExpiringKey {
	var groups [][]store.ExpiringKey
	at := map[string]int{}
	for _, k := range keys {
		i, known := at[k.OrgUID]
		if !known {
			i, groups = len(groups), append(groups, nil)
			at[k.OrgUID] = i
		}
		groups[i] = append(groups[i], k)
	}
	return groups
}

// tellKeys raises one alert for those of an organization's keys that no other replica told of meanwhile: whoever
// makes keys by the hundred makes no hundred e-mails.
func tellKeys(ctx context.Context, tx *store.Tx, keys []store.ExpiringKey, now time.Time) error {
	a := Alert{Component: APIKeyExpiry, Kind: APIKeyExpiresSoon, At: now, Organization: Organization{keys[0].OrgUID, keys[0].OrgName}}
	for _, k := range keys {
		first, err := tx.APIKeys.NoteAlert(ctx, k.UID, k.ExpiresAt)
		if err != nil {
			return err
		}
		if first {
			a.APIKeys = append(a.APIKeys, APIKey{UID: k.UID, Name: k.Name, User: k.Email, ExpiresAt: k.ExpiresAt})
		}
	}
	switch len(a.APIKeys) {
	case 0:
		return nil
	case 1:
		a.Message = fmt.Sprintf("API key %q of %s expires on %s.", a.APIKeys[0].Name, a.APIKeys[0].User, a.APIKeys[0].ExpiresAt.UTC().Format(time.RFC1123))
	default:
		a.Message = fmt.Sprintf("%d API keys expire within seven days, the first on %s.", len(a.APIKeys), a.APIKeys[0].ExpiresAt.UTC().Format(time.RFC1123))
	}
	return Raise(ctx, tx, a)
}

// sweep deletes old alerts, and old addresses that did not confirm.
func (s *Service) sweep(ctx context.Context) error {
	before := s.now().Add(-keptFor)
	for _, step := range []func(*store.Tx) (int64, error){
		func(tx *store.Tx) (int64, error) { return tx.Outbox.DeleteBefore(ctx, before, sweepBatch) },
		func(tx *store.Tx) (int64, error) { return tx.Addresses.DeleteAsked(ctx, before, sweepBatch) },
	} {
		for n := int64(sweepBatch); n == sweepBatch; {
			if err := s.db.InTx(ctx, func(tx *store.Tx) (err error) {
				n, err = step(tx)
				return err
			}); err != nil {
				return fmt.Errorf("delete old alerts: %w", err)
			}
		}
	}
	return nil
}

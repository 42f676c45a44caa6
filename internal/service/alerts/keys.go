package alerts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	keyInterval    = 5 * time.Minute
	keyBatch       = 100
	sweepBatch     = 10                  // alerts, each with the deliveries of up to a hundred channels
	alertRetention = 30 * 24 * time.Hour // longer than any delivery is pending
)

// KeyWatcher raises the alerts of API keys.
type KeyWatcher struct {
	db  *store.DB
	now func() time.Time
	log *slog.Logger
}

// WatchKeys raises alerts for API keys at the reminders of their organization, until ctx ends. A key whose expiry is changed gets other
// alerts. WatchKeys also deletes old alerts.
func (s *KeyWatcher) WatchKeys(ctx context.Context) {
	loop.Retry(ctx, keyInterval, s.log, "search for expiring API keys failed", func(ctx context.Context) error {
		if err := s.alertExpiring(ctx); err != nil {
			return err
		}
		return s.sweep(ctx)
	})
}

// alertExpiring reads the keys in batches. If the alert of an organization cannot be stored, the next call retries it; the alerts of
// other organizations are stored.
func (s *KeyWatcher) alertExpiring(ctx context.Context) error {
	now := s.now()
	var failed error
	for after := (store.ExpiringKey{ExpiresAt: now}); ; {
		keys, err := store.Read(ctx, s.db, func(tx *store.Tx) ([]store.ExpiringKey, error) {
			return tx.APIKeys.Expiring(ctx, APIKeyExpiry, after, now, keyBatch)
		})
		if err != nil || len(keys) == 0 {
			return errors.Join(failed, err)
		}
		after = keys[len(keys)-1]
		for _, group := range byOrganization(keys) {
			if err := s.db.InTx(ctx, func(tx *store.Tx) error { return alertKeys(ctx, tx, group, now) }); err != nil {
				failed = fmt.Errorf("raise an alert for expiring API keys: %w", err)
			}
		}
	}
}

// byOrganization groups keys by organization.
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

// alertKeys raises one alert for all of an organization's keys without an alert of another replica: a hundred keys must not cause a
// hundred emails.
func alertKeys(ctx context.Context, tx *store.Tx, keys []store.ExpiringKey, now time.Time) error {
	mutes, err := tx.Mutes.OfOrg(ctx, keys[0].OrgUID, now)
	if err != nil {
		return err
	}
	for _, mute := range mutes {
		if mute.Covers("", nil, now) { // raised after the mute
			return nil
		}
	}
	a := Alert{Component: APIKeyExpiry, Kind: APIKeyExpiresSoon, At: now, Organization: Organization{keys[0].OrgUID, keys[0].OrgName}}
	for _, k := range keys {
		first, err := tx.APIKeys.NoteAlert(ctx, k.UID, k.ExpiresAt, k.Days)
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
		a.Message = fmt.Sprintf("API key %q of %s expires on %s.", a.APIKeys[0].Name, a.APIKeys[0].User,
			a.APIKeys[0].ExpiresAt.UTC().Format(time.RFC1123))
	default:
		a.Message = fmt.Sprintf("%d API keys expire soon, the first on %s.", len(a.APIKeys),
			a.APIKeys[0].ExpiresAt.UTC().Format(time.RFC1123))
	}
	return Raise(ctx, tx, a)
}

// sweep deletes old alerts, and addresses that did not confirm an old link.
func (s *KeyWatcher) sweep(ctx context.Context) error {
	before := s.now().Add(-alertRetention)
	for _, step := range []func(*store.Tx) (int64, error){
		func(tx *store.Tx) (int64, error) { return tx.Outbox.DeleteBefore(ctx, before, sweepBatch) },
		func(tx *store.Tx) (int64, error) {
			return tx.Addresses.DeleteUnconfirmedBefore(ctx, before, sweepBatch)
		},
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

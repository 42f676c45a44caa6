package registries

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// ContactRequest is a principal's request that the service contacts a stored registry.
type ContactRequest struct {
	Permission access.Permission
	Action     audit.Action
	UID        string
}

// Contact is a registry that may be contacted.
type Contact struct {
	OrgUID, UID   string
	SyncSupported bool
	Now, At       time.Time // At is when it may be contacted: Now or later
}

// RequestContact checks the permission of p, reserves the time of the contact, calls schedule in the same transaction, and records
// the request. schedule returns store.ErrNotFound if the registry is missing.
//
// Faults: Forbidden, which is recorded; NotFound; those of schedule.
func (s *Service) RequestContact(ctx context.Context, p auth.Principal, origin audit.Origin, r ContactRequest,
	schedule func(*store.Tx, Contact) error) error {
	if err := s.allowedOn(ctx, p, origin, r.Permission, r.Action, r.UID); err != nil {
		return err
	}
	if err := CheckUID(r.UID); err != nil {
		return err
	}
	err := s.db.InTx(ctx, func(tx *store.Tx) (err error) {
		c := Contact{UID: r.UID, Now: s.now()}
		if c.OrgUID, err = p.FindOrgUID(ctx, tx); err != nil {
			return err
		}
		// Locked first, as in a replacement, to prevent deadlocks.
		if c.SyncSupported, err = tx.Registries.Lock(ctx, c.OrgUID, c.UID); err != nil {
			return err
		}
		if c.At, err = s.scheduleFirstCheck(ctx, tx, p, c.Now); err != nil {
			return err
		}
		if err := schedule(tx, c); err != nil {
			return err
		}
		return tx.Audits.Append(ctx, s.succeeded(p, origin, r.Action, c.OrgUID, c.UID))
	})
	return fault.Wrap(string(r.Action), NotFound(err))
}

// scheduleFirstCheck returns when the service contacts a registry because a user changed its definition, or requested a check or a
// synchronization: now for as many as the user may validate per minute, later for the others. The request itself is not delayed
// or refused. Without this limit a user could make the service contact any number of addresses at once by storing definitions.
func (s *Service) scheduleFirstCheck(ctx context.Context, tx *store.Tx, p auth.Principal, now time.Time) (time.Time, error) {
	if p.UserUID == "" {
		return now, nil // an operator
	}
	wait, reserved, err := tx.Allowances.ReserveContact(ctx, p.UserUID, s.limits.ContactsPerMinute, now)
	if !reserved {
		wait = store.ContactsAhead/2 + rand.N(store.ContactsAhead/2) // #nosec G404 -- spreads load, hides nothing
	}
	return now.Add(wait), err
}

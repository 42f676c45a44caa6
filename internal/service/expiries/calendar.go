package expiries

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/perminute"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/secret"
)

// NewLimiter returns the limit of calendars that a source may ask for by keys that are not in memory.
func NewLimiter() *perminute.Limiter { return perminute.New(30) }

// OfCalendar lists what the user sees whose calendar has this key in its URL.
//
// Faults: NotFound, the same for each key that is not accepted; Limited; Unavailable.
func (s Service) OfCalendar(ctx context.Context, origin audit.Origin, key secret.String) ([]Expiry, error) {
	p, err := s.Authenticator.ByCalendarKey(ctx, key, func() error {
		if wait, reserved := s.Limiter.Reserve(origin.Source(), 0, s.Now()); !reserved {
			return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
				Message: "Too many requests of calendars in the last minute. Retry after the time in Retry-After."}
		}
		return nil
	})
	if fault.KindOf(err) == fault.Unauthenticated || err == nil && !p.CanAnywhere(access.ReadRegistries) {
		err = fault.ResourceNotFound("Calendar not found.")
	}
	if err != nil {
		return nil, err
	}
	return s.List(ctx, p)
}

// Calendar is a key of a calendar.
type Calendar struct {
	UID, Name             string
	ExpiresAt, LastUsedAt time.Time
	Active                bool
}

// Calendars lists the keys of the calendars of a user.
func (s Service) Calendars(ctx context.Context, p auth.Principal) (list []Calendar, err error) {
	err = s.DB.View(ctx, func(tx *store.Tx) error {
		keys, err := tx.APIKeys.OfUser(ctx, p.OrgUID, p.UserUID)
		for _, k := range keys {
			if access.Scope(k.Scope) == access.ScopeCalendar {
				list = append(list, Calendar{k.UID, k.Name, k.ExpiresAt, k.LastUsedAt,
					k.DeactivatedAt.IsZero() && s.Now().Before(k.ExpiresAt)})
			}
		}
		return err
	})
	return list, fault.Wrap("list calendars", err)
}

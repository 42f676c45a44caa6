package registries

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/store"
)

// scheduleFirstCheck returns when the service contacts a registry because a user changed its definition, or asked for a check
// or a synchronization: now for as many as the user may validate per minute, later for the others. The call itself neither
// waits nor fails. Without this limit a user could have any number of addresses contacted at once by storing definitions.
func (s *Service) scheduleFirstCheck(ctx context.Context, tx *store.Tx, p auth.Principal, now time.Time) (time.Time, error) {
	if p.UserUID == "" {
		return now, nil // an operator
	}
	wait, reserved, err := tx.Allowances.ReserveContact(ctx, p.UserUID, s.gate.limits.PerMinute, now)
	if !reserved {
		wait = store.ContactsAhead/2 + rand.N(store.ContactsAhead/2) // #nosec G404 -- spreads load, hides nothing
	}
	return now.Add(wait), err
}

package registries

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/store"
)

// firstCheckWithin bounds the wait for checks that a change asks for. It is at most the default interval of scheduled checks,
// which come without being asked for.
const firstCheckWithin = 15 * time.Minute

// scheduleFirstCheck returns when the service contacts a registry because a user changed its definition, or asked for a check
// or a synchronization: now for as many as the user may validate per minute, later for the others. The call itself neither
// waits nor fails. Without this limit a user could have any number of addresses contacted at once by storing definitions.
// Validations have an allowance of their own, so that stored definitions never make a validation fail.
func (s *Service) scheduleFirstCheck(ctx context.Context, tx *store.Tx, p auth.Principal, now time.Time) (time.Time, error) {
	if p.UserUID == "" {
		return now, nil // an operator
	}
	wait, reserved, err := tx.ReserveSlot(ctx, "changes of "+p.UserUID, s.gate.limits.PerMinute, time.Minute, firstCheckWithin, now)
	if !reserved {
		wait = firstCheckWithin/2 + rand.N(firstCheckWithin/2) // #nosec G404 -- spreads load, hides nothing
	}
	return now.Add(wait), err
}

package registries

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/store"
)

// firstCheckWithin bounds how long the checks wait that a change asks for. No more than an interval of the watch: then
// they would come by themselves.
const firstCheckWithin = 15 * time.Minute

// firstTurn says when the service contacts a registry because a user changed its definition, or asked for its content:
// at once, at the cost of one of the validations that the user may begin in this minute. Whoever changes definitions
// faster could else have any number of addresses tried in no time; what is over waits in a line of the user's own,
// which moves as fast as validations are allowed. The change itself does not wait.
func (s *Service) firstTurn(ctx context.Context, tx *store.Tx, p auth.Principal, now time.Time) (time.Time, error) {
	if p.UserUID == "" {
		return now, nil // an operator
	}
	wait, err := s.spend(ctx, tx, p.UserUID, now)
	if err != nil || wait == 0 {
		return now, err
	}
	wait, full, err := tx.TakeTurn(ctx, "changes of "+p.UserUID, s.gate.limits.PerMinute, time.Minute, firstCheckWithin, now)
	if full {
		wait = firstCheckWithin/2 + rand.N(firstCheckWithin/2) // #nosec G404 -- spreads load, hides nothing
	}
	return now.Add(wait), err
}

// spend takes one validation of the user's allowance, or tells how long it is until there is one.
func (s *Service) spend(ctx context.Context, tx *store.Tx, user string, now time.Time) (time.Duration, error) {
	if s.db.Shared() {
		return tx.UseAllowance(ctx, user, s.gate.limits.PerMinute, time.Minute, now)
	}
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return s.gate.spend(user), nil
}

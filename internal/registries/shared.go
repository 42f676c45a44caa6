package registries

import (
	"context"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/auth"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// begin writes the record of a validation that begins. Where several servers share the store, they share what a user may
// begin per minute as well: it is counted in the same transaction. A server by itself has counted it in memory (gate).
func (s *Service) begin(ctx context.Context, p auth.Principal, origin audit.Origin, r Request) error {
	started := s.event(p, origin, r, audit.Started, "")
	if !s.db.Shared() || p.UserUID == "" {
		return s.append(ctx, started)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	var wait time.Duration
	err := s.db.InTx(ctx, func(tx *store.Tx) (err error) {
		if wait, err = s.spend(ctx, tx, p.UserUID, s.now()); err != nil || wait > 0 {
			return err
		}
		return tx.AppendAudit(ctx, started)
	})
	if err != nil {
		return fmt.Errorf("record the validation: %w", err)
	}
	if wait > 0 {
		return tooOften(wait)
	}
	return nil
}

// tooOften is the fault of a user who has used up what one may begin per minute.
func tooOften(wait time.Duration) error {
	return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
		Message: "You have begun too many validations in the last minute."}
}

package registries

import (
	"context"
	"fmt"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// awaitAllowance waits until the user may begin another validation, at most maxWait. Clients that store many registries in a
// row validate each of them first; a 429 would make them wait longer, or give up.
func (s *Service) awaitAllowance(ctx context.Context, user string) error {
	if user == "" {
		return nil // an operator
	}
	within, leave := s.gate.delay()
	defer leave()
	wait, reserved, err := s.reserve(ctx, user, within)
	if err != nil {
		return fmt.Errorf("reserve a validation: %w", err)
	}
	if !reserved {
		return tooOften(wait)
	}
	return sleep(ctx, wait)
}

// reserve reserves the user's next validation: in the store where several servers share it, else in memory.
func (s *Service) reserve(ctx context.Context, user string, within time.Duration) (wait time.Duration, reserved bool, err error) {
	if !s.db.Shared() {
		wait, reserved = s.gate.reserve(user, within)
		return wait, reserved, nil
	}
	err = s.db.InTx(ctx, func(tx *store.Tx) (err error) {
		wait, reserved, err = tx.Allowances.Reserve(ctx, user, s.gate.limits.PerMinute, time.Minute, within, s.now())
		return err
	})
	return wait, reserved, err
}

// tooOften is the fault of a user who has used up the validations of a minute.
func tooOften(wait time.Duration) error {
	return &fault.Error{Kind: fault.Limited, Code: fault.CodeTooManyRequests, RetryAfter: wait,
		Message: "Too many validations in the last minute. Retry after the time in Retry-After."}
}

// sleep waits for d, or until ctx ends, and returns ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

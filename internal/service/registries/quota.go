package registries

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/loop"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// checkQuota returns a fault if the change in this transaction exceeds a quota of the organization. before is the usage before the
// change: if a quota was lowered, changes that reduce the usage must still be allowed.
func (s *Service) checkQuota(ctx context.Context, tx *store.Tx, orgUID string, before store.Usage) error {
	usage, err := tx.Registries.Usage(ctx, orgUID)
	if err != nil {
		return err
	}
	if limit := s.limits.OrgRegistries; limit > 0 && usage.Registries > max(limit, before.Registries) {
		return quotaExceeded(fmt.Sprintf("%d registries", limit), "organization-registries")
	}
	if limit := s.limits.OrgBytes; limit > 0 && usage.Bytes > max(limit, before.Bytes) {
		return quotaExceeded(fmt.Sprintf("%d MiB of registries", limit>>20), "organization-storage")
	}
	return nil
}

func quotaExceeded(quota, setting string) error {
	return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Message: fmt.Sprintf(
		"Your organization may store at most %s. Delete registries, or ask the operator of the service to raise %s.", quota, setting)}
}

// recountEvery is how often the usage of organizations is recounted.
const recountEvery = time.Hour

// Recount recounts the usage of organizations every hour until ctx ends: during an upgrade, servers of an older version may use the
// same store without counting.
func (s *Service) Recount(ctx context.Context, log *slog.Logger) {
	for s.db.Shared() && loop.Sleep(ctx, recountEvery) == nil {
		if err := s.recount(ctx); err != nil && ctx.Err() == nil {
			log.Error("recount of quotas failed", "retry_in", recountEvery, "error", err)
		}
	}
}

func (s *Service) recount(ctx context.Context) error {
	orgs, err := store.Read(ctx, s.db, func(tx *store.Tx) ([]store.Org, error) { return tx.Orgs.List(ctx) })
	for _, org := range orgs {
		if err == nil {
			err = s.db.InTx(ctx, func(tx *store.Tx) error { return tx.Registries.RecountUsage(ctx, org.UID) })
		}
	}
	return err
}

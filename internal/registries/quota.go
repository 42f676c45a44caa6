package registries

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
)

// withinQuota refuses a change, which is made already, that exceeds a quota of the organization. before is what it stored
// earlier, since a quota that was lowered must not refuse what makes less of it.
func (s *Service) withinQuota(ctx context.Context, tx *store.Tx, orgUID string, before store.Usage) error {
	usage, err := tx.Registries.Usage(ctx, orgUID)
	if err != nil {
		return err
	}
	if most := s.limits.OrgRegistries; most > 0 && usage.Registries > max(most, before.Registries) {
		return quotaExceeded(fmt.Sprintf("%d registries", most), "organization-registries")
	}
	if most := s.limits.OrgBytes; most > 0 && usage.Bytes > max(most, before.Bytes) {
		return quotaExceeded(fmt.Sprintf("%d MiB of registries", most>>20), "organization-storage")
	}
	return nil
}

func quotaExceeded(quota, setting string) error {
	return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeOperationForbidden, Message: fmt.Sprintf(
		"Your organization may store %s. Delete registries, or ask the operator of the service to raise %s.", quota, setting)}
}

// recountEvery is how often quotas are counted anew.
const recountEvery = time.Hour

// Recount counts what organizations store, every hour until ctx ends: a server of an older version, which may use the same
// store during an upgrade, does not count.
func (s *Service) Recount(ctx context.Context, log *slog.Logger) {
	for s.db.Shared() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(recountEvery):
		}
		if err := s.recount(ctx); err != nil && ctx.Err() == nil {
			log.Error("recount of quotas failed", "retry_in", recountEvery, "error", err)
		}
	}
}

func (s *Service) recount(ctx context.Context) error {
	var orgs []store.Org
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		orgs, err = tx.Orgs.List(ctx)
		return err
	})
	for _, org := range orgs {
		if err == nil {
			err = s.db.InTx(ctx, func(tx *store.Tx) error { return tx.Registries.RecountUsage(ctx, org.UID) })
		}
	}
	return err
}

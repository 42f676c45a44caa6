package registries

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/storage/listdetails"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// Details are what pages show of a registry in a list, and a Certificate is one that a check saw.
type (
	Details      = listdetails.Details
	Certificate  = listdetails.Certificate
	Certificates = listdetails.Certificates
)

// HealthChange is the begin of a period of equal health.
type HealthChange struct {
	At     time.Time
	Health Health
}

// Details returns the details of registries that Search listed for the caller, and their changes of health, the newest first, both by uid.
func (s *Service) Details(ctx context.Context, p auth.Principal, listed []Summary) (
	details map[string]Details, changes map[string][]HealthChange, err error,
) {
	changes = make(map[string][]HealthChange, len(listed))
	err = s.db.View(ctx, func(tx *store.Tx) error {
		uids := uidsOf(listed)
		if details, err = tx.Lists.Of(ctx, p.OrgUID, uids); err != nil {
			return err
		}
		results, err := tx.Lists.Changes(ctx, p.OrgUID, uids)
		for uid, all := range results {
			for _, r := range all {
				health := store.HealthResult{Valid: r.Valid, Reason: r.Reason}.Word()
				changes[uid] = append(changes[uid], HealthChange{r.At, health})
			}
		}
		return err
	})
	for uid, d := range details {
		if !p.CanIn(access.ReadRegistries, d.ProjectUID) {
			delete(details, uid)
			delete(changes, uid)
		}
	}
	return details, changes, fault.Wrap("read details of registries", err)
}

func uidsOf(listed []Summary) []string {
	uids := make([]string, len(listed))
	for i, r := range listed {
		uids[i] = r.UID
	}
	return uids
}

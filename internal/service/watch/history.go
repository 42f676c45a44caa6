package watch

import (
	"context"
	"encoding/json"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/storage/store"
)

// HealthStatus is the state of a stored registry between checks. Since is zero until a check has counted.
type HealthStatus = store.Health

// HistoryEntry is a series of consecutive checks with equal results.
type HistoryEntry = store.HealthPeriod

// maxHistory is the most entries that History returns.
const maxHistory = 200

// History returns the health status of a stored registry and at most limit entries of its status history, newest first. limit is
// 1–200; 0 means all that are stored. The first entry is the one after the entry after; the zero value precedes all.
//
// Faults: NotFound.
func (s *Service) History(ctx context.Context, p auth.Principal, uid string, limit int, after HistoryEntry) (
	HealthStatus, []HistoryEntry, error,
) {
	if limit == 0 {
		limit = maxHistory
	}
	if err := registries.CheckUID(uid); err != nil {
		return HealthStatus{}, nil, err
	}
	var row store.Watched
	var entries []HistoryEntry
	err := s.db.View(ctx, func(tx *store.Tx) error {
		orgUID, err := p.FindOrgUID(ctx, tx)
		if err != nil {
			return err
		}
		if err = registries.Visible(ctx, tx, p, orgUID, uid); err == nil {
			row, err = tx.Watch.Get(ctx, orgUID, uid)
		}
		if err != nil {
			return registries.NotFound(err)
		}
		entries, err = tx.Watch.History(ctx, orgUID, uid, after, limit)
		return err
	})
	for i := range entries {
		setTexts(&entries[i])
	}
	return row.Health(), entries, fault.Wrap("read a registry's history", err)
}

// Timeline returns all entries of a registry's status history, newest first, without their texts and reports.
//
// Faults: NotFound.
func (s *Service) Timeline(ctx context.Context, p auth.Principal, uid string) ([]HistoryEntry, error) {
	if err := registries.CheckUID(uid); err != nil {
		return nil, err
	}
	entries, err := store.Read(ctx, s.db, func(tx *store.Tx) ([]HistoryEntry, error) {
		if err := registries.Visible(ctx, tx, p, p.OrgUID, uid); err != nil {
			return nil, registries.NotFound(err)
		}
		if _, err := tx.Watch.Get(ctx, p.OrgUID, uid); err != nil {
			return nil, registries.NotFound(err)
		}
		return tx.Watch.Timeline(ctx, p.OrgUID, uid)
	})
	return entries, fault.Wrap("read a registry's timeline", err)
}

// setTexts sets message and hint from the report of the entry.
func setTexts(entry *HistoryEntry) {
	if entry.Report == nil {
		entry.Result = withTexts(entry.Result)
		return
	}
	var texts struct{ Message, Hint string }
	if json.Unmarshal(entry.Report, &texts) == nil { // a damaged report has no texts
		entry.Result.Message, entry.Result.Hint = texts.Message, texts.Hint
	}
}

// CountDue returns how many stored registries are due, and how many are late: they should have been checked an interval ago, or their
// due time is so far ahead that a wrong clock must have set it. Each is counted up to 100,000.
func (s *Service) CountDue(ctx context.Context, interval time.Duration) (due, late int64, err error) {
	now := s.now()
	err = s.db.View(ctx, func(tx *store.Tx) (err error) {
		if due, err = tx.Watch.Count(ctx, now, 100_000); err != nil {
			return err
		}
		if late, err = tx.Watch.Count(ctx, now.Add(-interval), 100_000); err != nil {
			return err
		}
		ahead, err := tx.Watch.CountAhead(ctx, now.Add((maxBackoff+1)*interval+max(leaseTime, store.ContactsAhead)), 100_000)
		late += ahead
		return err
	})
	if err != nil {
		return 0, 0, fault.Busy("Scheduled checks cannot be counted now.", time.Second)
	}
	return due, late, nil
}

// RegistryHealth is the health of a registry with its names, and StageTime how long a stage of its newest check took.
type (
	RegistryHealth = store.RegistryHealth
	StageTime      = store.StageTime
)

// The words of RegistryHealth.Health for a registry whose newest check that counts has a result.
const (
	Healthy = store.Healthy
	Failing = store.Failing
)

// HealthOfAll returns the health of the registries of all organizations, for the operator. It is not complete if there are more than limit.
func (s *Service) HealthOfAll(ctx context.Context, limit int) (list []RegistryHealth, complete bool, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) error {
		list, err = tx.Watch.HealthOfAll(ctx, limit+1)
		return err
	})
	return list, len(list) <= limit, err
}

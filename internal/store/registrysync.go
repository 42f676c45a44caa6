package store

import (
	"context"
	"errors"
	"time"
)

// SyncStatus is one of the values that public clients know; they fail on any other.
type SyncStatus string

// Values of SyncStatus.
const (
	SyncPending    SyncStatus = "Pending"
	SyncInProgress SyncStatus = "InProgress"
	SyncSuccess    SyncStatus = "Success"
	SyncFailed     SyncStatus = "Failed"
)

// RegistrySync is the state of the content synchronization of a registry.
type RegistrySync struct {
	Status                        SyncStatus
	Message                       string
	LastRunAt, LastSyncedAt       time.Time // zero when there was none
	NextAt                        time.Time // zero: only on request
	ShownRun, Repositories, Tags  int64     // the content that is shown; ShownRun 0 means none
	Run, RunRepositories, RunTags int64     // the newest run, and how far it is
	ResumeAfter                   string
	Failures                      int64
	OrgUID, RegistryUID           string
	LeaseOwner                    string
}

const (
	syncColumns = `registry_uid, org_uid, next_at, lease_owner, status, message, last_run_at, last_synced_at, run, resume_after,
		run_repositories, run_tags, failures, shown_run, repositories, tags`

	sqlScheduleSync = `INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message, run) VALUES ($1, $2, $3, 1, 'Pending', '', 1)
		ON CONFLICT (registry_uid) DO UPDATE SET next_at = $3, asked = 1, lease_owner = NULL, status = 'Pending', message = '',
			run = registry_sync.run + 1, resume_after = '', run_repositories = 0, run_tags = 0, failures = 0`
	sqlRequestSync = `INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message, run) VALUES ($1, $2, $3, 1, 'Pending', '', 1)
		ON CONFLICT (registry_uid) DO UPDATE SET next_at = CASE WHEN registry_sync.next_at < $3 THEN registry_sync.next_at ELSE $3 END,
			asked = 1, lease_owner = NULL, status = 'Pending', message = ''
		WHERE registry_sync.lease_owner IS NULL OR registry_sync.next_at IS NULL OR registry_sync.next_at <= CAST($4 AS BIGINT)`
	// The row stays, and with it the number of the newest run.
	sqlDropSync = `UPDATE registry_sync SET next_at = NULL, asked = 0, lease_owner = NULL, status = 'Pending', message = '', last_run_at = NULL,
		last_synced_at = NULL, run = run + 1, resume_after = '', run_repositories = 0, run_tags = 0, failures = 0, shown_run = 0, repositories = 0, tags = 0
		WHERE org_uid = $1 AND registry_uid = $2`
	sqlRegistrySync = `SELECT ` + syncColumns + ` FROM registry_sync WHERE org_uid = $1 AND registry_uid = $2`
	sqlSyncDue      = `SELECT 1 FROM registry_sync WHERE next_at <= $1 LIMIT 1`
	// The organizations one by one from the index: the cost does not depend on the number of their registries.
	sqlSyncOrgs = `WITH RECURSIVE waiting (org_uid) AS (
			SELECT MIN(org_uid) FROM registry_sync WHERE next_at IS NOT NULL
			UNION ALL
			SELECT (SELECT MIN(s.org_uid) FROM registry_sync s WHERE s.next_at IS NOT NULL AND s.org_uid > waiting.org_uid) FROM waiting
				WHERE waiting.org_uid IS NOT NULL)
		SELECT org_uid FROM waiting WHERE EXISTS (SELECT 1 FROM registry_sync s WHERE s.org_uid = waiting.org_uid AND s.asked IN (0, 1) AND s.next_at <= $1)`
	sqlDueSyncs = `SELECT ` + syncColumns + ` FROM registry_sync WHERE org_uid = $1 AND asked = $2 AND next_at <= $3 ORDER BY next_at LIMIT $4`
	sqlTakeSync = `UPDATE registry_sync SET next_at = $4, lease_owner = $5, status = 'InProgress', message = '', last_run_at = $6,
		run = CASE WHEN resume_after = '' THEN run + 1 ELSE run END WHERE registry_uid = $1 AND run = $2 AND next_at = $3 RETURNING ` + syncColumns
	sqlKeepSync    = `UPDATE registry_sync SET next_at = $4 WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
	sqlAdvanceSync = `UPDATE registry_sync SET next_at = $4, resume_after = $5, run_repositories = $6, run_tags = $7, failures = 0
		WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
	sqlPauseSync = `UPDATE registry_sync SET next_at = $4, message = $5, failures = failures + 1, lease_owner = NULL
		WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
	sqlFinishSync = `UPDATE registry_sync SET next_at = $4, message = $5, last_synced_at = $6, shown_run = run, repositories = run_repositories, tags = run_tags,
		status = 'Success', asked = 0, lease_owner = NULL, resume_after = '', run_repositories = 0, run_tags = 0, failures = 0
		WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
	sqlFailSync = `UPDATE registry_sync SET next_at = $4, message = $5, status = 'Failed', asked = 0, lease_owner = NULL, resume_after = '',
		run_repositories = 0, run_tags = 0, failures = $6 WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
)

func scanSync(row scanner, s *RegistrySync) error {
	return row.Scan(&s.RegistryUID, &s.OrgUID, moment{&s.NextAt}, text{&s.LeaseOwner}, &s.Status, &s.Message, moment{&s.LastRunAt}, moment{&s.LastSyncedAt},
		&s.Run, &s.ResumeAfter, &s.RunRepositories, &s.RunTags, &s.Failures, &s.ShownRun, &s.Repositories, &s.Tags)
}

// Syncs reads and changes the synchronizations of content.
type Syncs struct{ *conn }

// Schedule makes a synchronization due at that moment, after the definition was stored or replaced. A running one is dropped: it
// was started for another definition. The content that is shown stays until the next run is finished.
func (tx Syncs) Schedule(ctx context.Context, orgUID, registryUID string, at time.Time) error {
	if err := tx.changeOne(ctx, sqlScheduleSync, registryUID, orgUID, millis(at)); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, registryUID, 0)
}

// Hold drops a running synchronization like Schedule. The next one runs only on request.
func (tx Syncs) Hold(ctx context.Context, orgUID, registryUID string) error {
	return tx.Schedule(ctx, orgUID, registryUID, time.Time{})
}

// Request makes a synchronization due at that moment, or earlier if it is. A running one continues, and a paused one is
// resumed.
func (tx Syncs) Request(ctx context.Context, orgUID, registryUID string, now, at time.Time) error {
	return tx.changeAny(ctx, sqlRequestSync, registryUID, orgUID, millis(at), millis(now))
}

// Drop ends the synchronization of a registry. Its content is no longer shown.
func (tx Syncs) Drop(ctx context.Context, orgUID, registryUID string) error {
	if _, err := tx.change(ctx, sqlDropSync, orgUID, registryUID); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, registryUID, 0)
}

// Get returns the state of the synchronization of a registry; ErrNotFound when there never was one.
func (tx Syncs) Get(ctx context.Context, orgUID, registryUID string) (RegistrySync, error) {
	return one(ctx, tx.conn, scanSync, sqlRegistrySync, orgUID, registryUID)
}

// DueOrgs lists the organizations that have a synchronization due at that moment, by uid.
func (tx Syncs) DueOrgs(ctx context.Context, now time.Time) ([]string, error) {
	return dueOrgs(ctx, tx.conn, sqlSyncDue, sqlSyncOrgs, now)
}

// requestedAhead is how much earlier a requested synchronization runs. It is bounded, so that the others run in the end, however
// often synchronizations are requested.
const requestedAhead = time.Hour

// Claim claims synchronizations that are due, of each organization at most its share: the longest overdue first, where
// requested ones count as due an hour longer. The leases are owner's until then. A synchronization that another caller claimed
// first is left out.
func (tx Syncs) Claim(ctx context.Context, owner string, now, until time.Time, shares []Share) ([]RegistrySync, error) {
	var taken []RegistrySync
	for _, share := range shares {
		due, err := tx.due(ctx, share, now)
		if err != nil {
			return nil, err
		}
		for _, d := range due {
			s, err := tx.claim(ctx, owner, d, now, until)
			if err == nil {
				taken = append(taken, s)
			} else if !errors.Is(err, ErrNotFound) {
				return nil, err
			}
		}
	}
	return taken, nil
}

func (tx Syncs) due(ctx context.Context, share Share, now time.Time) ([]RegistrySync, error) {
	requested, err := all(ctx, tx.conn, scanSync, sqlDueSyncs, share.OrgUID, 1, millis(now), share.Count)
	if err != nil {
		return nil, err
	}
	unrequested, err := all(ctx, tx.conn, scanSync, sqlDueSyncs, share.OrgUID, 0, millis(now), share.Count)
	var due []RegistrySync
	for len(due) < share.Count && len(requested)+len(unrequested) > 0 {
		from := &requested
		if len(requested) == 0 || len(unrequested) > 0 && unrequested[0].NextAt.Before(requested[0].NextAt.Add(-requestedAhead)) {
			from = &unrequested
		}
		due, *from = append(due, (*from)[0]), (*from)[1:]
	}
	return due, err
}

// claim returns ErrNotFound when the row was changed since it was read.
func (tx Syncs) claim(ctx context.Context, owner string, due RegistrySync, now, until time.Time) (RegistrySync, error) {
	s, err := one(ctx, tx.conn, scanSync, sqlTakeSync, due.RegistryUID, due.Run, millis(due.NextAt), millis(until), owner, millis(now))
	if err != nil {
		return s, err
	}
	return s, Contents(tx).beginRun(ctx, s)
}

// Extend prolongs the lease of a run. Like the following methods, it returns ErrNotFound once the run is no longer its
// owner's: claimed by another, dropped, or its registry deleted.
func (tx Syncs) Extend(ctx context.Context, s RegistrySync, until time.Time) error {
	return tx.changeOne(ctx, sqlKeepSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(until))
}

// Advance stores the progress of a run (ResumeAfter, RunRepositories, RunTags) and prolongs its lease.
func (tx Syncs) Advance(ctx context.Context, s RegistrySync, until time.Time) error {
	return tx.changeOne(ctx, sqlAdvanceSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(until), s.ResumeAfter, s.RunRepositories, s.RunTags)
}

// Pause interrupts a run, which is resumed at that moment.
func (tx Syncs) Pause(ctx context.Context, s RegistrySync, at time.Time, message string) error {
	return tx.changeOne(ctx, sqlPauseSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(at), message)
}

// Finish shows the content that the run has stored. A zero next means: only on request.
func (tx Syncs) Finish(ctx context.Context, s RegistrySync, at, next time.Time, message string) error {
	if err := tx.changeOne(ctx, sqlFinishSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(next), message, millis(at)); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, s.RegistryUID, 0)
}

// Fail ends the run; the content that was shown before stays. A zero next means: only on request. It counts one failure more
// than when the run was claimed, even if the run advanced.
func (tx Syncs) Fail(ctx context.Context, s RegistrySync, next time.Time, message string) error {
	if err := tx.changeOne(ctx, sqlFailSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(next), message, s.Failures+1); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, s.RegistryUID, 0)
}

package store

import (
	"context"
	"errors"
	"time"
)

// SyncStatus is one of the words that public clients know; any other ends them with an error.
type SyncStatus string

// The words.
const (
	SyncPending    SyncStatus = "Pending"
	SyncInProgress SyncStatus = "InProgress"
	SyncSuccess    SyncStatus = "Success"
	SyncFailed     SyncStatus = "Failed"
)

// RegistrySync is how the synchronization of a registry stands.
type RegistrySync struct {
	Status                        SyncStatus
	Message                       string
	LastRunAt, LastSyncedAt       time.Time // zero when there was none
	NextAt                        time.Time // zero: only when it is asked for
	ShownRun, Repositories, Tags  int64     // the content that is seen; ShownRun 0 means none
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
	sqlAskForSync = `INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message, run) VALUES ($1, $2, $3, 1, 'Pending', '', 1)
		ON CONFLICT (registry_uid) DO UPDATE SET next_at = CASE WHEN registry_sync.next_at < $3 THEN registry_sync.next_at ELSE $3 END,
			asked = 1, lease_owner = NULL, status = 'Pending', message = ''
		WHERE registry_sync.lease_owner IS NULL OR registry_sync.next_at IS NULL OR registry_sync.next_at <= CAST($4 AS BIGINT)`
	// The row stays, and with it the number of the newest run.
	sqlDropSync = `UPDATE registry_sync SET next_at = NULL, asked = 0, lease_owner = NULL, status = 'Pending', message = '', last_run_at = NULL,
		last_synced_at = NULL, run = run + 1, resume_after = '', run_repositories = 0, run_tags = 0, failures = 0, shown_run = 0, repositories = 0, tags = 0
		WHERE org_uid = $1 AND registry_uid = $2`
	sqlRegistrySync = `SELECT ` + syncColumns + ` FROM registry_sync WHERE org_uid = $1 AND registry_uid = $2`
	sqlSyncDue      = `SELECT 1 FROM registry_sync WHERE next_at <= $1 LIMIT 1`
	// The organizations one after the other by the index, whatever the number of their registries.
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

// Schedule has a registry synchronized from at on, after it was made or replaced. A run under way is
// dropped: it was begun for another definition. The content that is seen stays until the next run is finished.
func (tx Syncs) Schedule(ctx context.Context, orgUID, registryUID string, at time.Time) error {
	if err := tx.changeOne(ctx, sqlScheduleSync, registryUID, orgUID, millis(at)); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, registryUID, 0)
}

// Hold drops a run under way like Schedule, and has the next one wait until it is asked for.
func (tx Syncs) Hold(ctx context.Context, orgUID, registryUID string) error {
	return tx.Schedule(ctx, orgUID, registryUID, time.Time{})
}

// Request has a registry synchronized from at on, or when it is due before. A run under way goes on, and one that was
// broken off is resumed.
func (tx Syncs) Request(ctx context.Context, orgUID, registryUID string, now, at time.Time) error {
	_, err := tx.change(ctx, sqlAskForSync, registryUID, orgUID, millis(at), millis(now))
	return err
}

// Drop ends the synchronization of a registry. Its content is not seen any more.
func (tx Syncs) Drop(ctx context.Context, orgUID, registryUID string) error {
	if _, err := tx.change(ctx, sqlDropSync, orgUID, registryUID); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, registryUID, 0)
}

// Get tells how the synchronization of a registry stands; ErrNotFound when there never was one.
func (tx Syncs) Get(ctx context.Context, orgUID, registryUID string) (RegistrySync, error) {
	return one(ctx, tx.conn, scanSync, sqlRegistrySync, orgUID, registryUID)
}

// DueOrgs lists the organizations that have a synchronization due at that moment, by uid.
func (tx Syncs) DueOrgs(ctx context.Context, now time.Time) ([]string, error) {
	due, err := all(ctx, tx.conn, scanCount, sqlSyncDue, millis(now))
	if err != nil || len(due) == 0 {
		return nil, err
	}
	return all(ctx, tx.conn, scanText, sqlSyncOrgs, millis(now))
}

// askedAhead is how much earlier a synchronization comes because somebody waits for it. It is bounded, so that those
// which nobody waits for come in the end, however often others are asked for.
const askedAhead = time.Hour

// Claim takes synchronizations that are due, of each organization at most its share: first those that are due for
// longest, where those that somebody waits for count as due an hour longer. The leases are owner's until then; what
// another was faster to take is left out.
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
	asked, err := all(ctx, tx.conn, scanSync, sqlDueSyncs, share.OrgUID, 1, millis(now), share.Count)
	if err != nil {
		return nil, err
	}
	unasked, err := all(ctx, tx.conn, scanSync, sqlDueSyncs, share.OrgUID, 0, millis(now), share.Count)
	var due []RegistrySync
	for len(due) < share.Count && len(asked)+len(unasked) > 0 {
		from := &asked
		if len(asked) == 0 || len(unasked) > 0 && unasked[0].NextAt.Before(asked[0].NextAt.Add(-askedAhead)) {
			from = &unasked
		}
		due, *from = append(due, (*from)[0]), (*from)[1:]
	}
	return due, err
}

// claim is ErrNotFound when the row is not as it was found.
func (tx Syncs) claim(ctx context.Context, owner string, due RegistrySync, now, until time.Time) (RegistrySync, error) {
	s, err := one(ctx, tx.conn, scanSync, sqlTakeSync, due.RegistryUID, due.Run, millis(due.NextAt), millis(until), owner, millis(now))
	if err != nil {
		return s, err
	}
	return s, Contents(tx).beginRun(ctx, s)
}

// Extend prolongs the lease of a run. Like all that follows for a run that was taken, it is ErrNotFound once
// the run is no longer its owner's: taken by another, dropped, or its registry deleted.
func (tx Syncs) Extend(ctx context.Context, s RegistrySync, until time.Time) error {
	return tx.changeOne(ctx, sqlKeepSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(until))
}

// Advance records how far a run is (ResumeAfter, RunRepositories, RunTags) and prolongs its lease.
func (tx Syncs) Advance(ctx context.Context, s RegistrySync, until time.Time) error {
	return tx.changeOne(ctx, sqlAdvanceSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(until), s.ResumeAfter, s.RunRepositories, s.RunTags)
}

// Pause breaks a run off, which is resumed from at on.
func (tx Syncs) Pause(ctx context.Context, s RegistrySync, at time.Time, message string) error {
	return tx.changeOne(ctx, sqlPauseSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(at), message)
}

// Finish makes what the run has written the content that is seen. A zero next means: only when asked for.
func (tx Syncs) Finish(ctx context.Context, s RegistrySync, at, next time.Time, message string) error {
	if err := tx.changeOne(ctx, sqlFinishSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(next), message, millis(at)); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, s.RegistryUID, 0)
}

// Fail gives the run up; what was seen before stays. A zero next means: only when asked for. It is one failure more
// than when the run was taken, whatever progress the run made.
func (tx Syncs) Fail(ctx context.Context, s RegistrySync, next time.Time, message string) error {
	if err := tx.changeOne(ctx, sqlFailSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(next), message, s.Failures+1); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, s.RegistryUID, 0)
}

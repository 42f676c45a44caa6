package store

import (
	"context"
	"time"

	"github.com/regwarden/regwarden/internal/storage/rows"
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
	Failures, Pauses              int64 // in a row; pauses of the run without progress
	OrgUID, RegistryUID           string
	LeaseOwner                    string
}

const (
	syncColumns = `registry_uid, org_uid, next_at, lease_owner, status, message, last_run_at, last_synced_at, run, resume_after,
		run_repositories, run_tags, failures, shown_run, repositories, tags, pauses`

	sqlScheduleSync = `INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message, run)
		VALUES ($1, $2, $3, 1, 'Pending', '', 1) ON CONFLICT (registry_uid) DO UPDATE SET next_at = $3, asked = 1, lease_owner = NULL,
		status = 'Pending', message = '', run = registry_sync.run + 1, resume_after = '', run_repositories = 0, run_tags = 0, failures = 0,
		pauses = 0`
	sqlHoldSync = `INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message, run)
		VALUES ($1, $2, NULL, 1, 'Pending', '', 1) ON CONFLICT (registry_uid) DO UPDATE SET lease_owner = NULL,
		status = CASE registry_sync.status WHEN 'InProgress' THEN 'Pending' ELSE registry_sync.status END,
		run = registry_sync.run + 1, resume_after = '', run_repositories = 0, run_tags = 0, pauses = 0`
	sqlRequestSync = `INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message, run)
		VALUES ($1, $2, $3, 1, 'Pending', '', 1) ON CONFLICT (registry_uid) DO UPDATE SET next_at = CASE WHEN registry_sync.next_at < $3
		THEN registry_sync.next_at ELSE $3 END, asked = 1, lease_owner = NULL, status = 'Pending', message = '',
		pauses = registry_sync.pauses - CASE WHEN registry_sync.pauses > 0 AND registry_sync.next_at > $3 THEN 1 ELSE 0 END
		WHERE registry_sync.lease_owner IS NULL OR registry_sync.next_at IS NULL OR registry_sync.next_at <= CAST($4 AS BIGINT)`
	// The row stays, and with it the number of the newest run.
	sqlDropSync = `UPDATE registry_sync SET next_at = NULL, asked = 0, lease_owner = NULL, status = 'Pending', message = '',
		last_run_at = NULL, last_synced_at = NULL, run = run + 1, resume_after = '', run_repositories = 0, run_tags = 0, failures = 0,
		pauses = 0, shown_run = 0, repositories = 0, tags = 0 WHERE org_uid = $1 AND registry_uid = $2`
	sqlRegistrySync = `SELECT ` + syncColumns + ` FROM registry_sync WHERE org_uid = $1 AND registry_uid = $2`
	sqlSyncDue      = oldestDue + `registry_sync WHERE next_at <= $1` + newestDue + `registry_sync WHERE next_at <= $1` + endDue
	sqlSyncOrgs     = orgsOf + `registry_sync` + firstOrg + `registry_sync` + nextOrg +
		`(SELECT MIN(next_at) FROM registry_sync WHERE org_uid = waiting.org_uid AND asked = 1 AND next_at IS NOT NULL) <= $1 OR
		(SELECT MIN(next_at) FROM registry_sync WHERE org_uid = waiting.org_uid AND asked = 0 AND next_at IS NOT NULL) <= $1` + endOrgs
	claimSyncs = `UPDATE registry_sync SET next_at = $3, lease_owner = $2, status = 'InProgress', message = '', last_run_at = $1,
		run = CASE WHEN resume_after = '' THEN run + 1 ELSE run END WHERE registry_uid `
	// A requested one runs an hour earlier. That is bounded, so that the others run in the end, however often synchronizations are
	// requested. On PostgreSQL a row that was locked is looked at again, by + 0 without the index of the time.
	sqliteClaimSyncs = claimSyncs + `IN (SELECT registry_uid FROM (
		SELECT * FROM (SELECT registry_uid, next_at - 3600000 AS turn FROM registry_sync WHERE org_uid = $4 AND asked = 1 AND next_at <= $1
		ORDER BY next_at LIMIT $5) UNION ALL SELECT * FROM (SELECT registry_uid, next_at AS turn FROM registry_sync
		WHERE org_uid = $4 AND asked = 0 AND next_at <= $1 ORDER BY next_at LIMIT $5))
		ORDER BY turn LIMIT $5) RETURNING ` + syncColumns
	// Up to 100 rows that other servers claim at the same time are skipped.
	postgresClaimSyncs = claimSyncs + eachShare + `(SELECT s.registry_uid AS uid FROM (
		(SELECT registry_uid, next_at - 3600000 AS turn FROM registry_sync WHERE (org_uid, asked, next_at) >= (share.org, 1, 0)
		AND (org_uid, asked, next_at) <= (share.org, 1, $1)
			AND next_at IS NOT NULL ORDER BY org_uid, asked, next_at LIMIT share.count + 100) UNION ALL
		(SELECT registry_uid, next_at AS turn FROM registry_sync WHERE (org_uid, asked, next_at) >= (share.org, 0, 0)
		AND (org_uid, asked, next_at) <= (share.org, 0, $1)
			AND next_at IS NOT NULL ORDER BY org_uid, asked, next_at LIMIT share.count + 100) ORDER BY turn) AS first
		CROSS JOIN LATERAL (SELECT registry_uid FROM registry_sync WHERE registry_uid = first.registry_uid
		AND next_at + 0 <= $1 FOR NO KEY UPDATE SKIP LOCKED) AS s LIMIT share.count) AS due)) RETURNING ` + syncColumns
	sqlKeepSync    = `UPDATE registry_sync SET next_at = $4 WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
	sqlAdvanceSync = `UPDATE registry_sync SET next_at = $4, resume_after = $5, run_repositories = $6, run_tags = $7, pauses = 0,
		failures = 0 WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
	sqlPauseSync = `UPDATE registry_sync SET next_at = $4, message = $5, pauses = pauses + 1, lease_owner = NULL
		WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
	sqlFinishSync = `UPDATE registry_sync SET next_at = $4, message = $5, last_synced_at = $6, shown_run = run,
		repositories = run_repositories, tags = run_tags, status = 'Success', asked = 0, lease_owner = NULL, resume_after = '',
		run_repositories = 0, run_tags = 0, failures = 0, pauses = 0 WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
	sqlFailSync = `UPDATE registry_sync SET next_at = $4, message = $5, status = 'Failed', asked = 0, lease_owner = NULL, resume_after = '',
		run_repositories = 0, run_tags = 0, failures = $6, pauses = 0 WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
)

func scanSync(row rows.Scanner, s *RegistrySync) error {
	return row.Scan(&s.RegistryUID, &s.OrgUID, rows.Moment(&s.NextAt), rows.Text(&s.LeaseOwner), &s.Status, &s.Message,
		rows.Moment(&s.LastRunAt), rows.Moment(&s.LastSyncedAt), &s.Run, &s.ResumeAfter, &s.RunRepositories, &s.RunTags, &s.Failures,
		&s.ShownRun, &s.Repositories, &s.Tags, &s.Pauses)
}

// Syncs reads and changes the synchronizations of content.
type Syncs struct{ *conn }

// Schedule makes a synchronization due at that moment, after the definition was stored or replaced. A running one is dropped: it
// was started for another definition. The content that is shown stays until the next run is finished.
func (tx Syncs) Schedule(ctx context.Context, orgUID, registryUID string, at time.Time) error {
	if err := tx.db.ChangeOne(ctx, sqlScheduleSync, registryUID, orgUID, rows.Millis(at)); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, registryUID, 0)
}

// Hold is Schedule for a definition that need not be synchronized now: the next synchronization stays when it is due, and the first one
// runs only on request.
func (tx Syncs) Hold(ctx context.Context, orgUID, registryUID string) error {
	if err := tx.db.ChangeOne(ctx, sqlHoldSync, registryUID, orgUID); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, registryUID, 0)
}

// Request makes a synchronization due at that moment, or earlier if it is. A running one continues, and a paused one is resumed: that
// pause does not count.
func (tx Syncs) Request(ctx context.Context, orgUID, registryUID string, now, at time.Time) error {
	return tx.db.ChangeAny(ctx, sqlRequestSync, registryUID, orgUID, rows.Millis(at), rows.Millis(now))
}

// Drop ends the synchronization of a registry. Its content is no longer shown.
func (tx Syncs) Drop(ctx context.Context, orgUID, registryUID string) error {
	if _, err := tx.db.Change(ctx, sqlDropSync, orgUID, registryUID); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, registryUID, 0)
}

// Get returns the state of the synchronization of a registry; ErrNotFound when there never was one.
func (tx Syncs) Get(ctx context.Context, orgUID, registryUID string) (RegistrySync, error) {
	return rows.One(ctx, tx.db, scanSync, sqlRegistrySync, orgUID, registryUID)
}

// DueOrgs lists the organizations that have a synchronization due at that moment, by uid.
func (tx Syncs) DueOrgs(ctx context.Context, now time.Time) ([]string, error) {
	return dueOrgs(ctx, tx.conn, sqlSyncDue, sqlSyncOrgs, now)
}

// Claim claims synchronizations that are due, of each organization at most its share: the longest overdue first, where
// requested ones count as due an hour longer. The leases are owner's until then.
func (tx Syncs) Claim(ctx context.Context, owner string, now, until time.Time, shares []Share) ([]RegistrySync, error) {
	claimed, err := claim(ctx, tx.conn, scanSync, sqliteClaimSyncs, postgresClaimSyncs, owner, now, until, shares)
	for _, s := range claimed {
		if err := Contents(tx).beginRun(ctx, s); err != nil {
			return nil, err
		}
	}
	return claimed, err
}

// Extend prolongs the lease of a run. Like the following methods, it returns ErrNotFound once the run is no longer its
// owner's: claimed by another, dropped, or its registry deleted.
func (tx Syncs) Extend(ctx context.Context, s RegistrySync, until time.Time) error {
	return tx.db.ChangeOne(ctx, sqlKeepSync, s.RegistryUID, s.LeaseOwner, s.Run, rows.Millis(until))
}

// Advance stores the progress of a run (ResumeAfter, RunRepositories, RunTags) and prolongs its lease.
func (tx Syncs) Advance(ctx context.Context, s RegistrySync, until time.Time) error {
	return tx.db.ChangeOne(ctx, sqlAdvanceSync, s.RegistryUID, s.LeaseOwner, s.Run, rows.Millis(until), s.ResumeAfter, s.RunRepositories,
		s.RunTags)
}

// Pause interrupts a run, which is resumed at that moment.
func (tx Syncs) Pause(ctx context.Context, s RegistrySync, at time.Time, message string) error {
	return tx.db.ChangeOne(ctx, sqlPauseSync, s.RegistryUID, s.LeaseOwner, s.Run, rows.Millis(at), message)
}

// Finish shows the content that the run has stored. A zero next means: only on request.
func (tx Syncs) Finish(ctx context.Context, s RegistrySync, at, next time.Time, message string) error {
	if err := tx.db.ChangeOne(ctx, sqlFinishSync, s.RegistryUID, s.LeaseOwner, s.Run, rows.Millis(next), message,
		rows.Millis(at)); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, s.RegistryUID, 0)
}

// Fail ends the run; the content that was shown before stays. A zero next means: only on request. It counts one failure more
// than when the run was claimed, even if the run advanced.
func (tx Syncs) Fail(ctx context.Context, s RegistrySync, next time.Time, message string) error {
	if err := tx.db.ChangeOne(ctx, sqlFailSync, s.RegistryUID, s.LeaseOwner, s.Run, rows.Millis(next), message, s.Failures+1); err != nil {
		return err
	}
	return Contents(tx).dropRuns(ctx, s.RegistryUID, 0)
}

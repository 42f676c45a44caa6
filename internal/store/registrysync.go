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

// RegistryContent is one tag of a repository, or with an empty tag a repository that has none.
type RegistryContent struct{ Repository, Tag, Kind, Digest, Problem string }

const (
	syncColumns = `registry_uid, org_uid, next_at, lease_owner, status, message, last_run_at, last_synced_at, run, resume_after,
		run_repositories, run_tags, failures, shown_run, repositories, tags`

	sqlScheduleSync = `INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message, run) VALUES ($1, $2, $3, 1, 'Pending', '', 1)
		ON CONFLICT (registry_uid) DO UPDATE SET next_at = $3, asked = 1, lease_owner = NULL, status = 'Pending', message = '',
			run = registry_sync.run + 1, resume_after = '', run_repositories = 0, run_tags = 0, failures = 0`
	sqlAskForSync = `INSERT INTO registry_sync (registry_uid, org_uid, next_at, asked, status, message, run) VALUES ($1, $2, $3, 1, 'Pending', '', 1)
		ON CONFLICT (registry_uid) DO UPDATE SET next_at = $3, asked = 1, lease_owner = NULL, status = 'Pending', message = ''
		WHERE registry_sync.lease_owner IS NULL OR registry_sync.next_at IS NULL OR registry_sync.next_at <= $3`
	sqlDropSync     = `DELETE FROM registry_sync WHERE org_uid = $1 AND registry_uid = $2`
	sqlDropContents = `DELETE FROM registry_contents WHERE org_uid = $1 AND registry_uid = $2`
	sqlRegistrySync = `SELECT ` + syncColumns + ` FROM registry_sync WHERE org_uid = $1 AND registry_uid = $2`
	sqlDueSync      = `SELECT ` + syncColumns + ` FROM registry_sync WHERE asked = $1 AND next_at <= $2 AND org_uid <> $3 ORDER BY next_at LIMIT 1`
	sqlTakeSync     = `UPDATE registry_sync SET next_at = $4, lease_owner = $5, status = 'InProgress', message = '', last_run_at = $6,
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
		run_repositories = 0, run_tags = 0, failures = failures + 1 WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
	sqlInsertContent = `INSERT INTO registry_contents (registry_uid, org_uid, run, repository, tag, kind, digest, problem)
		SELECT $1, s.org_uid, s.run, $4, $5, $6, $7, $8 FROM registry_sync s WHERE s.registry_uid = $1 AND s.lease_owner = $2 AND s.run = $3
		ON CONFLICT (registry_uid, run, repository, tag) DO UPDATE SET kind = $6, digest = $7, problem = $8`
	sqlDeleteContents = `DELETE FROM registry_contents WHERE registry_uid = $1 AND run <= $2 AND (run, repository, tag) IN
		(SELECT c.run, c.repository, c.tag FROM registry_contents c JOIN registry_sync s ON s.registry_uid = c.registry_uid
			WHERE c.registry_uid = $1 AND c.run <= $2 AND c.run <> s.shown_run LIMIT $3)`
	contentFilter = ` FROM registry_contents WHERE registry_uid = $1 AND org_uid = $2 AND run = $3
		AND ($4 = '' OR repository = $4 OR substr(repository, 1, length($4) + 1) = $4 || '/')`
	sqlContents      = `SELECT repository, tag, kind, digest, problem` + contentFilter + ` AND (repository, tag) > ($5, $6) ORDER BY repository, tag LIMIT $7`
	sqlCountContents = `SELECT COUNT(*) FROM (SELECT 1` + contentFilter + ` LIMIT $5) AS counted`
)

func scanSync(row scanner, s *RegistrySync) error {
	return row.Scan(&s.RegistryUID, &s.OrgUID, moment{&s.NextAt}, text{&s.LeaseOwner}, &s.Status, &s.Message, moment{&s.LastRunAt}, moment{&s.LastSyncedAt},
		&s.Run, &s.ResumeAfter, &s.RunRepositories, &s.RunTags, &s.Failures, &s.ShownRun, &s.Repositories, &s.Tags)
}

// ScheduleSync has a registry synchronized from at on, after it was made or replaced. A run under way is
// dropped: it was begun for another definition. The content that is seen stays until the next run is finished.
func (tx *Tx) ScheduleSync(ctx context.Context, orgUID, registryUID string, at time.Time) error {
	return tx.changeOne(ctx, sqlScheduleSync, registryUID, orgUID, millis(at))
}

// HoldSync drops a run under way like ScheduleSync, and has the next one wait until it is asked for.
func (tx *Tx) HoldSync(ctx context.Context, orgUID, registryUID string) error {
	return tx.ScheduleSync(ctx, orgUID, registryUID, time.Time{})
}

// AskForSync has a registry synchronized from at on. A run under way goes on, and one that was broken off is resumed.
func (tx *Tx) AskForSync(ctx context.Context, orgUID, registryUID string, at time.Time) error {
	_, err := tx.change(ctx, sqlAskForSync, registryUID, orgUID, millis(at))
	return err
}

// DropSync ends the synchronization of a registry and deletes its content.
func (tx *Tx) DropSync(ctx context.Context, orgUID, registryUID string) error {
	if _, err := tx.change(ctx, sqlDropSync, orgUID, registryUID); err != nil {
		return err
	}
	_, err := tx.change(ctx, sqlDropContents, orgUID, registryUID)
	return err
}

// RegistrySync tells how the synchronization of a registry stands; ErrNotFound when there never was one.
func (tx *Tx) RegistrySync(ctx context.Context, orgUID, registryUID string) (RegistrySync, error) {
	return one(ctx, tx, scanSync, sqlRegistrySync, orgUID, registryUID)
}

// TakeSync takes the synchronization that is due first, those that somebody waits for before the others, and
// none of the organization notOf. The lease is owner's until then; ErrNotFound when nothing is due, or another
// was faster.
func (tx *Tx) TakeSync(ctx context.Context, owner, notOf string, now, until time.Time) (RegistrySync, error) {
	due, err := one(ctx, tx, scanSync, sqlDueSync, 1, millis(now), notOf)
	if errors.Is(err, ErrNotFound) {
		due, err = one(ctx, tx, scanSync, sqlDueSync, 0, millis(now), notOf)
	}
	if err != nil {
		return RegistrySync{}, err
	}
	return one(ctx, tx, scanSync, sqlTakeSync, due.RegistryUID, due.Run, millis(due.NextAt), millis(until), owner, millis(now))
}

// KeepSync prolongs the lease of a run. Like all that follows for a run that was taken, it is ErrNotFound once
// the run is no longer its owner's: taken by another, dropped, or its registry deleted.
func (tx *Tx) KeepSync(ctx context.Context, s RegistrySync, until time.Time) error {
	return tx.changeOne(ctx, sqlKeepSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(until))
}

// AddContents writes content under the number of the run, unseen before FinishSync.
func (tx *Tx) AddContents(ctx context.Context, s RegistrySync, contents []RegistryContent) error {
	for _, c := range contents {
		if err := tx.changeOne(ctx, sqlInsertContent, s.RegistryUID, s.LeaseOwner, s.Run, c.Repository, c.Tag, c.Kind, c.Digest, c.Problem); err != nil {
			return err
		}
	}
	return nil
}

// AdvanceSync records how far a run is (ResumeAfter, RunRepositories, RunTags) and prolongs its lease.
func (tx *Tx) AdvanceSync(ctx context.Context, s RegistrySync, until time.Time) error {
	return tx.changeOne(ctx, sqlAdvanceSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(until), s.ResumeAfter, s.RunRepositories, s.RunTags)
}

// PauseSync breaks a run off, which is resumed from at on.
func (tx *Tx) PauseSync(ctx context.Context, s RegistrySync, at time.Time, message string) error {
	return tx.changeOne(ctx, sqlPauseSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(at), message)
}

// FinishSync makes what the run has written the content that is seen. A zero next means: only when asked for.
func (tx *Tx) FinishSync(ctx context.Context, s RegistrySync, at, next time.Time, message string) error {
	return tx.changeOne(ctx, sqlFinishSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(next), message, millis(at))
}

// FailSync gives the run up; what was seen before stays. A zero next means: only when asked for.
func (tx *Tx) FailSync(ctx context.Context, s RegistrySync, next time.Time, message string) error {
	return tx.changeOne(ctx, sqlFailSync, s.RegistryUID, s.LeaseOwner, s.Run, millis(next), message)
}

// DeleteContents deletes at most limit rows of runs up to that of s that are not seen, and returns how many.
func (tx *Tx) DeleteContents(ctx context.Context, s RegistrySync, limit int) (int64, error) {
	return tx.change(ctx, sqlDeleteContents, s.RegistryUID, s.Run, limit)
}

// RegistryContents lists content of a run behind a place, by repository and tag. prefix is a repository or the
// beginning of several up to a slash; empty lets all through.
func (tx *Tx) RegistryContents(ctx context.Context, s RegistrySync, run int64, prefix string, after RegistryContent, limit int) ([]RegistryContent, error) {
	return all(ctx, tx, func(row scanner, c *RegistryContent) error {
		return row.Scan(&c.Repository, &c.Tag, &c.Kind, &c.Digest, &c.Problem)
	}, sqlContents, s.RegistryUID, s.OrgUID, run, prefix, after.Repository, after.Tag, limit)
}

// CountRegistryContents counts content, up to atMost.
func (tx *Tx) CountRegistryContents(ctx context.Context, s RegistrySync, run int64, prefix string, atMost int) (int64, error) {
	return one(ctx, tx, func(row scanner, n *int64) error { return row.Scan(n) }, sqlCountContents, s.RegistryUID, s.OrgUID, run, prefix, atMost)
}

package store

import (
	"context"
	"errors"

	"github.com/regwarden/regwarden/internal/storage/rows"
)

// RegistryContent is one tag of a repository, or with an empty tag a repository that has none.
type RegistryContent struct{ Repository, Tag, Kind, Digest, Problem string }

const (
	sqlBeginRun = `INSERT INTO registry_runs (registry_uid, run, org_uid) VALUES ($1, $2, $3) ON CONFLICT (registry_uid, run) DO NOTHING`
	sqlDropRuns = `UPDATE registry_runs SET dropped = 1 WHERE registry_uid = $1 AND dropped = 0 AND run <> $2
		AND run <> COALESCE((SELECT s.shown_run FROM registry_sync s WHERE s.registry_uid = $1), 0)`
	sqlOwnRun        = `UPDATE registry_sync SET lease_owner = $2 WHERE registry_uid = $1 AND lease_owner = $2 AND run = $3`
	sqlCountEntries  = `UPDATE registry_runs SET entries = entries + $3 WHERE registry_uid = $1 AND run = $2 AND dropped = 0`
	sqlInsertContent = `INSERT INTO registry_contents (registry_uid, run, repository, tag, kind, digest, problem)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (registry_uid, run, repository, tag) DO UPDATE
		SET kind = $5, digest = $6, problem = $7`
	sqlOtherEntries = `SELECT CAST(COALESCE(SUM(entries), 0) AS BIGINT) FROM registry_runs WHERE org_uid = $1 AND (registry_uid <> $2
		OR run <> $3)`

	sqlDroppedRun = `SELECT registry_uid, run FROM registry_runs WHERE dropped = 1 AND org_uid = $1 LIMIT 1`
	sqlAnyDropped = `SELECT registry_uid, run FROM registry_runs WHERE dropped = 1 AND org_uid > '' LIMIT 1`
	sqlSweepBound = `SELECT repository, tag FROM registry_contents WHERE registry_uid = $1 AND run = $2 ORDER BY repository, tag
		LIMIT 1 OFFSET $3`
	sqlSweepPart   = `DELETE FROM registry_contents WHERE registry_uid = $1 AND run = $2 AND (repository, tag) < ($3, $4)`
	sqlSweepRest   = `DELETE FROM registry_contents WHERE registry_uid = $1 AND run = $2`
	sqlForgetRun   = `DELETE FROM registry_runs WHERE registry_uid = $1 AND run = $2 AND dropped = 1`
	contentsWithin = ` FROM registry_contents WHERE registry_uid = $1 AND run = $2 AND (repository, tag) >= ($3, $4) AND repository <= $5`
	sqlContents    = `SELECT repository, tag, kind, digest, problem` + contentsWithin + ` ORDER BY repository, tag LIMIT $6`

	sqlCountContents = `SELECT COUNT(*) FROM (SELECT 1` + contentsWithin + ` LIMIT $6) AS counted`
)

// Contents reads and changes the content of stored registries.
type Contents struct{ *conn }

// beginRun inserts the row that the content of a run refers to, and drops the remaining content of earlier runs.
func (tx Contents) beginRun(ctx context.Context, s RegistrySync) error {
	if _, err := tx.db.Change(ctx, sqlBeginRun, s.RegistryUID, s.Run, s.OrgUID); err != nil {
		return err
	}
	return tx.dropRuns(ctx, s.RegistryUID, s.Run)
}

// dropRuns marks the runs of a registry for Sweep, except the one that is shown and the given one. It is called after the
// change of the registry's row of registry_sync: all transactions lock the two tables in that order.
func (tx Contents) dropRuns(ctx context.Context, registryUID string, except int64) error {
	return tx.db.ChangeAny(ctx, sqlDropRuns, registryUID, except)
}

// Add stores content of a run, which is not shown before Syncs.Finish.
func (tx Contents) Add(ctx context.Context, s RegistrySync, contents []RegistryContent) error {
	if err := tx.db.ChangeOne(ctx, sqlOwnRun, s.RegistryUID, s.LeaseOwner, s.Run); err != nil {
		return err
	}
	if err := tx.db.ChangeOne(ctx, sqlCountEntries, s.RegistryUID, s.Run, len(contents)); err != nil {
		return err
	}
	for _, c := range contents {
		if err := tx.db.ChangeOne(ctx, sqlInsertContent, s.RegistryUID, s.Run, c.Repository, c.Tag, c.Kind, c.Digest,
			c.Problem); err != nil {
			return err
		}
	}
	return nil
}

// CountOthers counts the rows of content that are stored for an organization, except those that the run will replace.
// Dropped rows count until they are swept.
func (tx Contents) CountOthers(ctx context.Context, s RegistrySync) (int64, error) {
	return rows.One(ctx, tx.db, rows.ScanCount, sqlOtherEntries, s.OrgUID, s.RegistryUID, s.ShownRun)
}

// Sweep deletes at most limit rows of one run that was dropped, of an organization or with an empty uid of any.
// It reports whether it found a run, and there may be more to delete.
func (tx Contents) Sweep(ctx context.Context, orgUID string, limit int) (more bool, err error) {
	query, args := sqlDroppedRun, []any{orgUID}
	if orgUID == "" {
		query, args = sqlAnyDropped, nil
	}
	dropped, err := rows.One(ctx, tx.db, func(row rows.Scanner, s *RegistrySync) error { return row.Scan(&s.RegistryUID, &s.Run) }, query,
		args...)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	bound, err := rows.One(ctx, tx.db, func(row rows.Scanner, c *RegistryContent) error { return row.Scan(&c.Repository, &c.Tag) },
		sqlSweepBound, dropped.RegistryUID, dropped.Run, limit)
	switch {
	case err == nil:
		_, err = tx.db.Change(ctx, sqlSweepPart, dropped.RegistryUID, dropped.Run, bound.Repository, bound.Tag)
		return true, err
	case !errors.Is(err, ErrNotFound):
		return false, err
	}
	if _, err := tx.db.Change(ctx, sqlSweepRest, dropped.RegistryUID, dropped.Run); err != nil {
		return false, err
	}
	_, err = tx.db.Change(ctx, sqlForgetRun, dropped.RegistryUID, dropped.Run)
	return true, err
}

// span is a part of the names of repositories, both ends in it.
type span struct{ from, to string }

// lastName comes after every name of a repository or chart: it is the last character of Unicode, which none has.
const lastName = "\U0010FFFF"

// spansOf returns the parts that a prefix selects, in their order. Between a and a/b there may be other names, like a-b.
func spansOf(prefix string) []span {
	if prefix == "" {
		return []span{{"", lastName}}
	}
	return []span{{prefix, prefix}, {prefix + "/", prefix + "/" + lastName}}
}

// List lists content of a run after that content, by repository and tag. prefix is a repository or the
// beginning of several up to a slash; empty selects all.
func (tx Contents) List(ctx context.Context, s RegistrySync, run int64, prefix string, after RegistryContent,
	limit int) ([]RegistryContent, error) {
	var list []RegistryContent
	for _, within := range spansOf(prefix) {
		from := RegistryContent{Repository: max(within.from, after.Repository)}
		if from.Repository == after.Repository {
			from.Tag = after.Tag
		}
		part, err := rows.All(ctx, tx.db, func(row rows.Scanner, c *RegistryContent) error {
			return row.Scan(&c.Repository, &c.Tag, &c.Kind, &c.Digest, &c.Problem)
		}, sqlContents, s.RegistryUID, run, from.Repository, from.Tag, within.to, limit-len(list)+1)
		if err != nil {
			return nil, err
		}
		if len(part) > 0 && part[0].Repository == after.Repository && part[0].Tag == after.Tag {
			part = part[1:]
		}
		list = append(list, part[:min(len(part), limit-len(list))]...)
	}
	return list, nil
}

// Count counts content, up to atMost.
func (tx Contents) Count(ctx context.Context, s RegistrySync, run int64, prefix string, atMost int) (int64, error) {
	var total int64
	for _, within := range spansOf(prefix) {
		n, err := rows.One(ctx, tx.db, rows.ScanCount, sqlCountContents, s.RegistryUID, run, within.from, "", within.to, atMost)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return min(total, int64(atMost)), nil
}

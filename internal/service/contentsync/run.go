package contentsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/queue"
	"github.com/regwarden/regwarden/internal/storage/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/inventory"
)

// Each process claims due registries from the queue in the store. It extends a lease on each, which expires if the process dies.

const (
	workers         = 8
	reservedWorkers = 2                // for organizations without a running synchronization, since each may take 15 minutes
	leaseTime       = 20 * time.Second // extended while the process works; after a crash, synchronizations resume after it
	batchRows       = 200              // of one transaction

	firstRetry = 5 * time.Minute // after a transient failure, then doubling
	firstPause = 15 * time.Second
	maxPause   = time.Hour
	maxPauses  = 8    // consecutive, without progress
	maxMessage = 1000 // bytes

	// maxOrgContents limits the rows of all registries of an organization. A hostile registry can make each about 1 KiB.
	maxOrgContents = 200_000
)

// Config configures synchronizations. Log is required.
type Config struct {
	Every       time.Duration    // from the end of one synchronization to the next; 0: only on request
	Limits      inventory.Limits // of each synchronization
	OrgContents int64            // tags, and repositories without tags, stored for an organization; 0: 200,000
	Log         *slog.Logger     // for errors of the service, not of registries
}

// Run synchronizes due registries until ctx ends, and then waits until running synchronizations have stopped; they are resumed later.
func (s *Service) Run(ctx context.Context, config Config) {
	config.OrgContents = cmp.Or(config.OrgContents, maxOrgContents)
	r := &runner{Service: s, Config: config}
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() { r.sweepAll(ctx) })
	queue.Queue[store.RegistrySync]{
		Name:            "synchronizations",
		Workers:         workers,
		ReservedWorkers: reservedWorkers,
		Waiting:         r.waiting,
		Claim:           r.claim,
		OrgOf:           func(row store.RegistrySync) string { return row.OrgUID },
		Work:            r.work,
		Log:             config.Log,
	}.Run(ctx)
}

// runner runs the synchronizations of one process.
type runner struct {
	*Service
	Config
	sweeping sync.Mutex // held for a step of a sweep and the pause after it
}

func (r *runner) waiting(ctx context.Context) ([]string, error) {
	return store.Read(ctx, r.db, func(tx *store.Tx) ([]string, error) { return tx.Syncs.DueOrgs(ctx, r.now()) })
}

func (r *runner) claim(ctx context.Context, shares []queue.Share) ([]store.RegistrySync, error) {
	owner, now := uuid.NewString(), r.now()
	return store.Write(ctx, r.db, func(tx *store.Tx) ([]store.RegistrySync, error) {
		return tx.Syncs.Claim(ctx, owner, now, now.Add(leaseTime), shares)
	})
}

// work runs one synchronization. If the store is unavailable, the lease expires and the synchronization is resumed. It fails on every
// other error, since a retry would have the same error.
func (r *runner) work(ctx context.Context, taken store.RegistrySync) {
	s := &run{runner: r, at: taken, began: taken.ResumeAfter}
	err := s.do(ctx)
	if err == nil || ctx.Err() != nil || errors.Is(err, store.ErrNotFound) {
		return
	}
	if fault.KindOf(err) != fault.Unavailable {
		err = errors.Join(err, s.fail(ctx, s.afterFailure(true), "Internal error of the service; its log has the cause."))
	}
	r.Log.Error("registry not synchronized", "registry", taken.RegistryUID, "error", err)
}

// run is a running synchronization. A goroutine extends its lease. The error store.ErrNotFound means that the lease was lost: the
// definition was replaced or deleted, or another process has claimed it.
type run struct {
	*runner
	at    store.RegistrySync
	began string // at.ResumeAfter at the time of the claim
}

func (r *run) do(ctx context.Context) error {
	opened, err := r.registries.Load(ctx, r.at.OrgUID, r.at.RegistryUID)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Unavailable {
		return r.fail(ctx, r.next(), f.Code+": "+f.Message)
	}
	if err != nil {
		return err
	}
	plan, problems := regcheck.Parse(opened.Definition)
	if len(problems) > 0 {
		return r.fail(ctx, r.next(), notValid(problems))
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var lost atomic.Bool
	var extending sync.WaitGroup
	lease := r.at // the fields that identify the lease do not change
	extending.Go(func() {
		if r.extendLease(working, lease) {
			lost.Store(true)
			stop()
		}
	})
	report, found, err := r.list(working, plan, opened.Registry.SpectroManifest)
	stop()
	extending.Wait()
	if lost.Load() {
		return store.ErrNotFound
	}
	return r.conclude(ctx, report, found, err)
}

// notValid is the message of a stored definition that cannot be checked.
func notValid(problems []regcheck.Problem) string {
	text := "definition is not valid"
	for _, p := range problems {
		text += "; " + p.Field + ": " + p.Problem
	}
	return text
}

// list runs the engine. A panic of the engine ends only this synchronization.
func (r *run) list(ctx context.Context, plan *regcheck.Plan, manifests bool) (
	report *regcheck.Report, found *inventory.Inventory, err error,
) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the synchronization %w", fault.Panicked(cause))
		}
	}()
	// A client that repeatedly causes dropped runs waits here until they are deleted.
	if err := r.sweep(ctx, r.at.OrgUID); err != nil {
		return nil, nil, err
	}
	from := inventory.Cursor{After: r.at.ResumeAfter, Repositories: int(r.at.RunRepositories), Tags: int(r.at.RunTags)}
	limits := r.Limits
	limits.Manifests = manifests
	return inventory.List(ctx, r.Ambient.For(r.checker, r.at.OrgUID), plan, from, limits, func(repository inventory.Repository) error {
		return r.add(ctx, repository)
	})
}

// extendLease extends the lease until ctx ends, or the lease is lost.
func (r *run) extendLease(ctx context.Context, lease store.RegistrySync) (lost bool) {
	tick := time.NewTicker(leaseTime / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		err := r.db.InTx(ctx, func(tx *store.Tx) error { return tx.Syncs.Extend(ctx, lease, r.now().Add(leaseTime)) })
		if errors.Is(err, store.ErrNotFound) {
			return true
		}
	}
}

// errOrgFull ends a run at the limit of its organization.
var errOrgFull = errors.New("the organization has reached its limit of content")

// add stores a repository. Its last transaction advances the cursor.
func (r *run) add(ctx context.Context, repository inventory.Repository) error {
	rows := rowsOf(repository)
	if err := r.checkLimit(ctx, len(rows)); err != nil {
		return err
	}
	next := r.at
	next.ResumeAfter = repository.Name
	next.RunRepositories++
	next.RunTags += int64(len(repository.Tags))
	for len(rows) > 0 {
		batch := rows[:min(len(rows), batchRows)]
		rows = rows[len(batch):]
		err := r.db.InTx(ctx, func(tx *store.Tx) error {
			if err := tx.Contents.Add(ctx, next, batch); err != nil || len(rows) > 0 {
				return err
			}
			return tx.Syncs.Advance(ctx, next, r.now().Add(leaseTime))
		})
		if err != nil {
			return err
		}
	}
	r.at = next
	return nil
}

// checkLimit returns errOrgFull if rows would exceed the limit. Concurrent runs may exceed it by a few repositories.
func (r *run) checkLimit(ctx context.Context, rows int) error {
	others, err := store.Read(ctx, r.db, func(tx *store.Tx) (int64, error) { return tx.Contents.CountOthers(ctx, r.at) })
	if err == nil && others+int64(rows) > r.OrgContents {
		err = errOrgFull
	}
	return err
}

// rowsOf returns the rows of a repository: one per tag, and one without a tag if it has a problem or no tags.
func rowsOf(repository inventory.Repository) []store.RegistryContent {
	var rows []store.RegistryContent
	if len(repository.Tags) == 0 || repository.Problem != "" {
		rows = append(rows, store.RegistryContent{Repository: repository.Name, Problem: repository.Problem})
	}
	for _, tag := range repository.Tags {
		rows = append(rows, store.RegistryContent{Repository: repository.Name, Tag: tag.Name, Kind: string(tag.Kind),
			Digest: tag.Digest, Problem: tag.Problem})
	}
	return rows
}

// conclude stores the outcome of the run, also if the service ends.
func (r *run) conclude(ctx context.Context, report *regcheck.Report, found *inventory.Inventory, err error) error {
	switch {
	case ctx.Err() != nil: // the service ends; the next process resumes at once
		return r.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Extend(ctx, r.at, r.now()) })
	case errors.Is(err, errOrgFull):
		return r.finish(ctx, fmt.Sprintf("The list is incomplete: the organization has reached its limit of %d stored tags.",
			r.OrgContents))
	case err != nil:
		return err
	case !report.Valid:
		return r.fail(ctx, r.afterFailure(report.Retryable), string(report.Code)+": "+report.Message+" "+report.Hint)
	case !found.Complete:
		return r.pause(ctx, found)
	}
	return r.finish(ctx, found.Notes...)
}

func (r *run) finish(ctx context.Context, notes ...string) error {
	message := counted(r.at.RunRepositories, "repository", "repositories") + " with " + counted(r.at.RunTags, "tag", "tags") + "."
	message = strings.Join(append([]string{message}, notes...), " ")
	return r.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Syncs.Finish(ctx, r.at, r.now(), r.next(), truncated(message))
	})
}

func (r *run) fail(ctx context.Context, next time.Time, message string) error {
	return r.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Syncs.Fail(ctx, r.at, next, truncated(message))
	})
}

// pause ends a run that the registry interrupted, such as by a rate limit, and schedules its continuation. Progress is stored with each
// repository, so only pauses without progress count.
func (r *run) pause(ctx context.Context, found *inventory.Inventory) error {
	pauses := r.at.Pauses
	if found.Cursor.After != r.began {
		pauses = 0
	}
	if pauses >= maxPauses {
		r.at.Failures += pauses
		return r.fail(ctx, r.afterFailure(true), "Given up after "+strconv.FormatInt(pauses, 10)+" attempts: "+found.Stopped)
	}
	wait := min(maxPause, max(found.RetryAfter, firstPause<<pauses))
	message := truncated("Paused for " + wait.String() + ": " + found.Stopped)
	return r.db.InTxDetached(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Syncs.Pause(ctx, r.at, r.now().Add(wait), message)
	})
}

// next returns the time of the next synchronization without a request, zero for never.
func (r *run) next() time.Time {
	if r.Every == 0 {
		return time.Time{}
	}
	return r.now().Add(r.Every)
}

// afterFailure returns next, or an earlier time if the failure is transient.
func (r *run) afterFailure(retryable bool) time.Time {
	if !retryable || r.Every == 0 {
		return r.next()
	}
	return r.now().Add(min(r.Every, firstRetry<<min(r.at.Failures, 10)))
}

func truncated(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + "…"
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

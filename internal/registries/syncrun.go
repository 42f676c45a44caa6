package registries

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
	"github.com/regwarden/regwarden/internal/queue"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/regcheck/inventory"
)

// How synchronizations run: taken from the queue of the store by whatever process is free, one registry at a
// time, under a lease that ends by itself when the process dies.

const (
	syncsAtOnce    = 8
	syncsNewcomers = 2                // of these, for organizations that have none under way: each may take 15 minutes
	syncLease      = 20 * time.Second // kept up by a beat; what a killed process leaves is resumed after it
	syncBatch      = 200              // rows of one transaction

	retryFirst = 5 * time.Minute // after a failure that may mend itself, then doubling
	pauseFirst = 15 * time.Second
	pauseLimit = time.Hour
	pausesVain = 8    // in a row without progress
	maxMessage = 1000 // bytes

	// orgContents bounds what the registries of an organization have together: rows, of which a hostile registry fills
	// about a KiB each.
	orgContents = 200_000
)

// SyncSettings say how synchronizations go on unasked.
type SyncSettings struct {
	Every       time.Duration    // from the end of one to the next; 0: only when asked
	Limits      inventory.Limits // of each
	OrgContents int64            // tags, and repositories without any, that are kept of an organization's registries; 0: 200,000
	Log         *slog.Logger     // of what goes wrong in the service itself, never of registries
}

// RunSyncs synchronizes what is due until ctx ends, and waits for what is under way then: that is resumed later.
func (s *Service) RunSyncs(ctx context.Context, settings SyncSettings) {
	settings.OrgContents = cmp.Or(settings.OrgContents, orgContents)
	r := &syncs{Service: s, settings: settings}
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { r.sweepAll(ctx) })
	queue.Queue[store.RegistrySync]{
		Name:      "synchronizations",
		Places:    syncsAtOnce,
		Newcomers: syncsNewcomers,
		Waiting:   r.waiting,
		Claim:     r.claim,
		OrgOf:     func(row store.RegistrySync) string { return row.OrgUID },
		Work:      r.work,
		Log:       settings.Log,
	}.Run(ctx)
}

// syncs are the synchronizations of one process.
type syncs struct {
	*Service
	settings SyncSettings
	sweeping sync.Mutex // held for a step, and the rest after it
}

func (r *syncs) waiting(ctx context.Context) (orgs []string, err error) {
	err = r.db.View(ctx, func(tx *store.Tx) (err error) {
		orgs, err = tx.Syncs.DueOrgs(ctx, r.now())
		return err
	})
	return orgs, err
}

func (r *syncs) claim(ctx context.Context, shares []queue.Share) (taken []store.RegistrySync, err error) {
	wanted := make([]store.Share, len(shares))
	for i, s := range shares {
		wanted[i] = store.Share(s)
	}
	owner, now := uuid.NewString(), r.now()
	err = r.db.InTx(ctx, func(tx *store.Tx) (err error) {
		taken, err = tx.Syncs.Claim(ctx, owner, now, now.Add(syncLease), wanted)
		return err
	})
	return taken, err
}

// work does one synchronization. A store that is away leaves it to the lease, which runs out; whatever else goes wrong
// with it would go wrong again each time, so it ends as failed.
func (r *syncs) work(ctx context.Context, taken store.RegistrySync) {
	run := &syncRun{syncs: r, at: taken, began: taken.ResumeAfter}
	err := run.do(ctx)
	if err == nil || ctx.Err() != nil || errors.Is(err, store.ErrNotFound) {
		return
	}
	if fault.KindOf(err) != fault.Unavailable {
		err = errors.Join(err, run.fail(ctx, run.afterFailure(true), "Something went wrong in the service; its log has the cause."))
	}
	r.settings.Log.Error("a registry was not synchronized", "registry", taken.RegistryUID, "error", err)
}

// syncRun is one synchronization under way. Its lease is kept by a goroutine of its own, and what the store
// answers ErrNotFound to is no longer ours: the definition was replaced or deleted, or another process has it.
type syncRun struct {
	*syncs
	at    store.RegistrySync
	began string // at.ResumeAfter when it was taken
}

func (r *syncRun) do(ctx context.Context) error {
	kept, err := r.stored(ctx, r.at.OrgUID, r.at.RegistryUID)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind != fault.Unavailable {
		return r.fail(ctx, r.next(), f.Code+": "+f.Message)
	}
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var lost atomic.Bool
	var beating sync.WaitGroup
	lease := r.at // which of it the lease is made of does not change
	beating.Go(func() {
		if r.keep(working, lease) {
			lost.Store(true)
			stop()
		}
	})
	report, found, err := r.list(working, kept)
	stop()
	beating.Wait()
	if lost.Load() {
		return store.ErrNotFound
	}
	return r.conclude(ctx, report, found, err)
}

// list runs the engine. A panic of it ends this synchronization and nothing else.
func (r *syncRun) list(ctx context.Context, kept record) (report *regcheck.Report, found *inventory.Inventory, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w (%T)\n%s", errPanicked, cause, fault.StackOf(cause))
		}
	}()
	// Who drops runs again and again waits here until they are deleted.
	if err := r.sweep(ctx, r.at.OrgUID); err != nil {
		return nil, nil, err
	}
	from := inventory.Cursor{After: r.at.ResumeAfter, Repositories: int(r.at.RunRepositories), Tags: int(r.at.RunTags)}
	limits := r.settings.Limits
	limits.Manifests = kept.SpectroManifest
	return inventory.List(ctx, r.checker, kept.Definition, from, limits, func(repository inventory.Repository) error {
		return r.add(ctx, repository)
	})
}

// keep prolongs the lease until ctx ends, or the lease is lost.
func (r *syncRun) keep(ctx context.Context, lease store.RegistrySync) (lost bool) {
	beat := time.NewTicker(syncLease / 4)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-beat.C:
		}
		err := r.db.InTx(ctx, func(tx *store.Tx) error { return tx.Syncs.Extend(ctx, lease, r.now().Add(syncLease)) })
		if errors.Is(err, store.ErrNotFound) {
			return true
		}
	}
}

// errOrgFull ends a run that would have its organization keep more than it may.
var errOrgFull = errors.New("the organization has as much content as it may")

// add writes a repository; the last transaction of it moves the cursor.
func (r *syncRun) add(ctx context.Context, repository inventory.Repository) error {
	rows := rowsOf(repository)
	if err := r.hasRoom(ctx, len(rows)); err != nil {
		return err
	}
	next := r.at
	next.ResumeAfter = repository.Name
	next.RunRepositories++
	next.RunTags += int64(len(repository.Tags))
	for len(rows) > 0 {
		batch := rows[:min(len(rows), syncBatch)]
		rows = rows[len(batch):]
		err := r.db.InTx(ctx, func(tx *store.Tx) error {
			if err := tx.Contents.Add(ctx, next, batch); err != nil || len(rows) > 0 {
				return err
			}
			return tx.Syncs.Advance(ctx, next, r.now().Add(syncLease))
		})
		if err != nil {
			return err
		}
	}
	r.at = next
	return nil
}

// hasRoom may let a few repositories too many through, of runs that ask at the same moment.
func (r *syncRun) hasRoom(ctx context.Context, rows int) error {
	var others int64
	err := r.db.View(ctx, func(tx *store.Tx) (err error) {
		others, err = tx.Contents.CountOthers(ctx, r.at)
		return err
	})
	if err == nil && others+int64(rows) > r.settings.OrgContents {
		err = errOrgFull
	}
	return err
}

// rowsOf are the rows of a repository: one per tag, and one without for a problem or for having none.
func rowsOf(repository inventory.Repository) []store.RegistryContent {
	var rows []store.RegistryContent
	if len(repository.Tags) == 0 || repository.Problem != "" {
		rows = append(rows, store.RegistryContent{Repository: repository.Name, Problem: repository.Problem})
	}
	for _, tag := range repository.Tags {
		rows = append(rows, store.RegistryContent{Repository: repository.Name, Tag: tag.Name, Kind: string(tag.Kind), Digest: tag.Digest, Problem: tag.Problem})
	}
	return rows
}

// conclude records how it ended.
func (r *syncRun) conclude(ctx context.Context, report *regcheck.Report, found *inventory.Inventory, err error) error {
	unusable, isDefinition := errors.AsType[*regcheck.DefinitionError](err)
	switch {
	case ctx.Err() != nil: // the service ends: whoever is next goes on at once
		return r.end(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Extend(ctx, r.at, r.now()) })
	case isDefinition:
		return r.fail(ctx, r.next(), unusable.Error())
	case errors.Is(err, errOrgFull):
		return r.finish(ctx, fmt.Sprintf("The rest is left out: %d tags are kept of all registries of an organization together, and that is reached.", r.settings.OrgContents))
	case err != nil:
		return err
	case !report.Valid:
		return r.fail(ctx, r.afterFailure(report.Retryable), string(report.Code)+": "+report.Message+" "+report.Hint)
	case !found.Complete:
		return r.pause(ctx, found)
	}
	return r.finish(ctx, found.Notes...)
}

func (r *syncRun) finish(ctx context.Context, notes ...string) error {
	message := counted(r.at.RunRepositories, "repository", "repositories") + " with " + counted(r.at.RunTags, "tag", "tags") + "."
	message = strings.Join(append([]string{message}, notes...), " ")
	return r.end(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Syncs.Finish(ctx, r.at, r.now(), r.next(), bounded(message))
	})
}

func (r *syncRun) fail(ctx context.Context, next time.Time, message string) error {
	return r.end(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.Syncs.Fail(ctx, r.at, next, bounded(message)) })
}

// pause breaks off what the registry would not let us finish now. Progress was stored with each repository, so
// that only pauses in vain count.
func (r *syncRun) pause(ctx context.Context, found *inventory.Inventory) error {
	failures := r.at.Failures
	if found.Cursor.After != r.began {
		failures = 0
	}
	if failures >= pausesVain {
		return r.fail(ctx, r.afterFailure(true), "Given up after "+strconv.FormatInt(failures, 10)+" tries: "+found.Stopped)
	}
	wait := min(pauseLimit, max(found.RetryAfter, pauseFirst<<failures))
	message := bounded("Broken off for " + wait.String() + ": " + found.Stopped)
	return r.end(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Syncs.Pause(ctx, r.at, r.now().Add(wait), message)
	})
}

// end writes the end of a run, also when the service ends.
func (r *syncRun) end(ctx context.Context, write func(context.Context, *store.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return r.db.InTx(ctx, func(tx *store.Tx) error { return write(ctx, tx) })
}

// next is when the registry is synchronized unasked, zero for never.
func (r *syncRun) next() time.Time {
	if r.settings.Every == 0 {
		return time.Time{}
	}
	return r.now().Add(r.settings.Every)
}

// afterFailure comes sooner when the registry may mend itself.
func (r *syncRun) afterFailure(retryable bool) time.Time {
	if !retryable || r.settings.Every == 0 {
		return r.next()
	}
	return r.now().Add(min(r.settings.Every, retryFirst<<min(r.at.Failures, 10)))
}

func bounded(message string) string {
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

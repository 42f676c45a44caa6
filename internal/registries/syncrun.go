package registries

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/store"
	"github.com/regwarden/regwarden/regcheck"
)

// How synchronizations run: taken from the queue of the store by whatever process is free, one registry at a
// time, under a lease that ends by itself when the process dies.

const (
	syncsAtOnce = 4
	syncsPerOrg = 2 // so that one organization's many registries leave room for another's few
	syncPoll    = time.Second
	syncLease   = 20 * time.Second // kept up by a beat; what a killed process leaves is resumed after it
	syncBatch   = 200              // rows of one transaction

	retryFirst  = 5 * time.Minute // after a failure that may mend itself, then doubling
	pauseFirst  = 15 * time.Second
	pauseLimit  = time.Hour
	pausesVain  = 8    // in a row without progress
	maxMessage  = 1000 // bytes
	sweepAtOnce = 1000 // rows
)

// SyncSettings say how synchronizations go on unasked.
type SyncSettings struct {
	Every  time.Duration            // from the end of one to the next; 0: only when asked
	Limits regcheck.InventoryLimits // of each
	Log    *slog.Logger             // of what goes wrong in the service itself, never of registries
}

// RunSyncs synchronizes what is due until ctx ends, and waits for what is under way then: that is resumed later.
func (s *Service) RunSyncs(ctx context.Context, settings SyncSettings) {
	r := &syncs{Service: s, settings: settings, orgs: map[string]int{}, freed: make(chan struct{}, 1)}
	defer r.running.Wait()
	poll := time.NewTicker(syncPoll)
	defer poll.Stop()
	failing := false
	for {
		err := r.startDue(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			settings.Log.Error("synchronizations wait", "error", err) // once, and not each second that the store is away
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		case <-r.freed:
		}
	}
}

// syncs are the synchronizations of one process.
type syncs struct {
	*Service
	settings SyncSettings
	running  sync.WaitGroup
	freed    chan struct{}

	mu   sync.Mutex
	orgs map[string]int // under way
}

// startDue takes what is due while there is room.
func (r *syncs) startDue(ctx context.Context) error {
	for ctx.Err() == nil {
		full, notOf := r.room()
		if full {
			return nil
		}
		var taken store.RegistrySync
		owner, now := uuid.NewString(), r.now()
		err := r.db.InTx(ctx, func(tx *store.Tx) (err error) {
			taken, err = tx.TakeSync(ctx, owner, notOf, now, now.Add(syncLease))
			return err
		})
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("take a synchronization: %w", err)
		}
		r.start(ctx, taken)
	}
	return nil
}

// room tells whether no more can run, and else which organization has its share; while there is room at all, at
// most one has.
func (r *syncs) room() (full bool, notOf string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	total := 0
	for org, n := range r.orgs {
		total += n
		if n >= syncsPerOrg {
			notOf = org
		}
	}
	return total >= syncsAtOnce, notOf
}

func (r *syncs) start(ctx context.Context, taken store.RegistrySync) {
	r.count(taken.OrgUID, 1)
	r.running.Go(func() {
		defer func() {
			r.count(taken.OrgUID, -1)
			select {
			case r.freed <- struct{}{}:
			default:
			}
		}()
		run := &syncRun{syncs: r, at: taken, began: taken.ResumeAfter}
		if err := run.do(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNotFound) {
			r.settings.Log.Error("a registry was not synchronized", "registry", taken.RegistryUID, "error", err)
		}
	})
}

func (r *syncs) count(org string, more int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.orgs[org] += more; r.orgs[org] == 0 {
		delete(r.orgs, org)
	}
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
	var beating sync.WaitGroup
	lease := r.at // which of it the lease is made of does not change
	beating.Go(func() { r.keep(working, lease, stop) })
	report, found, err := r.list(working, kept)
	stop()
	beating.Wait()
	return r.conclude(ctx, report, found, err)
}

// list runs the engine. A panic of it ends this synchronization and nothing else.
func (r *syncRun) list(ctx context.Context, kept record) (report *regcheck.Report, found *regcheck.Inventory, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errPanicked, cause)
		}
	}()
	from := regcheck.InventoryCursor{After: r.at.ResumeAfter, Repositories: int(r.at.RunRepositories), Tags: int(r.at.RunTags)}
	return r.checker.Inventory(ctx, kept.Definition, from, r.settings.Limits, func(repository regcheck.Repository) error {
		return r.add(ctx, repository)
	})
}

// keep prolongs the lease; when it is lost, the work ends.
func (r *syncRun) keep(ctx context.Context, lease store.RegistrySync, stop func()) {
	beat := time.NewTicker(syncLease / 4)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		err := r.db.InTx(ctx, func(tx *store.Tx) error { return tx.KeepSync(ctx, lease, r.now().Add(syncLease)) })
		if errors.Is(err, store.ErrNotFound) {
			stop()
			return
		}
	}
}

// add writes a repository; the last transaction of it moves the cursor.
func (r *syncRun) add(ctx context.Context, repository regcheck.Repository) error {
	rows := rowsOf(repository)
	next := r.at
	next.ResumeAfter = repository.Name
	next.RunRepositories++
	next.RunTags += int64(len(repository.Tags))
	for len(rows) > 0 {
		batch := rows[:min(len(rows), syncBatch)]
		rows = rows[len(batch):]
		err := r.db.InTx(ctx, func(tx *store.Tx) error {
			if err := tx.AddContents(ctx, next, batch); err != nil || len(rows) > 0 {
				return err
			}
			return tx.AdvanceSync(ctx, next, r.now().Add(syncLease))
		})
		if err != nil {
			return err
		}
	}
	r.at = next
	return nil
}

// rowsOf are the rows of a repository: one per tag, and one without for a problem or for having none.
func rowsOf(repository regcheck.Repository) []store.RegistryContent {
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
func (r *syncRun) conclude(ctx context.Context, report *regcheck.Report, found *regcheck.Inventory, err error) error {
	unusable, isDefinition := errors.AsType[*regcheck.DefinitionError](err)
	switch {
	case ctx.Err() != nil: // the service ends: whoever is next goes on at once
		return r.end(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.KeepSync(ctx, r.at, r.now()) })
	case isDefinition:
		return r.fail(ctx, r.next(), unusable.Error())
	case errors.Is(err, errPanicked):
		return errors.Join(err, r.fail(ctx, r.next(), "Something went wrong in the service; its log has the cause."))
	case err != nil:
		return err // the lease runs out, and the next one goes on
	case !report.Valid:
		return r.fail(ctx, r.afterFailure(report.Retryable), string(report.Code)+": "+report.Message+" "+report.Hint)
	case !found.Complete:
		return r.pause(ctx, found)
	}
	message := counted(r.at.RunRepositories, "repository", "repositories") + " with " + counted(r.at.RunTags, "tag", "tags") + "."
	message = strings.Join(append([]string{message}, found.Notes...), " ")
	err = r.end(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishSync(ctx, r.at, r.now(), r.next(), bounded(message))
	})
	return errors.Join(err, r.clear(ctx))
}

func (r *syncRun) fail(ctx context.Context, next time.Time, message string) error {
	err := r.end(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.FailSync(ctx, r.at, next, bounded(message)) })
	return errors.Join(err, r.clear(ctx))
}

// clear deletes what runs up to this one have left that nobody sees, in steps that hold up nobody for long.
func (r *syncRun) clear(ctx context.Context) error {
	for ctx.Err() == nil {
		var n int64
		err := r.db.InTx(ctx, func(tx *store.Tx) (err error) {
			n, err = tx.DeleteContents(ctx, r.at, sweepAtOnce)
			return err
		})
		if err != nil || n < sweepAtOnce {
			return err
		}
	}
	return nil
}

// pause breaks off what the registry would not let us finish now. Progress was stored with each repository, so
// that only pauses in vain count.
func (r *syncRun) pause(ctx context.Context, found *regcheck.Inventory) error {
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
		return tx.PauseSync(ctx, r.at, r.now().Add(wait), message)
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

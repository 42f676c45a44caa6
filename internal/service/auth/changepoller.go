package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/auth/changehistory"
	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	pollInterval          = 250 * time.Millisecond
	listeningPollInterval = 750 * time.Millisecond // where the store notifies of changes; less than staleAfter, in case notifying fails
	unknownKeyInterval    = 20 * time.Millisecond  // between polls for tokens signed with an unknown key
	staleAfter            = time.Second            // maximum age of the last poll when a cached credential is used
	pollTimeout           = 2 * time.Second
	pollBatch             = 5000 // changes per query
	maxQueued             = changehistory.MaxSubjects
	// historyFor is how old the changes are that are read at the start, by clocks that may differ, since older ones only save queries.
	historyFor = maxTokenLifetime + time.Minute

	pollFailureLifetime = listeningPollInterval + pollTimeout // until the next scheduled poll has ended, even if it fails too
)

// changePoller follows the list of changes that all replicas write. It measures time with the monotonic clock, not with
// the clock of the service.
type changePoller struct {
	db         *store.DB
	cache      *credentialCache
	reloadKeys func(context.Context) error
	timeout    time.Duration // of a poll
	firstWait  time.Duration // of readFirst

	started  time.Time
	lastPoll atomic.Int64                // start of the last successful poll, relative to started
	failure  atomic.Pointer[pollFailure] // of the last poll; nil if it succeeded

	// These are owned by the running poll.
	last store.Change // the newest known change of the list
	changehistory.Queue

	mu       sync.Mutex
	inFlight *inFlightPoll // nil when no poll is running
}

// pollFailure is a poll that failed.
type pollFailure struct {
	at  time.Duration // relative to started
	err error
}

// inFlightPoll is one poll, shared by all callers that wait for it.
type inFlightPoll struct {
	began time.Duration
	done  chan struct{}
	err   error // valid once done is closed
}

func newChangePoller(db *store.DB, cache *credentialCache, reloadKeys func(context.Context) error, timeout time.Duration) *changePoller {
	return &changePoller{db: db, cache: cache, reloadKeys: reloadKeys, timeout: timeout, firstWait: staleAfter, started: time.Now()}
}

func (p *changePoller) elapsed() time.Duration { return time.Since(p.started) }

// age returns how long ago the last successful poll began.
func (p *changePoller) age() time.Duration { return p.elapsed() - time.Duration(p.lastPoll.Load()) }

// run polls until ctx ends. If it does not run, the use of a credential polls at most once a second.
func (p *changePoller) run(ctx context.Context) {
	for {
		_ = p.poll(ctx) // ensureCurrent returns a failure to callers
		pause := pollInterval
		if p.db.Listening() {
			pause = listeningPollInterval
		}
		select {
		case <-ctx.Done():
			return
		case <-p.db.Changed():
		case <-time.After(pause):
		}
	}
}

// ensureCurrent makes sure that the cache lacks no change older than staleAfter. If it returns an error, the cache must
// not be used. While a poll waits for an unresponsive store, callers get the error of the previous poll and do not
// wait.
func (p *changePoller) ensureCurrent(ctx context.Context) error {
	if p.age() <= staleAfter {
		return nil
	}
	if f := p.failure.Load(); f != nil && p.elapsed()-f.at < pollFailureLifetime {
		return f.err
	}
	return p.poll(ctx)
}

// poll reads and applies new changes. Callers that arrive during a poll share the next one.
func (p *changePoller) poll(ctx context.Context) error { return p.pollAfter(ctx, 0) }

// pollAfter polls no sooner than pause after the last poll, since forged tokens can cause any number of calls.
//
// A successful poll that began before the caller arrived is not enough, since a change may have been written in
// between. A failed one is enough: otherwise all callers would wait for an unavailable store one after another.
func (p *changePoller) pollAfter(ctx context.Context, pause time.Duration) error {
	for arrived := p.elapsed(); ; {
		current, isNew := p.join()
		if isNew {
			// Other callers wait for the poll too, so it continues when this caller is canceled.
			go p.execute(context.WithoutCancel(ctx), current, pause)
		}
		select {
		case <-current.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if current.err != nil || current.began >= arrived {
			return current.err
		}
	}
}

// join returns the poll in flight, or a new one that the caller must execute.
func (p *changePoller) join() (current *inFlightPoll, isNew bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inFlight == nil {
		p.inFlight, isNew = &inFlightPoll{done: make(chan struct{})}, true
	}
	return p.inFlight, isNew
}

func (p *changePoller) execute(ctx context.Context, current *inFlightPoll, pause time.Duration) {
	defer func() {
		if cause := recover(); cause != nil { // in a goroutine of no request, it would end the server
			current.err = fmt.Errorf("poll for changes: %w", fault.Panicked(cause))
		}
		p.mu.Lock()
		p.inFlight = nil
		p.mu.Unlock()
		close(current.done)
	}()
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	time.Sleep(time.Duration(p.lastPoll.Load()) + pause - p.elapsed())
	current.began = p.elapsed()
	if err := p.readChanges(ctx); err != nil {
		current.err = fmt.Errorf("poll for changes: %w", p.busyAfterTimeout(err))
		p.failure.Store(&pollFailure{p.elapsed(), current.err})
		return
	}
	p.failure.Store(nil)
	p.lastPoll.Store(int64(current.began))
}

// busyAfterTimeout turns the timeout of a poll into a fault. It does not concern the deadline of the caller.
func (p *changePoller) busyAfterTimeout(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	busy := fault.Busy("The store does not respond. Retry after the time in Retry-After.", p.timeout)
	busy.Cause = fmt.Errorf("the store did not respond within %v: %w", p.timeout, err)
	return busy
}

// begin makes the first poll read the changes since which tokens may be alive. It also adds a change, and tokens get no older position:
// a copy of the database has the older changes too, and could have other users and roles than the original without a change of its own.
func (p *changePoller) begin(ctx context.Context) (err error) {
	p.last, err = store.Read(ctx, p.db, func(tx *store.Tx) (store.Change, error) {
		return tx.Changes.FirstSince(ctx, time.Now().Add(-historyFor), changehistory.MaxPositions)
	})
	if err != nil {
		return err
	}
	p.cache.Settle(p.cache.Epoch(), nil, p.last)
	own := p.cache.Hold()
	_ = p.db.InTx(ctx, func(tx *store.Tx) error { return tx.Changes.Note(ctx, own) }) // without it, tokens get no position
	return nil
}

// readFirst reads the changes until that of begin has a number, for a second at most.
func (p *changePoller) readFirst(ctx context.Context) error {
	err := p.readChanges(ctx)
	for began := time.Now(); err == nil && p.cache.Position() == 0 && time.Since(began) < p.firstWait; err = p.readChanges(ctx) {
		time.Sleep(unknownKeyInterval)
	}
	return err
}

// readChanges reads the changes after the last known one and applies them: first those that have no number yet, since they may get it
// between two queries.
func (p *changePoller) readChanges(ctx context.Context) error {
	epoch := p.cache.Epoch()
	queued, err := store.Read(ctx, p.db, func(tx *store.Tx) ([]store.Change, error) { return tx.Changes.Queued(ctx, maxQueued) })
	if err != nil {
		return err
	}
	if len(queued) > 0 {
		p.db.NumberChanges() // the server that added them may have ended
	}
	if err := p.applyQueued(ctx, queued); err != nil {
		return err
	}
	complete, err := p.readList(ctx)
	if err != nil {
		return err
	}
	if !complete || p.Lost(queued) || len(queued) == maxQueued {
		return p.restart(ctx)
	}
	p.cache.Settle(epoch, queued, p.last)
	return nil
}

// readList reads the list after the last known change. complete is described at newChanges.
func (p *changePoller) readList(ctx context.Context) (complete bool, err error) {
	for {
		changes, err := store.Read(ctx, p.db, func(tx *store.Tx) ([]store.Change, error) {
			return tx.Changes.From(ctx, p.last.Seq, pollBatch)
		})
		if err != nil {
			return false, err
		}
		added, complete := newChanges(p.last, changes)
		if !complete || len(added) == 0 {
			return complete, nil
		}
		if err := p.applyNumbered(ctx, added); err != nil {
			return false, err
		}
		p.last = added[len(added)-1]
		if len(changes) < pollBatch {
			return true, nil
		}
	}
}

// applyNumbered applies the next changes of the list. Those known from the queue were applied before.
func (p *changePoller) applyNumbered(ctx context.Context, added []store.Change) error {
	keys := false
	p.cache.AddNumbered(added, func(c store.Change) bool {
		isNew := !p.Moved(c)
		keys = keys || isNew && c.Subject == store.ChangedKeys
		return isNew
	})
	if keys {
		return p.reloadKeys(ctx)
	}
	return nil
}

// applyQueued applies the changes of the queue that are new.
func (p *changePoller) applyQueued(ctx context.Context, queued []store.Change) error {
	subjects := p.NewSubjects(queued)
	if len(subjects) > 0 {
		p.cache.Add(subjects)
	}
	if slices.Contains(subjects, store.ChangedKeys) {
		if err := p.reloadKeys(ctx); err != nil {
			return err
		}
	}
	p.Remember(queued)
	return nil
}

// newChanges returns the changes after the last known one, from a list read from that change on. complete is false when
// the list does not begin with it, or has a gap: either older changes were deleted before this poll, or a standby without the newest
// commits took over and reused the number.
func newChanges(last store.Change, list []store.Change) (added []store.Change, complete bool) {
	for i, change := range list {
		if change.Seq != list[0].Seq+int64(i) {
			return nil, false
		}
	}
	switch {
	case len(list) > 0 && list[0] == last:
		return list[1:], true
	case last.Subject == "" && (len(list) == 0 || list[0].Seq == last.Seq+1): // no change was known
		return list, true
	}
	return nil, false
}

// restart clears the cache. It reads the position in the list first, so that the next poll finds concurrent changes.
func (p *changePoller) restart(ctx context.Context) error {
	last, err := store.Read(ctx, p.db, func(tx *store.Tx) (store.Change, error) { return tx.Changes.Last(ctx) })
	if err != nil {
		return err
	}
	p.cache.clear()
	if err := p.reloadKeys(ctx); err != nil {
		return err
	}
	p.last, p.Queue = last, changehistory.Queue{}
	return nil
}

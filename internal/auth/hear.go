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
	"github.com/regwarden/regwarden/internal/store"
)

const (
	hearEvery  = 250 * time.Millisecond // how often Watch asks
	hearRarely = 750 * time.Millisecond // how often where the store tells of changes; less than staleAfter, should it fail to
	staleAfter = time.Second            // how old the last asking may be when a remembered credential is used
	hearPause  = 20 * time.Millisecond  // between askings for tokens of keys that are not known here
	hearWithin = 2 * time.Second        // an asking has to be answered
	hearStep   = 1000                   // changes read at once

	failureCounts = hearRarely + hearWithin // until the next poll of Watch has ended, if that fails too
)

// hearing is where this process stands in the list of changes, its own and those of other processes. Its
// times are monotonic and not the service's clock: a promise of a second is one of a second.
type hearing struct {
	born  time.Time
	asked atomic.Int64 // when the last asking that succeeded began, since born

	failed atomic.Pointer[pollFailure] // the newest asking, nil when it succeeded

	last store.Change // the newest that was heard; whoever asks has it alone

	mu    sync.Mutex
	under *asking // nil when nobody asks
}

// pollFailure is a poll that failed.
type pollFailure struct {
	at  time.Duration // since born
	err error
}

func (h *hearing) elapsed() time.Duration { return time.Since(h.born) }

// age is how long ago the newest asking that succeeded began.
func (h *hearing) age() time.Duration { return h.elapsed() - time.Duration(h.asked.Load()) }

// Watch hears of what other processes change in the store, until ctx ends. Without it the service asks when
// a credential is used, at most once a second.
func (s *Service) Watch(ctx context.Context) {
	for {
		// A failure is told to whoever presents a credential once it lasts longer than staleAfter.
		_ = s.hear(ctx)
		pause := hearEvery
		if s.db.Listening() {
			pause = hearRarely
		}
		select {
		case <-ctx.Done():
			return
		case <-s.db.Changed():
		case <-time.After(pause):
		}
	}
}

// upToDate makes sure that no change older than staleAfter is missing from what this process remembers. It
// fails when the store cannot be asked: then nothing remembered may be believed. While a silent store has Watch wait, callers get
// the failure of its last poll and do not wait too.
func (s *Service) upToDate(ctx context.Context) error {
	if s.hearing.age() <= staleAfter {
		return nil
	}
	if f := s.hearing.failed.Load(); f != nil && s.hearing.elapsed()-f.at < failureCounts {
		return f.err
	}
	return s.hear(ctx)
}

// asking is one look at the list of changes, for everybody who waits for it.
type asking struct {
	began time.Duration
	done  chan struct{}
	err   error // once done is closed
}

// hear asks for what changed. Callers that come while one asks share the next asking.
func (s *Service) hear(ctx context.Context) error { return s.hearAfter(ctx, 0) }

// hearAfter is hear, at least pause after the last asking: for callers whom a flood of forged tokens brings.
//
// An asking that began before its caller came is not enough, since a change may have come between. One that failed is:
// when the store is away, those who wait would otherwise find out one after the other.
func (s *Service) hearAfter(ctx context.Context, pause time.Duration) error {
	for arrived := s.hearing.elapsed(); ; {
		one, mine := s.hearing.join()
		if mine {
			// For others too: that this caller goes away, or waits no longer, is nothing to them.
			go s.ask(context.WithoutCancel(ctx), one, pause)
		}
		select {
		case <-one.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if one.err != nil || one.began >= arrived {
			return one.err
		}
	}
}

// join returns the asking that is under way, or a new one that is the caller's to do.
func (h *hearing) join() (one *asking, mine bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.under == nil {
		h.under, mine = &asking{done: make(chan struct{})}, true
	}
	return h.under, mine
}

func (s *Service) ask(ctx context.Context, one *asking, pause time.Duration) {
	h := &s.hearing
	defer func() {
		h.mu.Lock()
		h.under = nil
		h.mu.Unlock()
		close(one.done)
	}()
	ctx, cancel := context.WithTimeout(ctx, hearWithin)
	defer cancel()
	time.Sleep(time.Duration(h.asked.Load()) + pause - h.elapsed())
	one.began = h.elapsed()
	if err := s.catchUp(ctx); err != nil {
		one.err = fmt.Errorf("ask what changed: %w", inTime(err))
		h.failed.Store(&pollFailure{h.elapsed(), one.err})
		return
	}
	h.failed.Store(nil)
	h.asked.Store(int64(one.began))
}

// inTime gives our own time limit its fault: whoever waits for the asking has another.
func inTime(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	busy := fault.Busy("The store cannot answer now. Try again.", hearWithin)
	busy.Cause = err
	return busy
}

// catchUp reads the changes since the last one heard, and does what follows from them.
func (s *Service) catchUp(ctx context.Context) error {
	for {
		var changes []store.Change
		err := s.db.View(ctx, func(tx *store.Tx) (err error) {
			changes, err = tx.Changes.From(ctx, s.hearing.last.Seq, hearStep)
			return err
		})
		if err != nil {
			return err
		}
		news, whole := since(s.hearing.last, changes)
		if !whole {
			return s.startOver(ctx)
		}
		if len(news) == 0 {
			return nil
		}
		subjects := make([]string, len(news))
		for i, change := range news {
			subjects[i] = change.Subject
		}
		s.view.tell(subjects)
		if slices.Contains(subjects, store.ChangedKeys) {
			if err := s.reloadKeys(ctx); err != nil {
				return err
			}
		}
		s.hearing.last = news[len(news)-1]
	}
}

// since returns what is new in a list that was asked for from the last change heard. whole is false when the list
// does not begin with that one: then some were swept before we asked, or the database went back, to a standby that
// takes over without the newest commits, say, and gave the number to another change.
func since(heard store.Change, list []store.Change) (news []store.Change, whole bool) {
	switch {
	case len(list) > 0 && list[0] == heard:
		return list[1:], true
	case heard.Subject == "" && (len(list) == 0 || list[0].Seq == heard.Seq+1): // there was none
		return list, true
	}
	return nil, false
}

// startOver believes nothing that is remembered. Where the list stands is read first: what changes meanwhile is heard
// of afterwards.
func (s *Service) startOver(ctx context.Context) error {
	var last store.Change
	err := s.db.View(ctx, func(tx *store.Tx) (err error) {
		last, err = tx.Changes.Last(ctx)
		return err
	})
	if err != nil {
		return err
	}
	s.view.forgetAll()
	if err := s.reloadKeys(ctx); err != nil {
		return err
	}
	s.hearing.last = last
	return nil
}

package auth

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regwarden/regwarden/internal/store"
)

const (
	hearEvery  = 250 * time.Millisecond // how often Watch asks
	hearRarely = 750 * time.Millisecond // how often where the store tells of changes; less than staleAfter, should it fail to
	staleAfter = time.Second            // how old the last asking may be when a remembered credential is used
	hearPause  = 20 * time.Millisecond  // between askings for tokens of keys that are not known here
	hearStep   = 1000                   // changes read at once
)

// hearing is where this process stands in the list of changes, its own and those of other processes. Its
// times are monotonic and not the service's clock: a promise of a second is one of a second.
type hearing struct {
	born  time.Time
	asked atomic.Int64 // when the last asking that succeeded began, since born

	mu   sync.Mutex
	last int64 // the newest change that was heard
}

func (h *hearing) elapsed() time.Duration { return time.Since(h.born) }

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
// fails when the store cannot be asked: then nothing remembered may be believed.
func (s *Service) upToDate(ctx context.Context) error {
	if s.hearing.elapsed()-time.Duration(s.hearing.asked.Load()) <= staleAfter {
		return nil
	}
	return s.hear(ctx)
}

// hear asks for what changed. Callers that come while one asks share the next asking.
func (s *Service) hear(ctx context.Context) error { return s.hearAfter(ctx, 0) }

// hearAfter is hear, at least pause after the last asking: for callers whom a flood of forged tokens brings.
func (s *Service) hearAfter(ctx context.Context, pause time.Duration) error {
	h := &s.hearing
	arrived := h.elapsed()
	h.mu.Lock()
	defer h.mu.Unlock()
	last := time.Duration(h.asked.Load())
	if last > arrived {
		return nil // somebody asked after we came
	}
	if wait := last + pause - arrived; wait > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
	began := h.elapsed()
	if err := s.catchUp(ctx); err != nil {
		return fmt.Errorf("ask what changed: %w", err)
	}
	h.asked.Store(int64(began))
	return nil
}

// catchUp reads the changes since the last one heard, and does what follows from them.
func (s *Service) catchUp(ctx context.Context) error {
	for {
		var changes []store.Change
		err := s.db.View(ctx, func(tx *store.Tx) (err error) {
			changes, err = tx.ChangesSince(ctx, s.hearing.last, hearStep)
			return err
		})
		if err != nil || len(changes) == 0 {
			return err
		}
		missed := changes[0].Seq != s.hearing.last+1 // they were swept before we asked
		subjects := make([]string, len(changes))
		for i, change := range changes {
			subjects[i] = change.Subject
		}
		if missed {
			s.view.forgetAll()
		} else {
			s.view.tell(subjects)
		}
		if missed || slices.Contains(subjects, store.ChangedKeys) {
			if err := s.reloadKeys(ctx); err != nil {
				return err
			}
		}
		s.hearing.last = changes[len(changes)-1].Seq
	}
}

// Package connlimit shares what connections use among the sources they come from, so that no source takes it from the others.
package connlimit

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Slots is a semaphore whose slots are shared by sources. Sources that wait take turns. It is safe for concurrent use.
type Slots struct {
	reserve int
	wanted  func(never bool) // called when a source without a slot begins to wait, which was never put last; may be nil

	mu      sync.Mutex
	free    int
	held    map[string]int             // by source
	waiting map[string][]chan struct{} // by source, first come first
	turns   []string                   // the sources of waiting, next first: those in last are behind the others
	last    map[string]bool            // the sources that were put last since up to lastTime ago
	since   time.Time                  // of last
}

// newSlots returns n slots. A source that has some gets another one only if reserve times as many are free, so that a few sources
// leave slots to others; with 0 a source may have all of them.
func newSlots(n, reserve int) *Slots {
	return &Slots{reserve: reserve, free: n, held: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Acquire waits for a slot, which Release returns. It reports false if there was none before the end of ctx.
func (s *Slots) Acquire(ctx context.Context, source string) bool {
	granted := s.request(source)
	if granted == nil {
		return true
	}
	if s.wanted != nil && s.wants(source) {
		s.wanted(!s.isLast(source))
	}
	select {
	case <-granted:
		runtime.Gosched()
		return true
	case <-ctx.Done():
		return !s.withdraw(source, granted)
	}
}

// request takes a slot, or returns a channel that is closed when there is one.
func (s *Slots) request(source string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting[source]) == 0 && s.available(source) {
		s.take(source)
		return nil
	}
	granted := make(chan struct{})
	if len(s.waiting[source]) == 0 {
		s.queue(source)
	}
	s.waiting[source] = append(s.waiting[source], granted)
	return granted
}

// queue adds a source to turns.
func (s *Slots) queue(source string) {
	at := len(s.turns)
	if !s.last[source] {
		if first := slices.IndexFunc(s.turns, func(turn string) bool { return s.last[turn] }); first >= 0 {
			at = first
		}
	}
	s.turns = slices.Insert(s.turns, at, source)
}

const lastTime = time.Minute

// putLast makes a source take its turns after all others for up to lastTime.
func (s *Slots) putLast(source string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.since) > lastTime {
		s.last, s.since = map[string]bool{}, now
	}
	if s.last[source] = true; len(s.waiting[source]) > 0 {
		s.turns = append(slices.DeleteFunc(s.turns, func(turn string) bool { return turn == source }), source)
	}
}

// isLast reports whether a source was put last.
func (s *Slots) isLast(source string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[source]
}

// available reports whether a source may have another slot. Other sources that wait may not have one, or they would.
func (s *Slots) available(source string) bool {
	return s.free > s.reserve*s.held[source]
}

func (s *Slots) take(source string) {
	s.free--
	s.held[source]++
}

// withdraw reports false if the slot was granted in the meantime.
func (s *Slots) withdraw(source string, granted <-chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.waiting[source], func(w chan struct{}) bool { return w == granted })
	if i < 0 {
		return false
	}
	s.waiting[source] = slices.Delete(s.waiting[source], i, i+1)
	s.forgetIdle(source)
	return true
}

// Release returns a slot of a source, and grants slots to the next sources that may have one.
func (s *Slots) Release(source string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.held[source]--; s.held[source] == 0 {
		delete(s.held, source)
	}
	for i := slices.IndexFunc(s.turns, s.available); i >= 0; i = slices.IndexFunc(s.turns, s.available) {
		next := s.turns[i]
		s.turns = slices.Delete(s.turns, i, i+1)
		s.queue(next)
		s.grant(next)
	}
}

func (s *Slots) grant(source string) {
	s.take(source)
	close(s.waiting[source][0])
	s.waiting[source] = s.waiting[source][1:]
	s.forgetIdle(source)
}

// forgetIdle removes a source that does not wait any more.
func (s *Slots) forgetIdle(source string) {
	if len(s.waiting[source]) > 0 {
		return
	}
	delete(s.waiting, source)
	s.turns = slices.DeleteFunc(s.turns, func(turn string) bool { return turn == source })
}

// wants reports whether a source waits that has no slot.
func (s *Slots) wants(source string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lacks(source)
}

// wantedByAny reports whether any source waits that has no slot.
func (s *Slots) wantedByAny() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free == 0 && slices.ContainsFunc(s.turns, s.lacks)
}

func (s *Slots) lacks(source string) bool { return s.held[source] == 0 && len(s.waiting[source]) > 0 }

// Package connlimit shares what connections use among the sources they come from, so that no source takes it from the others.
package connlimit

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// Slots is a semaphore whose slots are shared by sources. Sources that wait take turns. It is safe for concurrent use.
type Slots struct {
	reserve int

	mu      sync.Mutex
	free    int
	held    map[string]int             // by source
	waiting map[string][]chan struct{} // by source, first come first
	turns   []string                   // the sources of waiting, next first
}

// NewSlots returns n slots. A source that has some gets another one only if reserve times as many are free, so that a few sources
// leave slots to others; with 0 a source may have all of them.
func NewSlots(n, reserve int) *Slots {
	return &Slots{reserve: reserve, free: n, held: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// Acquire waits for a slot, which Release returns. It reports false if there was none before the end of ctx.
func (s *Slots) Acquire(ctx context.Context, source string) bool {
	granted := s.request(source)
	if granted == nil {
		return true
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
		s.turns = append(s.turns, source)
	}
	s.waiting[source] = append(s.waiting[source], granted)
	return granted
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
		s.turns = append(slices.Delete(s.turns, i, i+1), next)
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

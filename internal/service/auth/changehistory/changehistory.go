// Package changehistory is what a process knows of the list of changes (internal/storage/changelist): whether data that it, or another
// process, read before is up to date.
package changehistory

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/storage/store"
)

const (
	// MaxSubjects is how many changed subjects the history of a server has.
	MaxSubjects = 65_536
	// MaxPositions is how many positions are known.
	MaxPositions = 65_536
)

// Position identifies a place in the list of changes by a hash of the change at that place. After the list was reset to an older
// state, other changes get the same numbers, but not the same positions. 0 is none.
type Position uint64

func positionOf(c store.Change) Position {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", c.Seq, c.Subject, c.At.UnixMilli()))
	return max(1, Position(binary.BigEndian.Uint64(sum[:])))
}

// unnumbered is the number of a change whose own is not known: it is larger than that of any position.
const unnumbered = math.MaxInt64

// subjectChange is the last change of a subject.
type subjectChange struct {
	epoch uint64 // of the history, when this process got to know it
	seq   int64  // its number in the list, or a larger one
}

// History is what this process knows of the list of changes. What was read in an epoch is up to date while none of its
// subjects has changed since. What another process read at a position of the list is up to date while none of its subjects has a
// change with a larger number. Neither depends on a clock.
//
// A change is known by its subject alone before it has a number. Its number counts as larger than that of every position until a
// poll that began later has ended and the change is not in the queue: then it is at most the last one of the list.
type History struct {
	mu          sync.RWMutex
	epoch       atomic.Uint64 // counts what was added
	floor       uint64        // what was read in an earlier epoch may be out of date
	changed     map[string]subjectChange
	unnumbered  map[string]uint64  // by subject: the epoch of a change whose number is not known
	numbers     map[Position]int64 // of the newest positions, all changes after which are known
	order       []Position         // the same, the oldest first
	newest      atomic.Uint64      // the last one of order, 0 while held
	held        string             // subject of a change that is not in the list yet; empty for none
	maxSubjects int
}

// New returns an empty history of at most so many subjects.
func New(maxSubjects int) *History {
	return &History{changed: map[string]subjectChange{}, unnumbered: map[string]uint64{},
		numbers: map[Position]int64{}, maxSubjects: maxSubjects}
}

// Position returns the newest position, 0 if none is known. It must be taken before the data that it is stored with is read.
func (h *History) Position() Position { return Position(h.newest.Load()) }

// Hold makes Position return 0 until a change of the returned subject, which is new, is in the list.
func (h *History) Hold() (subject string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = uuid.NewString()
	h.newest.Store(0)
	return h.held
}

// Add adds changes without a number.
func (h *History) Add(subjects []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	epoch := h.epoch.Add(1)
	for _, subject := range subjects {
		h.changed[subject], h.unnumbered[subject] = subjectChange{epoch, unnumbered}, epoch
	}
	h.limit()
}

// AddNumbered adds the next changes of the list. isNew reports whether a change was not added before, without its number.
func (h *History) AddNumbered(changes []store.Change, isNew func(store.Change) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	epoch := h.epoch.Add(1)
	for _, c := range changes {
		if isNew(c) {
			h.changed[c.Subject] = subjectChange{epoch, max(c.Seq, h.changed[c.Subject].seq)}
		}
		if c.Subject == store.ChangedAll {
			h.reset()
		}
		if c.Subject == h.held {
			h.held = ""
		}
		if len(h.order) > 0 {
			h.addPosition(c)
		}
	}
	h.limit()
}

func (h *History) addPosition(c store.Change) {
	if len(h.order) == MaxPositions {
		h.dropPosition()
	}
	at := positionOf(c)
	h.numbers[at], h.order = c.Seq, append(h.order, at)
	if h.held == "" {
		h.newest.Store(uint64(at))
	}
}

// limit forgets the older half of the subjects when there are too many.
func (h *History) limit() {
	if len(h.changed) <= h.maxSubjects {
		return
	}
	epochs := make([]uint64, 0, len(h.changed))
	for _, c := range h.changed {
		epochs = append(epochs, c.epoch)
	}
	slices.Sort(epochs)
	h.forget(epochs[len(epochs)/2])
}

// forget removes the subjects whose last change this process knew by an epoch. What was read before may be out of date then, and
// positions before are unknown.
func (h *History) forget(until uint64) {
	newest := int64(0)
	for subject, c := range h.changed {
		if c.epoch <= until {
			newest = max(newest, c.seq)
			delete(h.changed, subject)
		}
	}
	if newest == unnumbered { // it may come after every position
		h.reset()
		return
	}
	h.floor = max(h.floor, until)
	for len(h.order) > 0 && h.numbers[h.order[0]] < newest {
		h.dropPosition()
	}
}

// dropPosition makes the oldest position unknown.
func (h *History) dropPosition() {
	delete(h.numbers, h.order[0])
	if h.order = h.order[1:]; len(h.order) == 0 {
		h.newest.Store(0)
	}
}

// reset makes everything out of date that was read before, and every position unknown.
func (h *History) reset() {
	h.floor = h.epoch.Load()
	clear(h.changed)
	clear(h.unnumbered)
	clear(h.numbers)
	h.order = nil
	h.newest.Store(0)
}

// Clear makes everything out of date that was read until now, and every position unknown.
func (h *History) Clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.epoch.Add(1)
	h.reset()
}

// Settle ends a poll that began in an epoch, found these changes in the queue, and then read the list up to its last change.
func (h *History) Settle(began uint64, queued []store.Change, last store.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	waiting := map[string]bool{}
	for _, c := range queued {
		waiting[c.Subject] = true
	}
	for subject, epoch := range h.unnumbered {
		if epoch <= began && !waiting[subject] {
			h.changed[subject] = subjectChange{h.changed[subject].epoch, last.Seq}
			delete(h.unnumbered, subject)
		}
	}
	if len(h.order) > 0 || h.floor > began {
		return
	}
	epoch := h.epoch.Add(1)
	for subject := range waiting { // the reset may have removed them
		h.changed[subject], h.unnumbered[subject] = subjectChange{epoch, unnumbered}, epoch
	}
	h.addPosition(last)
}

// Epoch must be taken before data are read that Current is asked about.
func (h *History) Epoch() uint64 { return h.epoch.Load() }

// Current reports whether what was read of these subjects in an epoch is up to date.
func (h *History) Current(epoch uint64, subjects ...string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, subject := range subjects {
		if h.changed[subject].epoch > epoch {
			return false
		}
	}
	return epoch >= h.floor
}

// CurrentAt is Current for what was read at a position, by any process.
func (h *History) CurrentAt(at Position, subjects ...string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	seq, known := h.numbers[at]
	for _, subject := range subjects {
		known = known && h.changed[subject].seq <= seq
	}
	return known
}

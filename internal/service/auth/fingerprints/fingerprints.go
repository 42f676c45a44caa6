// Package fingerprints remembers which of a million texts were seen, in a memory of fixed size.
package fingerprints

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	groups    = 112 << 10 // of 128 bytes: 14 MiB, of which only what is used takes memory
	groupSize = 16        // of a million texts, groups of 8 would lose one in 80, which is verified again at each use
	keyBytes  = 32
)

// Set is a set of texts, which forgets the oldest when it is full. It has 64 bits of a keyed hash of each text, at a place that other bits
// of the hash choose. A text that was never added is found with a probability of 2^-60, whatever its author knows of others: the key is
// random and never leaves the process, and SHA-256 after it is a pseudorandom function. Of 100,000 forged texts a second, one is found in
// 350,000 years on average. hash/maphash would not do: it promises nothing against an author who chooses texts that differ in a few places.
type Set struct {
	key   [keyBytes]byte
	slots []uint64
	locks [64]sync.Mutex // of writers; readers take none
}

// New returns an empty set.
func New() *Set {
	f := &Set{slots: newSlots(groups * groupSize)}
	_, _ = rand.Read(f.key[:]) // never fails
	return f
}

// ID is the keyed hash of a text.
type ID [sha256.Size]byte

// IDOf returns the ID of a text.
func (f *Set) IDOf(text string) ID {
	var buffer [keyBytes + 1024]byte // longer ones are allocated
	return sha256.Sum256(append(append(buffer[:0], f.key[:]...), text...))
}

// place returns the fingerprint in a keyed hash, and the number of its group.
func (f *Set) place(id ID) (fingerprint, group uint64) {
	group, _ = bits.Mul64(binary.LittleEndian.Uint64(id[8:]), groups)
	return max(1, binary.LittleEndian.Uint64(id[:])), group // 0 is an empty slot
}

// Has reports whether a text was added.
func (f *Set) Has(id ID) bool {
	fingerprint, group := f.place(id)
	slots := f.slots[group*groupSize:][:groupSize]
	for i := range slots {
		if atomic.LoadUint64(&slots[i]) == fingerprint {
			return true
		}
	}
	return false
}

// Add adds a fingerprint in front of its group. Each one is copied before it is overwritten, so concurrent readers miss none.
func (f *Set) Add(id ID) {
	fingerprint, group := f.place(id)
	lock := &f.locks[group%uint64(len(f.locks))]
	lock.Lock()
	defer lock.Unlock()
	if f.Has(id) {
		return
	}
	slots := f.slots[group*groupSize:][:groupSize]
	for i := groupSize - 1; i > 0; i-- {
		atomic.StoreUint64(&slots[i], atomic.LoadUint64(&slots[i-1]))
	}
	atomic.StoreUint64(&slots[0], fingerprint)
}

package source

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"sync"
	"time"
)

// Cache remembers obtained credentials until shortly before they expire, in memory only. It is safe for concurrent use. The zero value
// is ready for use, and nil remembers nothing.
type Cache struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]cached
}

type cached struct {
	Credentials
	renew time.Time
}

const (
	maxCached   = 10_000           // definitions of a server
	renewBefore = 5 * time.Minute  // before the expiry, so that a check does not outlast its credentials
	unknownLife = 10 * time.Minute // of credentials whose provider says no expiry
)

// Get returns the credentials of a source, which may be nil. They are not Remembered if they have to be obtained anew.
func (c *Cache) Get(s Source, now time.Time) (got Credentials) {
	if c == nil || s == nil {
		return got
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry, known := c.entries[keyOf(s)]; known && now.Before(entry.renew) {
		got = entry.Credentials
		got.Remembered = true
	}
	return got
}

// Forget removes the credentials of a source, which a registry rejected.
func (c *Cache) Forget(s Source) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, keyOf(s))
}

// Put remembers credentials that were obtained now, unless their source depends on nothing that can be named.
func (c *Cache) Put(s Source, got Credentials, now time.Time) {
	if c == nil || s.Depends() == nil {
		return
	}
	life := unknownLife
	if !got.Expires.IsZero() {
		life = got.Expires.Sub(now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[[sha256.Size]byte]cached{}
	}
	if len(c.entries) >= maxCached {
		maps.DeleteFunc(c.entries, func(_ [sha256.Size]byte, e cached) bool { return !now.Before(e.renew) })
	}
	for old := range c.entries { // all of them are in use: any one has to go
		if len(c.entries) < maxCached {
			break
		}
		delete(c.entries, old)
	}
	c.entries[keyOf(s)] = cached{got, now.Add(life - min(renewBefore, life/5))}
}

// keyOf returns a hash of everything that the credentials depend on.
func keyOf(s Source) (key [sha256.Size]byte) {
	h := sha256.New()
	for _, part := range s.Depends() {
		_ = binary.Write(h, binary.BigEndian, int64(len(part)))
		_, _ = h.Write([]byte(part))
	}
	h.Sum(key[:0])
	return key
}

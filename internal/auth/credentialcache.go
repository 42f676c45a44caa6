package auth

import (
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
)

const (
	maxCacheEntries    = 16_384 // of some 400 bytes each
	maxChangedSubjects = 16_384 // with more, all entries are invalidated
)

// credentialCache holds credentials that this process has verified, so that using one again costs neither a signature check nor
// a read of the store. Entries are never corrected, only invalidated: an entry is valid as long as nothing that it rests on has
// changed since before it was read. So it does not matter in which order a read and a change that it missed arrive here.
type credentialCache struct {
	mu      sync.RWMutex
	entries map[credentialID]cacheEntry
	changed map[string]uint64 // by subject: the epoch of its last change
	epoch   uint64            // counts invalidations
	floor   uint64            // entries from an earlier epoch are not valid

	maxChanged int
}

// credentialID is the SHA-256 of a token or API key: the cache holds nothing that can be used.
type credentialID [32]byte

type cacheEntry struct {
	principal Principal
	expires   time.Time
	epoch     uint64    // before what the entry rests on was read
	used      time.Time // of an API key: the last recorded use
}

func newCredentialCache() *credentialCache {
	return &credentialCache{entries: map[credentialID]cacheEntry{}, changed: map[string]uint64{}, maxChanged: maxChangedSubjects}
}

// currentEpoch must be called before reading what is then put into the cache.
func (c *credentialCache) currentEpoch() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.epoch
}

// get returns the valid entry of a credential. A valid credential does not count as one of another method.
func (c *credentialCache) get(id credentialID, method audit.AuthMethod) (cacheEntry, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	found, ok := c.entries[id]
	if !ok || found.epoch < c.floor || found.principal.Method != method {
		return cacheEntry{}, false
	}
	p := found.principal
	for _, subject := range []string{p.SessionUID, p.APIKeyUID, p.UserUID} {
		if c.changed[subject] > found.epoch {
			return cacheEntry{}, false
		}
	}
	return found, true
}

func (c *credentialCache) put(id credentialID, entry cacheEntry, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxCacheEntries {
		c.evict(now)
	}
	c.entries[id] = entry
}

// evict removes expired entries and, if that is not enough, an eighth of the others at random.
func (c *credentialCache) evict(now time.Time) {
	for id, entry := range c.entries {
		if !now.Before(entry.expires) {
			delete(c.entries, id)
		}
	}
	for id := range c.entries {
		if len(c.entries) <= maxCacheEntries*7/8 {
			return
		}
		delete(c.entries, id)
	}
}

// invalidate invalidates all entries that rest on these sessions, users and API keys.
func (c *credentialCache) invalidate(subjects []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for _, subject := range subjects {
		c.changed[subject] = c.epoch
	}
	if len(c.changed) > c.maxChanged {
		c.floor = c.epoch
		clear(c.changed)
	}
}

// clear removes all entries. Those of reads that have begun are not valid either.
func (c *credentialCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.floor = c.epoch
	clear(c.changed)
	clear(c.entries)
}

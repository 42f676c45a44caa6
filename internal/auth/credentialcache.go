package auth

import (
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
)

const (
	maxCacheEntries    = 16_384 // about 400 bytes each
	maxChangedSubjects = 16_384 // above this number, all entries are invalidated
)

// credentialCache holds credentials that this process has verified, so that using one again needs no signature check
// and no query. Entries are never updated, only invalidated: an entry is valid as long as none of its subjects has
// changed since before it was read. So the order in which a read and a concurrent change arrive does not matter.
type credentialCache struct {
	mu      sync.RWMutex
	entries map[credentialID]cacheEntry
	changed map[string]uint64 // by subject: the epoch of its last change
	epoch   uint64            // number of invalidations
	floor   uint64            // entries from an earlier epoch are not valid

	maxChanged int
}

// credentialID is the SHA-256 of a token or API key; the cache does not hold the credential itself.
type credentialID [32]byte

type cacheEntry struct {
	principal Principal
	expires   time.Time
	epoch     uint64    // taken before the entry's data was read
	used      time.Time // of an API key: the last recorded use
}

func newCredentialCache() *credentialCache {
	return &credentialCache{entries: map[credentialID]cacheEntry{}, changed: map[string]uint64{}, maxChanged: maxChangedSubjects}
}

// currentEpoch must be called before reading the data of a new entry.
func (c *credentialCache) currentEpoch() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.epoch
}

// get returns the valid entry of a credential. A credential verified by another method does not count.
func (c *credentialCache) get(id credentialID, method audit.AuthMethod) (cacheEntry, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	found, ok := c.entries[id]
	if !ok || found.epoch < c.floor || found.principal.Method != method {
		return cacheEntry{}, false
	}
	p := found.principal
	for _, subject := range []string{p.SessionUID, p.APIKeyUID, p.UserUID, p.OrgUID} {
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

// invalidate invalidates all entries of these sessions, users, API keys and organizations.
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

// clear removes all entries and invalidates those of reads in progress.
func (c *credentialCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.floor = c.epoch
	clear(c.changed)
	clear(c.entries)
}

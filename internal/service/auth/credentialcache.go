package auth

import (
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth/changehistory"
)

const maxCacheEntries = 16_384 // about 400 bytes each

// credentialCache holds credentials that this process has looked up: API keys, references of browsers, and tokens that are not accepted
// from their claims. Entries are never updated, only invalidated: an entry is valid as long as none of its subjects has
// changed since before it was read. So the order in which a read and a concurrent change arrive does not matter.
type credentialCache struct {
	*changehistory.History
	mu      sync.RWMutex
	entries map[credentialID]cacheEntry
}

// credentialID is a hash of a credential; the cache does not hold the credential itself. Of a token it has a key (fingerprints).
type credentialID [32]byte

type cacheEntry struct {
	principal Principal
	expires   time.Time
	epoch     uint64    // taken before the entry's data was read
	used      time.Time // of an API key: the last recorded use
}

func newCredentialCache() *credentialCache {
	return &credentialCache{entries: map[credentialID]cacheEntry{}, History: changehistory.New(changehistory.MaxSubjects)}
}

// get returns the valid entry of a credential. A credential verified by another method does not count.
func (c *credentialCache) get(id credentialID, method audit.AuthMethod) (cacheEntry, bool) {
	c.mu.RLock()
	found, ok := c.entries[id]
	c.mu.RUnlock()
	if !ok || found.principal.Method != method || !c.upToDate(found) {
		return cacheEntry{}, false
	}
	return found, true
}

func (c *credentialCache) upToDate(e cacheEntry) bool {
	return c.Current(e.epoch, e.principal.SessionUID, e.principal.APIKeyUID, e.principal.UserUID, e.principal.OrgUID)
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

// clear removes all entries and invalidates those of reads in progress.
func (c *credentialCache) clear() {
	c.Clear()
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}

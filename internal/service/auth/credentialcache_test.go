package auth

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/service/auth/changehistory"
)

// TestCacheEntriesAreInvalidated checks one rule for any order of calls: an entry that was read before a change of one
// of its subjects is not valid after the change.
func TestCacheEntriesAreInvalidated(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newCredentialCache()
		c.History = changehistory.New(3)
		read := map[byte]uint64{}      // credential: epoch of the cache when its data was read
		changed := map[string]uint64{} // subject: its last change
		subjects := []string{"s0", "s1", "u0", "u1", "s2", "u2", "u3"}
		at := time.Unix(0, 0)
		r.Repeat(map[string]func(*rapid.T){
			"put": func(r *rapid.T) {
				n := rapid.ByteRange(0, 1).Draw(r, "credential")
				epoch := c.Epoch() - uint64(min(int(c.Epoch()), rapid.IntRange(0, 2).Draw(r, "late")))
				c.put(credentialID{n}, cacheEntry{epoch: epoch,
					principal: Principal{SessionUID: fmt.Sprintf("s%d", n), UserUID: fmt.Sprintf("u%d", n)}}, at)
				read[n] = epoch
			},
			"change": func(r *rapid.T) {
				subject := rapid.SampledFrom(subjects).Draw(r, "subject")
				c.Add([]string{subject})
				changed[subject] = c.Epoch()
			},
			"": func(r *rapid.T) {
				for n, epoch := range read {
					stale := changed[fmt.Sprintf("s%d", n)] > epoch || changed[fmt.Sprintf("u%d", n)] > epoch
					if _, ok := c.get(credentialID{n}, ""); ok && stale {
						r.Fatalf("credential %d is valid though its subject has changed", n)
					}
				}
			},
		})
	})
}

func TestCacheIsBounded(t *testing.T) {
	c, at := newCredentialCache(), time.Unix(0, 0)
	for i := range maxCacheEntries + 10 {
		expires := at.Add(time.Hour)
		if i%2 == 0 {
			expires = at
		}
		c.put(credentialID{byte(i), byte(i >> 8)}, cacheEntry{expires: expires}, at)
	}
	if n := len(c.entries); n > maxCacheEntries/2+10 {
		t.Errorf("%d entries, though half had expired", n)
	}
	for i := range 2 * maxCacheEntries {
		c.put(credentialID{byte(i), byte(i >> 8), 1}, cacheEntry{expires: at.Add(time.Hour)}, at)
	}
	if n := len(c.entries); n > maxCacheEntries || n < maxCacheEntries/2 {
		t.Errorf("%d entries", n)
	}
}

// TestCacheIsFilledBeforeEntriesAreRemoved: the first entry too many removes an eighth.
func TestCacheIsFilledBeforeEntriesAreRemoved(t *testing.T) {
	c, at := newCredentialCache(), time.Unix(0, 0)
	for i, want := range []int{maxCacheEntries, maxCacheEntries*7/8 + 1} {
		for n := range maxCacheEntries {
			if i == 0 || n == 0 {
				c.put(credentialID{byte(n), byte(n >> 8), byte(i)}, cacheEntry{expires: at.Add(time.Hour)}, at)
			}
		}
		if len(c.entries) != want {
			t.Errorf("%d entries, want %d", len(c.entries), want)
		}
	}
}

// TestCachedCredentialsCountForTheirMethod: what is known of an API key does not count for a token.
func TestCachedCredentialsCountForTheirMethod(t *testing.T) {
	c := newCredentialCache()
	c.put(credentialID{1}, cacheEntry{principal: Principal{Method: audit.MethodAPIKey}}, start)
	for id, ok := range map[byte]bool{1: true, 2: false} {
		_, byKey := c.get(credentialID{id}, audit.MethodAPIKey)
		_, byToken := c.get(credentialID{id}, audit.MethodToken)
		if byKey != ok || byToken {
			t.Errorf("credential %d is known as a key: %t, as a token: %t", id, byKey, byToken)
		}
	}
}

package auth

import (
	"sync"
	"time"

	"github.com/regwarden/regwarden/internal/audit"
)

const (
	maxRemembered = 16_384 // credentials, of some 400 bytes each
	maxSubjects   = 16_384 // that have changed; past it everything is looked up anew
)

// view remembers the credentials that this process has verified, so that using one again costs neither a
// signature check nor a read of the store. What is remembered is never corrected, only forgotten: an entry
// counts as long as nothing that it rests on has changed since before it was read. So it cannot matter in
// which order a read and a change that it missed arrive here.
type view struct {
	mu      sync.RWMutex
	entries map[credentialID]remembered
	changed map[string]uint64 // by subject: the epoch of its last change
	epoch   uint64            // counts what was told
	floor   uint64            // entries from before it do not count

	maxChanged int
}

// credentialID is the SHA-256 of a token or API key: the view holds nothing that opens anything.
type credentialID [32]byte

type remembered struct {
	principal Principal
	expires   time.Time
	epoch     uint64    // before what the entry rests on was read
	used      time.Time // of an API key: the last use on record
}

func newView() *view {
	return &view{entries: map[credentialID]remembered{}, changed: map[string]uint64{}, maxChanged: maxSubjects}
}

// begin is to be called before reading what is then remembered.
func (v *view) begin() uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.epoch
}

// find returns what is remembered of a credential of that kind and still counts. A credential of one kind is none of
// another, though it be good.
func (v *view) find(id credentialID, method audit.AuthMethod) (remembered, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	found, ok := v.entries[id]
	if !ok || found.epoch < v.floor || found.principal.Method != method {
		return remembered{}, false
	}
	p := found.principal
	for _, subject := range []string{p.SessionUID, p.APIKeyUID, p.UserUID} {
		if v.changed[subject] > found.epoch {
			return remembered{}, false
		}
	}
	return found, true
}

func (v *view) remember(id credentialID, what remembered, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.entries) >= maxRemembered {
		v.makeRoom(now)
	}
	v.entries[id] = what
}

// makeRoom forgets what has expired, and when that is too little, an eighth of the rest, whichever it is.
func (v *view) makeRoom(now time.Time) {
	for id, entry := range v.entries {
		if !now.Before(entry.expires) {
			delete(v.entries, id)
		}
	}
	for id := range v.entries {
		if len(v.entries) <= maxRemembered*7/8 {
			return
		}
		delete(v.entries, id)
	}
}

// tell makes everything out of date that rests on these sessions, users and API keys.
func (v *view) tell(subjects []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.epoch++
	for _, subject := range subjects {
		v.changed[subject] = v.epoch
	}
	if len(v.changed) > v.maxChanged {
		v.floor = v.epoch
		clear(v.changed)
	}
}

// forgetAll makes everything out of date.
func (v *view) forgetAll() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.epoch++
	v.floor = v.epoch
	clear(v.changed)
	clear(v.entries)
}

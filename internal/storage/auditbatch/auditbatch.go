// Package auditbatch has the parts of the chain of audit records: what is hashed of them, and how they are stored.
package auditbatch

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/regwarden/regwarden/internal/audit"
)

const (
	macSize   = 16
	entrySize = 16 + 8 + 8 + macSize
)

// MAC is a keyed hash of an audit record without its repeats, which count up.
type MAC [macSize]byte

// Entry is a record in a batch of the chain.
type Entry struct {
	UID     string
	At      time.Time
	Repeats int64 // when it was linked
	MAC     MAC
}

// Batch is a part of the chain: records of one organization.
type Batch struct {
	Number                      int64
	OrgUID                      string // empty for records without an organization
	LinkedAt                    time.Time
	Entries                     []Entry
	Previous, OrgPrevious, Hash []byte
	Authentic                   bool // when read: Hash is that of its content
}

// RecordText returns what the MAC of a record is a hash of.
func RecordText(r audit.Record) []byte {
	text := binary.BigEndian.AppendUint64(nil, uint64(r.At.UnixMilli())) // #nosec G115 -- the same bytes for the same time
	for _, part := range []string{r.UID, r.OrgUID, r.ActorUID, r.ActorName, string(r.Method), string(r.Action), r.Object, r.Target,
		string(r.Outcome), r.Reason, r.Origin.RequestID, r.Origin.Address, string(r.Report)} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	return text
}

// Text returns what the hash of a batch is of.
func (b Batch) Text() []byte {
	text := fmt.Appendf(nil, "%d|%q|%d|%x|%x|", b.Number, b.OrgUID, b.LinkedAt.UnixMilli(), b.Previous, b.OrgPrevious)
	return append(text, Encode(b.Entries)...)
}

// LastAt returns the time of the newest record.
func (b Batch) LastAt() (last time.Time) {
	for _, e := range b.Entries {
		if e.At.After(last) {
			last = e.At
		}
	}
	return last
}

// Encode returns the stored form of entries. Each uid must be that of a UUID.
func Encode(entries []Entry) []byte {
	out := make([]byte, 0, len(entries)*entrySize)
	for _, e := range entries {
		uid, _ := uuid.Parse(e.UID)
		out = append(out, uid[:]...)
		out = binary.BigEndian.AppendUint64(out, uint64(e.At.UnixMilli())) // #nosec G115 -- read back as signed
		out = binary.BigEndian.AppendUint64(out, uint64(e.Repeats))        // #nosec G115 -- as above
		out = append(out, e.MAC[:]...)
	}
	return out
}

// Decode returns stored entries, and whether they are complete.
func Decode(stored []byte) (entries []Entry, complete bool) {
	entries = make([]Entry, 0, len(stored)/entrySize)
	for ; len(stored) >= entrySize; stored = stored[entrySize:] {
		entries = append(entries, Entry{
			UID:     uuid.UUID(stored[:16]).String(),
			At:      time.UnixMilli(int64(binary.BigEndian.Uint64(stored[16:]))).UTC(), // #nosec G115 -- as it was written
			Repeats: int64(binary.BigEndian.Uint64(stored[24:])),                       // #nosec G115 -- as above
			MAC:     MAC(stored[32:entrySize]),
		})
	}
	return entries, len(stored) == 0
}

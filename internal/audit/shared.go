package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/google/uuid"
)

const (
	// refusalWindow is how long identical refusals share a record. Without it, one client that is refused repeatedly could
	// fill the store.
	refusalWindow = time.Minute
	// refreshWindow is how long refreshes of a session from one source share a record.
	refreshWindow = time.Hour
)

// Window is the time in which others like a record are counted by it: 0 for a record of its own.
func (r Record) Window() time.Duration {
	switch {
	case r.Outcome == Refused:
		return refusalWindow
	case r.Action == Refresh && r.Outcome == Succeeded && r.Reason == "":
		return refreshWindow
	}
	return 0
}

// SharedUID returns the uid of the record that others like it share within its window: refusals of one action, for one
// reason, of one actor or session (none before authentication) from one source, and refreshes of one session from one source.
// It needs no query, so that replicas agree. Like NewUID it begins with the time.
func SharedUID(record Record) string {
	object := ""
	if record.Action.Kind() == "auth" { // a session or a verified subject; other objects may be names chosen by the caller
		object = record.Object
	}
	if record.Outcome != Refused { // the session says whose it is
		record.OrgUID, record.ActorUID = "", ""
	}
	window := record.At.Truncate(record.Window()).UnixMilli()
	hash := sha256.New()
	for _, part := range []string{string(record.Action), record.Reason, record.OrgUID, record.ActorUID, string(record.Method),
		object, record.Origin.Source()} {
		_ = binary.Write(hash, binary.BigEndian, uint64(len(part))) // never fails (hash.Hash)
		hash.Write([]byte(part))
	}
	var uid uuid.UUID
	copy(uid[:], hash.Sum(nil))
	for i := range 6 { // RFC 9562 section 5.7
		uid[i] = byte(window >> (40 - 8*i)) // #nosec G115 -- one byte at a time
	}
	uid[6] = uid[6]&0x0f | 0x70
	uid[8] = uid[8]&0x3f | 0x80
	return uid.String()
}

// SharedTime returns bounds of the time of a record by its SharedUID: the hour in which its window begins, and which it does not leave.
func SharedTime(uid string) (from, until time.Time) {
	parsed, err := uuid.Parse(uid)
	if err != nil {
		return from, until
	}
	window := int64(binary.BigEndian.Uint64(append([]byte{0, 0}, parsed[:6]...))) // #nosec G115 -- 48 bits
	from = time.UnixMilli(window).UTC().Truncate(refreshWindow)
	return from, from.Add(refreshWindow)
}

// Source is the address that limits apply to: for IPv6 the /64 network, which is usually one customer.
func (o Origin) Source() string {
	address, err := netip.ParseAddr(o.Address)
	if err != nil {
		return o.Address
	}
	address = address.Unmap().WithZone("")
	if address.Is6() {
		if network, err := address.Prefix(64); err == nil {
			return network.String()
		}
	}
	return address.String()
}

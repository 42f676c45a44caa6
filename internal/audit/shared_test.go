package audit

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func TestRefusalsOfOneKindShareAUID(t *testing.T) {
	first := Record{At: time.Date(2026, 11, 21, 12, 0, 10, 0, time.UTC), OrgUID: "org", ActorUID: "ada", Method: "token",
		Action: RegistryCreate, Object: "one", Outcome: Refused, Reason: "OperationForbidden",
		Origin: Origin{RequestID: "ref-1", Address: "2001:db8::1"}}
	for _, c := range []struct {
		name   string
		change func(*Record)
		shared bool
	}{
		{"another request", func(record *Record) { record.Origin.RequestID, record.At = "ref-2", record.At.Add(40*time.Second) }, true},
		{"another object, chosen by the caller", func(record *Record) { record.Object = "two" }, true},
		{"another address of the same network", func(record *Record) { record.Origin.Address = "2001:db8::2" }, true},
		{"another name of the same user", func(record *Record) { record.ActorName = "ada@example.com" }, true},
		{"the next minute", func(record *Record) { record.At = record.At.Add(time.Minute) }, false},
		{"another source", func(record *Record) { record.Origin.Address = "2001:db8:0:1::1" }, false},
		{"another user", func(record *Record) { record.ActorUID = "eve" }, false},
		{"another organization", func(record *Record) { record.OrgUID = "other" }, false},
		{"another reason", func(record *Record) { record.Reason = "TooManyRequests" }, false},
		{"another action", func(record *Record) { record.Action = RegistryDelete }, false},
		{"another method", func(record *Record) { record.Method = "apiKey" }, false},
	} {
		next := first
		c.change(&next)
		if got := SharedUID(next) == SharedUID(first); got != c.shared {
			t.Errorf("%s: shared %t, want %t", c.name, got, c.shared)
		}
	}
	first.Action = Refresh
	other := first
	if other.Object = "another session"; SharedUID(first) == SharedUID(other) {
		t.Error("two sessions share a record")
	}
}

// Refreshes share a record if, and only if, session, source, way and hour are the same. What is known of the session changes nothing.
func TestRefreshesOfAnHourShareAUID(t *testing.T) {
	first := Record{At: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), OrgUID: "org", ActorUID: "ada", Method: MethodRefreshToken,
		Action: Refresh, Object: "session", Outcome: Succeeded, Origin: Origin{RequestID: "ref-1", Address: "192.0.2.1"}}
	for _, c := range []struct {
		name   string
		change func(*Record)
		shared bool
	}{
		{"the end of the hour", func(r *Record) { r.At, r.Origin.RequestID = r.At.Add(time.Hour-time.Millisecond), "ref-2" }, true},
		{"user not known", func(r *Record) { r.OrgUID, r.ActorUID = "", "" }, true},
		{"the next hour", func(r *Record) { r.At = r.At.Add(time.Hour) }, false},
		{"another session", func(r *Record) { r.Object = "other" }, false},
		{"another source", func(r *Record) { r.Origin.Address = "192.0.2.2" }, false},
		{"another way", func(r *Record) { r.Method = MethodToken }, false},
	} {
		next := first
		c.change(&next)
		if got := SharedUID(next) == SharedUID(first); got != c.shared {
			t.Errorf("%s: shared %t, want %t", c.name, got, c.shared)
		}
	}
	for _, own := range []Record{{Action: Refresh, Outcome: Succeeded, Reason: "retried"}, {Action: Login, Outcome: Succeeded},
		{Action: Refresh, Outcome: Failed}} {
		if own.Window() != 0 {
			t.Errorf("%+v shares a record for %v", own, own.Window())
		}
	}
}

// The index of millions of records grows at its end only if uids begin with the time.
func TestSharedUIDsAreOrderedByTime(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 1<<46).Draw(r, "at"))
		record := Record{At: at, Outcome: Refused, Reason: rapid.String().Draw(r, "reason")}
		later := Record{At: at.Add(time.Minute), Outcome: Refused, Reason: rapid.String().Draw(r, "later reason")}
		uid, err := uuid.Parse(SharedUID(record))
		if err != nil || uid.Version() != 7 || uid.Variant() != uuid.RFC4122 {
			r.Fatalf("%v: version %d, variant %v, %v", uid, uid.Version(), uid.Variant(), err)
		}
		if from, until := SharedTime(SharedUID(record)); at.Before(from) || !at.Before(until) {
			r.Fatalf("%v is not from %v until %v", at, from, until)
		}
		if SharedUID(record) >= SharedUID(later) {
			r.Fatalf("%s is not before %s", SharedUID(record), SharedUID(later))
		}
	})
}

func TestSources(t *testing.T) {
	for address, want := range map[string]string{"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1",
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64",
		"fe80::1%eth0":      "fe80::/64", "cli": "cli", "": ""} {
		if got := (Origin{Address: address}).Source(); got != want {
			t.Errorf("%s is counted as %s", address, got)
		}
	}
}

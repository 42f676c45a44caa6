package source

import (
	"context"
	"strconv"
	"testing"
	"time"
)

// named is a source that has only a name.
type named string

func (n named) Depends() []string { return []string{string(n)} }

func (named) Obtain(context.Context, Call, time.Time) (Credentials, error) {
	panic("not asked in these tests")
}

func TestCacheRenewsBeforeTheExpiry(t *testing.T) {
	for _, row := range []struct {
		life, after time.Duration
		want        bool
	}{
		{12 * time.Hour, 11 * time.Hour, true},
		{12 * time.Hour, 12*time.Hour - 5*time.Minute - time.Nanosecond, true},
		{12 * time.Hour, 12*time.Hour - 5*time.Minute, false},
		{time.Minute, 47 * time.Second, true},
		{time.Minute, 48 * time.Second, false},
		{0, 7 * time.Minute, true}, // the expiry is not known
		{0, 8 * time.Minute, false},
		{-time.Second, 0, false},
	} {
		var c Cache
		got := Credentials{Username: "a"}
		if row.life != 0 {
			got.Expires = now.Add(row.life)
		}
		c.Put(named("a"), got, now)
		if ok := c.Get(named("a"), now.Add(row.after)).Remembered; ok != row.want {
			t.Errorf("valid for %v, %v later: %v, want %v", row.life, row.after, ok, row.want)
		}
	}
}

func TestCacheKeepsSourcesApart(t *testing.T) {
	var c Cache
	for _, name := range []named{"a", "b"} {
		c.Put(name, Credentials{Username: string(name)}, now)
	}
	c.Forget(named("a"))
	a, b := c.Get(named("a"), now), c.Get(named("b"), now)
	if a.Remembered || !b.Remembered || b.Username != "b" {
		t.Errorf("a is there: %v; b is there: %v, %q", a.Remembered, b.Remembered, b.Username)
	}
	if keyOf(ECR{AccessKey: "ab"}) == keyOf(ECR{AccessKey: "a", Secret: "b"}) {
		t.Error("the parts of a key are not separated")
	}
}

func TestCacheIsBounded(t *testing.T) {
	var c Cache
	for i := range maxCached + 10 {
		c.Put(named(strconv.Itoa(i)), Credentials{Expires: now.Add(time.Hour)}, now)
	}
	if len(c.entries) != maxCached {
		t.Errorf("%d entries", len(c.entries))
	}
	c.Put(named("later"), Credentials{}, now.Add(2*time.Hour))
	if len(c.entries) != 1 {
		t.Errorf("%d entries after all others expired", len(c.entries))
	}
}

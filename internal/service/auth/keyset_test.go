package auth

import (
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"github.com/regwarden/regwarden/internal/storage/store"
)

// TestKeySet has keys as they may be stored: those in use must be complete, and match each other.
func TestKeySet(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	another, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	sign := store.ServiceKey{UID: "s", Purpose: store.KeySign, Public: public, Secret: private.Seed()}
	mac := store.ServiceKey{UID: "m", Purpose: store.KeyMAC, Secret: make([]byte, macKeyBytes)}
	mismatched, short, retired := sign, sign, sign
	mismatched.Public, short.Secret = another, private.Seed()[1:]
	retired.UID, retired.RetiredAt, retired.VerifyUntil = "r", start, start.Add(time.Hour)
	later := retired
	later.UID, later.VerifyUntil = "l", start.Add(2*time.Hour)
	for _, tt := range []struct {
		name   string
		keys   []store.ServiceKey
		verify int // keys; 0 for an error
		until  time.Time
	}{
		{"in use", []store.ServiceKey{sign, mac}, 1, time.Time{}},
		{"and retired", []store.ServiceKey{later, retired, sign, mac}, 3, retired.VerifyUntil},
		{"no signing key", []store.ServiceKey{mac}, 0, time.Time{}},
		{"no key of refresh tokens", []store.ServiceKey{sign}, 0, time.Time{}},
		{"a retired one alone", []store.ServiceKey{retired, mac}, 0, time.Time{}},
		{"of another pair", []store.ServiceKey{mismatched, mac}, 0, time.Time{}},
		{"of another length", []store.ServiceKey{short, mac}, 0, time.Time{}},
	} {
		set, err := newKeySet(tt.keys, start)
		if (err == nil) != (tt.verify > 0) || err == nil && (len(set.verify) != tt.verify || !set.until.Equal(tt.until)) {
			t.Errorf("%s: %+v, %v", tt.name, set, err)
		}
	}
	if _, err := newKeySet(nil, start); !errors.Is(err, errNoKey) {
		t.Errorf("no keys: %v", err)
	}
}

// TestNeedsCode: a password is not enough for a user with a second factor, or of an organization that requires one.
func TestNeedsCode(t *testing.T) {
	for _, tt := range []struct{ exists, user, org, want bool }{
		{true, false, false, false}, {true, true, false, true}, {true, false, true, true}, {true, true, true, true},
		{false, false, true, false},
	} {
		a := attempt{user: store.User{SecondFactor: tt.user}, org: store.Org{SecondFactor: tt.org}}
		if tt.exists {
			a.user.UID = "u"
		}
		if got := a.needsCode(); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}

package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/regwarden/regwarden/internal/storage/seal"
	"github.com/regwarden/regwarden/secret"
)

func mustKeyring(t *testing.T) *seal.Keyring {
	t.Helper()
	ring, err := seal.NewKeyring()
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestDecryptRequiresSameLocation(t *testing.T) {
	ring := mustKeyring(t)
	part := rapid.SampledFrom([]string{"", "a", "b", "a|b", "|", "1:a", "1:a|0:"})
	location := rapid.Custom(func(r *rapid.T) seal.Location {
		return seal.Location{Table: part.Draw(r, "table"), Row: part.Draw(r, "row"), Org: part.Draw(r, "org"),
			Column: part.Draw(r, "column")}
	})
	rapid.Check(t, func(r *rapid.T) {
		encryptedAt, decryptedAt := location.Draw(r, "encrypted at"), location.Draw(r, "decrypted at")
		plain := []byte("a registry password")
		ciphertext, err := ring.Encrypt(plain, encryptedAt)
		if err != nil {
			r.Fatal(err)
		}
		decrypted, err := ring.Decrypt(ciphertext, decryptedAt)
		if encryptedAt == decryptedAt && !bytes.Equal(decrypted, plain) {
			r.Fatalf("is not decrypted at its own location: %v", err)
		}
		if encryptedAt != decryptedAt && !errors.Is(err, seal.ErrDamaged) {
			r.Fatalf("is decrypted at another location: %v", err)
		}
	})
}

// A keyed hash is the same after a rotation of the master key, and another for another purpose, text or keyring.
func TestMAC(t *testing.T) {
	ring, master := mustKeyring(t), seal.NewMasterKey()
	wrapped, err := ring.Wrap(master)
	if err != nil {
		t.Fatal(err)
	}
	again, err := seal.Unwrap(master, wrapped)
	if err != nil {
		t.Fatal(err)
	}
	mac := ring.MAC("a", []byte("bc"))
	if len(mac) != 32 || !bytes.Equal(mac, again.MAC("a", []byte("bc"))) {
		t.Errorf("%x after wrapping, %x before", again.MAC("a", []byte("bc")), mac)
	}
	for name, other := range map[string][]byte{"purpose and text": ring.MAC("ab", []byte("c")), "text": ring.MAC("a", []byte("b")),
		"keyring": mustKeyring(t).MAC("a", []byte("bc"))} {
		if bytes.Equal(mac, other) {
			t.Errorf("another %s has the same hash", name)
		}
	}
}

func TestDecryptRejectsDamagedValue(t *testing.T) {
	ring, at := mustKeyring(t), seal.Location{Table: "t", Row: "r", Column: "c"}
	ciphertext, err := ring.Encrypt([]byte("plain"), at)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ciphertext {
		broken := bytes.Clone(ciphertext)
		broken[i] ^= 1
		if _, err := ring.Decrypt(broken, at); !errors.Is(err, seal.ErrDamaged) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	if _, err := ring.Decrypt(nil, at); !errors.Is(err, seal.ErrDamaged) {
		t.Errorf("nothing opens: %v", err)
	}
}

func TestWrapAndUnwrap(t *testing.T) {
	ring, master := mustKeyring(t), seal.NewMasterKey()
	at := seal.Location{Table: "t", Row: "r", Column: "c"}
	ciphertext, err := ring.Encrypt([]byte("plain"), at)
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := ring.Wrap(master)
	if err != nil {
		t.Fatal(err)
	}
	again, err := seal.Unwrap(master, wrapped)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := again.Decrypt(ciphertext, at); err != nil || string(plain) != "plain" {
		t.Errorf("after unwrapping: %q, %v", plain, err)
	}
	if _, err := seal.Unwrap(seal.NewMasterKey(), wrapped); !errors.Is(err, seal.ErrWrongKey) {
		t.Errorf("another master key: %v", err)
	}
	if _, err := seal.Unwrap(master, wrapped[:len(wrapped)-1]); !errors.Is(err, seal.ErrWrongKey) {
		t.Errorf("cut off: %v", err)
	}
	if _, err := ring.Wrap(seal.MasterKey{}); err == nil {
		t.Error("wraps without a key")
	}
}

func TestMasterKeyFileIsCreatedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "master.key")
	if _, err := seal.LoadMasterKey(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	keys := make([]seal.MasterKey, 8)
	var wait sync.WaitGroup
	for i := range keys {
		wait.Go(func() {
			key, err := seal.LoadOrCreateMasterKey(path)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	wait.Wait()
	for _, key := range keys {
		if key != keys[0] || key.IsZero() {
			t.Error("two processes got two keys")
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestMasterKeyFileOfLaxModeIsRejected(t *testing.T) {
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o601, 0o644, 0o660} {
		path := filepath.Join(t.TempDir(), "master.key")
		if _, err := seal.LoadOrCreateMasterKey(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("master key file %s has mode %04o; run chmod 600 %[1]s", path, mode)
		if _, err := seal.LoadOrCreateMasterKey(path); !errors.Is(err, seal.ErrLaxMode) || err.Error() != want {
			t.Errorf("mode %o: %v, want %s", mode, err, want)
		}
	}
}

func TestMasterKeyTextIsNeverPrinted(t *testing.T) {
	const good = "c2V2ZW50ZWVuIHBsdXMgZmlmdGVlbiBpcyAzMiBieXQ="
	key, err := seal.ParseMasterKey(secret.String(" " + good + "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q"} {
		if out := fmt.Sprintf(verb, key); strings.Contains(out, good[:8]) {
			t.Errorf("%s shows the key: %s", verb, out)
		}
	}
	for _, bad := range []string{"", "x", good[:40], good + good, strings.Repeat("!", 44)} {
		if _, err := seal.ParseMasterKey(secret.String(bad)); err == nil ||
			(bad != "" && len(bad) > 8 && strings.Contains(err.Error(), bad)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestMACOfMasterKey(t *testing.T) {
	sum := func(key seal.MasterKey, purpose string) (code, id string) {
		mac, id, err := key.MAC(purpose)
		if err != nil {
			t.Fatal(err)
		}
		return string(mac.Sum(nil)), id
	}
	key := seal.NewMasterKey()
	code, id := sum(key, "a")
	for name, c := range map[string]struct {
		key     seal.MasterKey
		purpose string
		same    bool
	}{
		"the same":        {key, "a", true},
		"another purpose": {key, "b", false},
		"another key":     {seal.NewMasterKey(), "a", false},
	} {
		otherCode, otherID := sum(c.key, c.purpose)
		if (otherCode == code) != c.same || (otherID == id) != c.same {
			t.Errorf("%s: equal code %v, equal id %v", name, otherCode == code, otherID == id)
		}
	}
	if _, _, err := (seal.MasterKey{}).MAC("a"); err == nil {
		t.Error("a code without a key")
	}
}

package randomkey

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/secret"
)

// TestSpellingsOfAKey: a key has one text. Nothing shorter or longer, and no other spelling of the same bytes, is one.
func TestSpellingsOfAKey(t *testing.T) {
	key, hash := New("test_")
	if got, ok := Hash("test_", key); !ok || string(got) != string(hash) {
		t.Errorf("the key itself: %t", ok)
	}
	for i := len("test_"); i < len(key); i++ {
		for _, other := range "abcdefghijklmnopqrstuvwxyz234567ABCXYZ0189=-_ \n" {
			changed := key[:i] + secret.String(other) + key[i+1:]
			if _, ok := Hash("test_", changed); ok != (changed == key) {
				t.Errorf("%c at %d: %t", other, i, ok)
			}
		}
		if _, ok := Hash("test_", key[:i]); ok {
			t.Errorf("the first %d characters are a key", i)
		}
	}
	for _, changed := range []secret.String{"", "test_", key[5:], "best_" + key[5:], key + "a", key + "\n",
		secret.String(strings.ToUpper(key.Reveal()))} {
		if _, ok := Hash("test_", changed); ok {
			t.Errorf("%q is a key", changed.Reveal())
		}
	}
}

package passwordhash

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/service/hashing"
	"github.com/regwarden/regwarden/secret"
)

const goodPassword = "nine purple ducks on ice"

var cheap = Cost{MemoryKiB: 64, Time: 1, Parallelism: 1}

func TestRealCostRoundTrip(t *testing.T) {
	passwords := New(DefaultCost, hashing.Compute)
	hashed, err := passwords.Hash(goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hashed, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("got %s", hashed)
	}
	for password, want := range map[secret.String]bool{goodPassword: true, goodPassword + " ": false,
		"nine purple ducks on Ice": false, "": false} {
		if matches, again, err := passwords.Verify(password, hashed); matches != want || again != hashed || err != nil {
			t.Errorf("%q: %v, %v, changed %v", password.Reveal(), matches, err, again != hashed)
		}
	}
}

// TestForeignHash verifies a hash of another implementation: the test vector of the reference implementation for
// argon2id, v=19, t=2, m=65536, p=1.
func TestForeignHash(t *testing.T) {
	const reference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if matches, _, err := New(DefaultCost, hashing.Compute).Verify("password", reference); !matches || err != nil {
		t.Errorf("%v, %v", matches, err)
	}
}

func TestPasswordsAreComparedCompletelyAndInNFC(t *testing.T) {
	passwords := New(cheap, hashing.Compute)
	long := strings.Repeat("x", 1023)
	for _, row := range []struct {
		set, tried secret.String
		matches    bool
	}{
		{"caf\u00e9 in the morning", "cafe\u0301 in the morning", true},
		{"caf\u00e9 in the morning", "cafe in the morning", false},
		{"\ufb01fteen characters", "fifteen characters", false}, // NFKC would make them equal
		{secret.String(long + "a"), secret.String(long + "b"), false},
	} {
		hashed, err := passwords.Hash(row.set)
		if err != nil {
			t.Fatal(err)
		}
		if matches, _, err := passwords.Verify(row.tried, hashed); matches != row.matches || err != nil {
			t.Errorf("%+q against %+q: %v, %v", row.tried.Reveal(), row.set.Reveal(), matches, err)
		}
	}
}

func TestAWeakerHashIsUpgradedOnlyByTheRightPassword(t *testing.T) {
	weak, err := New(cheap, hashing.Compute).Hash(goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	stronger := Cost{MemoryKiB: 128, Time: 2, Parallelism: 1}
	passwords := New(stronger, hashing.Compute)
	if matches, again, err := passwords.Verify("wrong", weak); matches || again != weak || err != nil {
		t.Errorf("wrong password: %v, %v, changed %v", matches, err, again != weak)
	}
	matches, again, err := passwords.Verify(goodPassword, weak)
	if !matches || err != nil || !strings.Contains(again, stronger.String()) {
		t.Fatalf("right password: %v, %v, %s", matches, err, again)
	}
	if matches, once, err := passwords.Verify(goodPassword, again); !matches || err != nil || once != again {
		t.Errorf("upgraded: %v, %v, changed %v", matches, err, once != again)
	}
}

func TestDamagedHashesAreRefusedBeforeHashing(t *testing.T) {
	const salt, tag = "c29tZXNhbHQ", "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	for _, text := range []string{
		"", "x", "$argon2id$v=19$m=65536,t=2,p=1$" + salt, "$argon2i$v=19$m=65536,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=16$m=65536,t=2,p=1$" + salt + "$" + tag, "$argon2id$v=19$m=65536,t=2$" + salt + "$" + tag,
		"$argon2id$v=19$m=4294967295,t=2,p=1$" + salt + "$" + tag, "$argon2id$v=19$m=65536,t=0,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=65536,t=2,p=1,x=1$" + salt + "$" + tag, "$argon2id$v=19$m=65536,t=2,p=1$" + salt + "$" + tag + "=",
		"$argon2id$v=19$m=65536,t=2,p=1$$" + tag, "$argon2id$v=19$m=65536,t=2,p=1$" + salt + "$", "$2b$10$abcdefghijklmnopqrstuv",
		"$argon2id$v=19$m=065536,t=2,p=1$" + salt + "$" + tag, " $argon2id$v=19$m=65536,t=2,p=1$" + salt + "$" + tag,
	} {
		if h, err := Parse(text); err == nil {
			t.Errorf("%q is parsed as %+v", text, h)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc")
	f.Add("$argon2id$v=19$m=8,t=1,p=1$$")
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := Parse(text); err == nil && h.String() != text {
			t.Errorf("%q is parsed as %q", text, h)
		}
	})
}

// TestLengthsOfStoredHashes: salts and hashes of other implementations have other lengths, within bounds.
func TestLengthsOfStoredHashes(t *testing.T) {
	for _, tt := range []struct {
		salt, tag int
		ok        bool
	}{{8, 16, true}, {64, 64, true}, {7, 32, false}, {65, 32, false}, {16, 15, false}, {16, 65, false}} {
		text := PHC{Cost: cheap, salt: make([]byte, tt.salt), tag: make([]byte, tt.tag)}.String()
		if _, err := Parse(text); (err == nil) != tt.ok {
			t.Errorf("%d and %d bytes: %v", tt.salt, tt.tag, err)
		}
	}
}

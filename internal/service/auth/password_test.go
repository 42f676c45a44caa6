package auth

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/secret"
)

func mustPasswords(t *testing.T, cost argonCost) *Passwords {
	t.Helper()
	config, err := Config{hashCost: cost}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return newPasswords(config)
}

func TestRealCostRoundTrip(t *testing.T) {
	passwords := mustPasswords(t, argonCost{})
	hashed, err := passwords.Hash(t.Context(), "org", goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hashed, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("got %s", hashed)
	}
	for password, want := range map[secret.String]bool{goodPassword: true, goodPassword + " ": false, "nine purple ducks on Ice": false, "": false} {
		if matches, again, err := passwords.verify(password, hashed); matches != want || again != hashed || err != nil {
			t.Errorf("%q: %v, %v, changed %v", password.Reveal(), matches, err, again != hashed)
		}
	}
}

// TestForeignHash verifies a hash of another implementation: the test vector of the reference implementation for
// argon2id, v=19, t=2, m=65536, p=1.
func TestForeignHash(t *testing.T) {
	const reference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if matches, _, err := mustPasswords(t, argonCost{}).verify("password", reference); !matches || err != nil {
		t.Errorf("%v, %v", matches, err)
	}
}

func TestPasswordsAreComparedCompletelyAndInNFC(t *testing.T) {
	passwords := mustPasswords(t, cheap)
	long := strings.Repeat("x", maxPasswordBytes-1)
	for _, row := range []struct {
		set, tried secret.String
		matches    bool
	}{
		{"caf\u00e9 in the morning", "cafe\u0301 in the morning", true},
		{"caf\u00e9 in the morning", "cafe in the morning", false},
		{"\ufb01fteen characters", "fifteen characters", false}, // NFKC would make them equal
		{secret.String(long + "a"), secret.String(long + "b"), false},
	} {
		hashed, err := passwords.Hash(t.Context(), "org", row.set)
		if err != nil {
			t.Fatal(err)
		}
		if matches, _, err := passwords.verify(row.tried, hashed); matches != row.matches || err != nil {
			t.Errorf("%+q against %+q: %v, %v", row.tried.Reveal(), row.set.Reveal(), matches, err)
		}
	}
}

func TestAWeakerHashIsUpgradedOnlyByTheRightPassword(t *testing.T) {
	weak, err := mustPasswords(t, cheap).Hash(t.Context(), "org", goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	stronger := argonCost{MemoryKiB: 128, Time: 2, Parallelism: 1}
	passwords := mustPasswords(t, stronger)
	if matches, again, err := passwords.verify("wrong", weak); matches || again != weak || err != nil {
		t.Errorf("wrong password: %v, %v, changed %v", matches, err, again != weak)
	}
	matches, again, err := passwords.verify(goodPassword, weak)
	if !matches || err != nil || !strings.Contains(again, stronger.String()) {
		t.Fatalf("right password: %v, %v, %s", matches, err, again)
	}
	if matches, once, err := passwords.verify(goodPassword, again); !matches || err != nil || once != again {
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
		if h, err := parsePHC(text); err == nil {
			t.Errorf("%q is parsed as %+v", text, h)
		}
	}
}

func FuzzParsePHC(f *testing.F) {
	f.Add("$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc")
	f.Add("$argon2id$v=19$m=8,t=1,p=1$$")
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := parsePHC(text); err == nil && h.String() != text {
			t.Errorf("%q is parsed as %q", text, h)
		}
	})
}

func TestNewPasswords(t *testing.T) {
	passwords := mustPasswords(t, cheap)
	for password, fine := range map[string]bool{
		"nine purple ducks on ice":        true,
		"correct horse battery":           true,
		"kM7#vQ2x!Lp9zR4w":                true,
		"pässwörter sind schwierig":       true,
		"これは十五文字以上の合言葉です":                 true,
		"b7f3e1c09a5d48e26f0b":            true,
		"short":                           false,
		"fourteen chars":                  false,
		"ada@example.com":                 false,
		"Ada@Example.com ada@example.com": false,
		"analytical engines":              false,
		"RegWarden-Regwarden":             false,
		"passwordpassword":                false,
		"Password1234567!":                false,
		"P@ssw0rdP@ssw0rd":                false,
		"123456789012345":                 false,
		"aaaaaaaaaaaaaaaaaaaa":            false,
		"abcabcabcabcabcabc":              false,
		"qwertyuiopasdfgh":                false,
		"1qaz2wsx3edc4rfv":                false,
		"zyxwvutsrqponmlkj":               false,
		"welcome2024welcome2025":          false,
		"admin admin admin admin":         false,
		"                    ":            false,
		"letmein letmein2026!":            false,
		"20251999freedom":                 false,
		"administrator-Adm1n1strator":     false,
		"":                                false,
		"with a trailing newline\n":       false,
		"nul\x00 in the middle of it":     false,
		"not \xff valid in UTF-8 at all":  false,
		strings.Repeat("long ", 205):      false,
	} {
		problems := passwords.Problems("newPassword", secret.String(password), "ada@example.com", "Analytical Engines")
		if fine != (len(problems) == 0) {
			t.Errorf("%q: %v", password, problems)
		}
		for _, problem := range problems {
			if problem.Field != "newPassword" || problem.Problem == "" || (password != "" && strings.Contains(problem.Problem, password)) {
				t.Errorf("%q: %+v", password, problem)
			}
		}
	}
}

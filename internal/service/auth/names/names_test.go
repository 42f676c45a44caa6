package names

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCanonicalJoinsSpellings(t *testing.T) {
	for _, spellings := range [][]string{
		{"ada@example.com", "ADA@Example.COM", "  ada@example.com\t", "ａｄａ@example.com", "\u00a0ada@example.com"},
		{"josé", "jose\u0301", "JOSÉ", "JOSE\u0301"},
		{"straße", "STRASSE", "strasse"},
		{"kelvin", "\u212aelvin", "KELVIN"},
		{"office", "o\ufb03ce"},
		{"", " ", "\u3000"},
	} {
		for _, spelling := range spellings {
			if got := Canonical(spelling); got != Canonical(spellings[0]) {
				t.Errorf("%q gives %q, %q gives %q", spelling, got, spellings[0], Canonical(spellings[0]))
			}
		}
	}
	if Canonical("ada@example.com") == Canonical("adа@example.com") { // the second has a Cyrillic letter
		t.Error("different letters have one canonical form")
	}
}

func TestCanonicalIsStable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		once := Canonical(rapid.String().Draw(r, "name"))
		if twice := Canonical(once); twice != once {
			r.Fatalf("%q becomes %q", once, twice)
		}
		if again := Canonical(strings.ToUpper(once)); again != Canonical(strings.ToUpper(again)) {
			r.Fatalf("%q becomes %q", again, Canonical(strings.ToUpper(again)))
		}
	})
}

// TestCanonicalIsStableForEveryCharacterItChanges tests each character alone and with marks that fold or compose.
func TestCanonicalIsStableForEveryCharacterItChanges(t *testing.T) {
	changed := 0
	for r := rune(0); r <= 0x2ffff; r++ {
		if Canonical(string(r)) == string(r) {
			continue
		}
		changed++
		for _, name := range []string{string(r), "a" + string(r) + "\u0345", string(r) + "\u0301"} {
			if once := Canonical(name); Canonical(once) != once {
				t.Fatalf("%+q becomes %+q, then %+q", name, once, Canonical(once))
			}
		}
	}
	if changed < 5000 {
		t.Errorf("only %d characters are changed: too few for this test", changed)
	}
}

func TestNamesAndEmails(t *testing.T) {
	for email, fine := range map[string]bool{
		"a@b": true, "ada@example.com": true, "ada+x@example.com": true, "jörg@bücher.example": true,
		"": false, "ada": false, "@b": false, "a@": false, "a@b@c": false, "a b@c": false, "a@b\u200b": false, "a@b\n": false,
		"a@" + strings.Repeat("b", 255): false, "a\xff@b": false,
	} {
		if problem := EmailProblem(email); (problem == "") != fine {
			t.Errorf("%q: %q", email, problem)
		}
	}
	for name, fine := range map[string]bool{
		"Default": true, "My Org": true, "Ünïcode 組織": true, strings.Repeat("x", 256): true,
		"": false, "  ": false, "a\u202eb": false, "a\x00b": false, strings.Repeat("x", 257): false, "\xff": false,
		strings.Repeat("\ufdfa", 60): false, // 180 bytes that become 33 each
	} {
		if problem := NameProblem(name); (problem == "") != fine {
			t.Errorf("%q: %q", name, problem)
		}
	}
}

// Users whose names differ only by one of these characters look the same to an administrator.
func TestNamesThatLookAlikeAreRefused(t *testing.T) {
	for _, r := range []rune{
		0x00ad, 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180e, 0x180f, 0x200b, 0x200d, 0x202e,
		0x2060, 0x2065, 0x206f, 0x2800,
		0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0x1bca0, 0x1d173, 0xe0001, 0xe0100, 0xe01ef, 0x0378, 0xe000, 0xffff, 0x10ffff,
	} {
		if NameProblem("ada"+string(r)) == "" || EmailProblem("ada"+string(r)+"@example.com") == "" {
			t.Errorf("U+%04X is accepted", r)
		}
	}
	for _, name := range []string{"Ünïcode 組織", "नमस्ते", "한국어", "العربية", "ไทย", "😀 team"} {
		if problem := NameProblem(name); problem != "" {
			t.Errorf("%q: %s", name, problem)
		}
	}
}

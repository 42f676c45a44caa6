package passwordrules

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/secret"
)

// TestFormOfPasswords has texts that cannot be a password, and the longest one.
func TestFormOfPasswords(t *testing.T) {
	for text, ok := range map[string]bool{
		"": false, "x": true, strings.Repeat("x", 1024): true, strings.Repeat("x", 1025): false, "\xff": false, "a\n": false, "a b": true,
	} {
		if problem := FormProblem(secret.String(text)); (problem == "") != ok {
			t.Errorf("%d bytes: %q", len(text), problem)
		}
	}
}

// TestBlockedParts counts the different characters outside of words, years and rows of keys.
func TestBlockedParts(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "password": 0, "P4$$w0rd": 0, "1900": 0, "2099": 0, "2100": 1, "1899": 3, "qwe ewq": 0, "qw": 2, "secretxyzzy!": 3,
		"aaaa": 1,
	} {
		if got := unpredictableChars(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if predictable("password vwmtk") || !predictable("password vwmt") {
		t.Error("five characters outside are not the least")
	}
}

// TestProblemsOfNewPasswords has each rule on both sides of its bound.
func TestProblemsOfNewPasswords(t *testing.T) {
	for _, tt := range []struct {
		text string
		ok   bool
	}{
		{"purple ducks on", true}, {"purple ducks o", false}, {"caf\u00e9 purple duck", true}, {"cafe\u0301 purple du", false},
		{"regwarden-regwarden", false}, {"ADA.lovelace_ada.lovelace", false}, {"ada lovelace and ducks", true},
		{"passwordpassword", false}, {strings.Repeat("x", 1025), false},
	} {
		if problems := Problems("new", secret.String(tt.text), "Ada.Lovelace", "ada lovelace", ""); (len(problems) == 0) != tt.ok {
			t.Errorf("%q: %v", tt.text, problems)
		}
	}
}

package passwordpolicy

import (
	"strings"
	"testing"
	"time"
)

// Each part of a policy refuses a password that lacks it, and a regular expression replaces the parts.
func TestProblem(t *testing.T) {
	for _, tt := range []struct {
		policy   Policy
		password string
		want     string // part of the problem; empty for none
	}{
		{Policy{}, "nine geese across the marsh", ""},
		{Policy{MinLength: 20}, "äöü", "20 characters"},
		{Policy{MinLength: 3}, "äöü", ""}, // characters, not bytes
		{Policy{MinLength: 4}, "a\u0308o\u0308u\u0308", "it has 3"},
		{Policy{MaxLength: 64}, strings.Repeat("x", 65), "at most 64"},
		{Policy{Digits: 2}, "geese 7", "2 digits"},
		{Policy{Digits: 2}, "geese 77", ""},
		{Policy{BlockLetters: 1}, "geese", "upper case"},
		{Policy{BlockLetters: 1}, "Äpfel", ""},
		{Policy{SmallLetters: 1}, "GEESE", "lower case"},
		{Policy{Special: 1}, "geese7", "special"},
		{Policy{Special: 1}, "geese-", ""},
		{Policy{Regex: "^[a-z ]+$", MinLength: 99}, "nine geese", ""},
		{Policy{Regex: "^[a-z ]+$"}, "Nine geese", "regular expression"},
	} {
		got := tt.policy.Problem(tt.password)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%+v %q: %q", tt.policy, tt.password, got)
		}
	}
}

// A policy that no password could meet, or that cannot be evaluated, is refused.
func TestPoliciesThatCannotBe(t *testing.T) {
	for field, policy := range map[string]Policy{"regex": {Regex: "(?=a)b"}, "minLength": {MinLength: 65}, "maxLength": {MaxLength: 20},
		"minNumOfDigits": {Digits: -1}, "expiryDurationInDays": {ExpiryDays: 1001}, "firstReminderInDays": {ReminderDays: -1},
		"minNumOfSpecialCharacters": {Special: 99}, "minNumOfSmallLetters": {SmallLetters: 65},
		"minNumOfBlockLetters": {BlockLetters: 65}} {
		if problems := policy.Problems(); len(problems) != 1 || problems[0].Field != field {
			t.Errorf("%s: %v", field, problems)
		}
	}
	whole := Policy{MinLength: 20, MaxLength: 64, Digits: 1, SmallLetters: 1, BlockLetters: 1, Special: 1, ExpiryDays: 90, ReminderDays: 5}
	if problems := whole.Problems(); problems != nil {
		t.Error(problems)
	}
	text, err := whole.Text()
	if again, errOf := Of(text); again != whole || err != nil || errOf != nil {
		t.Errorf("%+v %v %v", again, err, errOf)
	}
}

// A password expires after whole days, and never without a policy.
func TestExpired(t *testing.T) {
	set := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]bool{0: false, 30*24*time.Hour - time.Second: false, 30 * 24 * time.Hour: true} {
		if got := (Policy{ExpiryDays: 30}).Expired(set, set.Add(after)); got != want {
			t.Errorf("%s: %t", after, got)
		}
	}
	if (Policy{}).Expired(time.Time{}, set) {
		t.Error("expired without a policy")
	}
}

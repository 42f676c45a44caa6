// Package passwordpolicy has what an organization requires of passwords in addition to the rules for all.
package passwordpolicy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/secret"
)

// Limits of a policy.
const (
	maxRegex = 1024
	maxDays  = 1000
	maxCount = 64
	// leastMaxLength is the smallest maximum: passphrases must stay possible (SP 800-63B-4 section 3.1.1.2).
	leastMaxLength = 64
	maxLength      = 1024 // bytes of any password
)

// Policy is the policy of an organization. Its fields are stored by these names. Zero requires nothing.
type Policy struct {
	Regex        string `json:"regex,omitempty"` // replaces the numbers of characters
	MinLength    int    `json:"minLength,omitempty"`
	MaxLength    int    `json:"maxLength,omitempty"`
	Digits       int    `json:"digits,omitempty"` // at least
	SmallLetters int    `json:"smallLetters,omitempty"`
	BlockLetters int    `json:"blockLetters,omitempty"`
	Special      int    `json:"special,omitempty"`
	ExpiryDays   int    `json:"expiryDays,omitempty"`   // a password expires so long after it was set; 0: never
	ReminderDays int    `json:"reminderDays,omitempty"` // how long before that the user sees it; 0: always
}

// Of returns the policy of a stored text, which is empty for an organization that has none.
func Of(text string) (p Policy, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &p)
	}
	return p, err
}

// Text returns the policy as it is stored.
func (p Policy) Text() (string, error) {
	text, err := json.Marshal(p)
	return string(text), err
}

// Problems lists what cannot be required, by the names of the fields in Palette's API.
func (p Policy) Problems() (problems []fault.Field) {
	if _, err := regexp.Compile(p.Regex); err != nil || len(p.Regex) > maxRegex {
		problems = fault.FieldProblem("regex", "must be a regular expression of RE2, without look-ahead, of at most 1,024 bytes")
	}
	for _, number := range []struct {
		field       string
		given, most int
	}{{"minLength", p.MinLength, maxCount}, {"minNumOfDigits", p.Digits, maxCount}, {"minNumOfSmallLetters", p.SmallLetters, maxCount},
		{"minNumOfBlockLetters", p.BlockLetters, maxCount}, {"minNumOfSpecialCharacters", p.Special, maxCount},
		{"expiryDurationInDays", p.ExpiryDays, maxDays}, {"firstReminderInDays", p.ReminderDays, maxDays}} {
		if number.given < 0 || number.given > number.most {
			problems = append(problems, fault.Field{Field: number.field, Problem: fmt.Sprintf("must be 0–%d", number.most)})
		}
	}
	if p.MaxLength != 0 && (p.MaxLength < leastMaxLength || p.MaxLength > maxLength) {
		problems = append(problems, fault.Field{Field: "maxLength",
			Problem: fmt.Sprintf("must be %d–%d, or 0 for no maximum", leastMaxLength, maxLength)})
	}
	return problems
}

// Problem returns why a text cannot be a password, "" if it can.
func (p Policy) Problem(password string) string {
	text := norm.NFC.String(password)
	if p.Regex != "" {
		if pattern, err := regexp.Compile(p.Regex); err != nil || !pattern.MatchString(text) {
			return "must match the regular expression of the organization's policy: " + p.Regex
		}
		return ""
	}
	n := utf8.RuneCountInString(text)
	switch {
	case n < p.MinLength:
		return fmt.Sprintf("must have at least %d characters by the policy of the organization; it has %d", p.MinLength, n)
	case p.MaxLength > 0 && n > p.MaxLength:
		return fmt.Sprintf("must have at most %d characters by the policy of the organization; it has %d", p.MaxLength, n)
	}
	for _, class := range []struct {
		name  string
		least int
		is    func(rune) bool
	}{{"digits", p.Digits, unicode.IsDigit}, {"lower case letters", p.SmallLetters, unicode.IsLower},
		{"upper case letters", p.BlockLetters, unicode.IsUpper}, {"special characters", p.Special, isSpecial}} {
		has := 0
		for _, r := range text {
			if class.is(r) {
				has++
			}
		}
		if has < class.least {
			return fmt.Sprintf("must have at least %d %s by the policy of the organization; it has %d", class.least, class.name, has)
		}
	}
	return ""
}

// isSpecial reports whether a character is neither a letter nor a digit.
func isSpecial(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// Check returns a fault, with the name of a field, unless a password can be set by a stored policy.
func Check(stored, field string, password secret.String) error {
	policy, err := Of(stored)
	if err != nil {
		return err
	}
	if problem := policy.Problem(password.Reveal()); problem != "" {
		return fault.InvalidField(field, problem)
	}
	return nil
}

// Expired reports whether a password that was set at that time has expired.
func (p Policy) Expired(set, now time.Time) bool {
	at := p.Expiry(set)
	return !at.IsZero() && !now.Before(at)
}

// Expiry returns when a password that was set at that time expires, the zero time for never.
func (p Policy) Expiry(set time.Time) time.Time {
	if p.ExpiryDays == 0 {
		return time.Time{}
	}
	return set.Add(days(p.ExpiryDays))
}

// Reminds reports whether a user is to see that a password expires at that time.
func (p Policy) Reminds(expiry, now time.Time) bool {
	return !expiry.IsZero() && (p.ReminderDays == 0 || !now.Before(expiry.Add(-days(p.ReminderDays))))
}

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

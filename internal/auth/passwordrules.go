package auth

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/secret"
)

const (
	minPasswordRunes = 15 // SP 800-63B-4 section 3.1.1.2, for a password that is the only factor
	minSurprises     = 5  // characters of it that no pattern below explains
	product          = "regwarden"
)

// Problems lists what is wrong with a new password, under the given field name. names are what it must
// not be: e-mail, organization. There are no rules of composition (63B-4 forbids them).
func (p *Passwords) Problems(field string, password secret.String, names ...string) []fault.Field {
	if problem := passwordProblem(password); problem != "" {
		return fieldIf(field, problem)
	}
	text := norm.NFC.String(password.Reveal())
	if n := utf8.RuneCountInString(text); n < minPasswordRunes {
		return fieldIf(field, fmt.Sprintf("has %d characters; a new password needs %d at least", n, minPasswordRunes))
	}
	for _, name := range append(names, product) {
		if repeats(Canonical(text), Canonical(name)) {
			return fieldIf(field, "is the e-mail, the organization or the product's name")
		}
	}
	if surprises(text) < minSurprises {
		return fieldIf(field, "is made of common words, repetitions or rows of keys, and so easy to guess")
	}
	return nil
}

// repeats tells whether text is name once or several times, with separators or not.
func repeats(text, name string) bool {
	return name != "" && strings.Trim(strings.ReplaceAll(text, name, ""), " .-_") == ""
}

// Common passwords that are long enough to be taken are put together from few parts: these words, years,
// and rows of the keyboard, the alphabet or the digits, repeated. So the parts are listed and not the
// passwords.
var (
	commonWords = []string{
		"password", "passwort", "motdepasse", "contrasena", "passwd", "pass", "word", "letmein", "welcome", "willkommen",
		"admin", "administrator", "root", "user", "login", "signin", "secret", "geheim", "changeme", "change", "default",
		"test", "temp", "guest", "master", "superman", "batman", "dragon", "monkey", "shadow", "sunshine", "princess",
		"football", "baseball", "iloveyou", "love", "hello", "freedom", "whatever", "trustno", "starwars", "computer",
		"internet", "server", "docker", "harbor", "registry", "kubernetes", "cloud", "company", "summer", "winter",
		"spring", "autumn", "monday", "friday", "january", "december", "mustang", "michael", "jordan", "please",
	}
	keyRows = []string{
		"abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm",
		"azertyuiop", "qsdfghjklm", "wxcvbn", "1qaz2wsx3edc4rfv5tgb", "q1w2e3r4t5y6", "!@#$%^&*()", "!\"§$%&/()=",
	}
)

const shortestRow = 3

// disguises are the usual stand-ins for letters.
var disguises = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// surprises counts the characters of a password that no pattern explains: it goes through the text and
// takes off the longest pattern at each place. A character that was there before counts once: a
// repetition surprises nobody.
func surprises(password string) int {
	text := []rune(strings.ToLower(password))
	seen, count := map[rune]bool{}, 0
	for i := 0; i < len(text); {
		if n := explained(text[i:]); n > 0 {
			i += n
			continue
		}
		if r := text[i]; !seen[r] && !unicode.IsSpace(r) {
			seen[r] = true
			count++
		}
		i++
	}
	return count
}

// explained returns how many characters at the head of text are one pattern, 0 for none.
func explained(text []rune) int {
	head := string(text[:min(len(text), 32)])
	longest := 0
	for _, word := range commonWords {
		if strings.HasPrefix(head, word) || strings.HasPrefix(disguises.Replace(head), word) {
			longest = max(longest, len(word))
		}
	}
	return max(longest, yearLength(text), rowLength(head))
}

// rowLength is the length of the row of keys, forwards or backwards, at the head of text.
func rowLength(head string) int {
	text, longest := []rune(head), 0
	for _, row := range keyRows {
		keys := []rune(row)
		for _, step := range []int{1, -1} {
			for start := range keys {
				n := 0
				for at := start; n < len(text) && at >= 0 && at < len(keys) && keys[at] == text[n]; at += step {
					n++
				}
				longest = max(longest, n)
			}
		}
	}
	if longest < shortestRow {
		return 0
	}
	return longest
}

// yearLength is 4 when text begins with a year between 1900 and 2099.
func yearLength(text []rune) int {
	if len(text) < 4 || !unicode.IsDigit(text[2]) || !unicode.IsDigit(text[3]) {
		return 0
	}
	if century := string(text[:2]); century == "19" || century == "20" {
		return 4
	}
	return 0
}

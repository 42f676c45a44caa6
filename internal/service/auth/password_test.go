package auth

import (
	"strings"
	"testing"

	"github.com/regwarden/regwarden/secret"
)

func TestNewPasswords(t *testing.T) {
	passwords := &Passwords{}
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
		"xyziopjklbnmxyz":                 false,
		"wombgwombgwombg":                 true, // five different characters
		"wombwombwombwomb":                false,
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

package scanner

import "testing"

func TestIsTemplate(t *testing.T) {
	for text, want := range map[string]bool{
		"{{ .Values.a }}": true, "a{%b": true, "<%= a": true, "a ${B}": true, "$(B)": true, "$B_1": true, "ref+vault://a": true,
		"$A://$B": true, "https://$B/a": true, "https://a.$B:5000": true, "https://a:$B/a": true, "https://a.((b))/c": true,
		"%%A%%:5000": true, "https://u$B:p@a": false, "https://u:$B@a": false, "https://a/$B": false,
		`{"https://a":{"username":"robot$b","password":"/"}}`: false,
		"": false, "$": false, "$1": false, "$B-a": false, "a$B": false, "$B\n": false, "a ref+b": false, "{ {": false, "a%b<c$d(": false,
	} {
		if got := IsTemplate(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestVariablesAndMasks are parts such as ${NAME}, and the asterisks that an API returns for a secret.
func TestVariablesAndMasks(t *testing.T) {
	for text, want := range map[string][2]bool{"a${B}": {true, false}, "${B": {false, false}, "B}": {false, false}, "***": {false, true},
		"********": {false, true}, "**": {false, false}, "*a*": {false, false}, "": {false, false}} {
		if got := [2]bool{HasVariable(text), IsMask(text)}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

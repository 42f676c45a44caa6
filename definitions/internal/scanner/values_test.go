package scanner

import "testing"

func TestIsTemplate(t *testing.T) {
	for text, want := range map[string]bool{
		"{{ .Values.a }}": true, "a{%b": true, "<%= a": true, "a ${B}": true, "$(B)": true, "$B_1": true, "ref+vault://a": true,
		"": false, "$": false, "$1": false, "$B-a": false, "a$B": false, "$B\n": false, "a ref+b": false, "{ {": false, "a%b<c$d(": false,
	} {
		if got := IsTemplate(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

package inspect

import (
	"strings"
	"testing"
)

func TestMistakes(t *testing.T) {
	for _, test := range []struct {
		value                 string
		template, placeholder bool
	}{
		{"", false, false},
		{"s3cret$", false, false},
		{"pa$$word", false, false},
		{"${TOKEN}", true, false},
		{"$TOKEN", true, false},
		{"a$TOKEN", false, false},
		{"{{ .Values.token }}", true, false},
		{"$(cat token)", true, false},
		{"%TOKEN%", true, false},
		{"<your password>", false, true},
		{"[token]", false, true},
		{"change-me", false, true},
		{"Your_Password", false, true},
		{"xxxx", false, true},
		{"********", false, true},
		{"xx", false, false},
		{"correct horse", false, false},
	} {
		if IsTemplate(test.value) != test.template || IsPlaceholder(test.value) != test.placeholder {
			t.Errorf("%q: template %v, placeholder %v", test.value, IsTemplate(test.value), IsPlaceholder(test.value))
		}
	}
	for value, want := range map[string]string{"": "", "a": "", "a b": "", "a\n": "newline", "a\r\n": "newline", " a": "begins",
		"a\t": "ends", "  ": "only"} {
		if got := WhiteSpace(value); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q", value, got)
		}
	}
}

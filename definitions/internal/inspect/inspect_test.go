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
		{"%%TOKEN%%", true, false},
		{"@@token@@", true, false},
		{"__API__", true, false},
		{"#{token}#", true, false},
		{"((token))", true, false},
		{"a((/secrets/token))b", true, false},
		{"(@= data.values.token @)", true, false},
		{"100%%", false, false},
		{"a__b__c", false, false},
		{"%%a@@b__C#{d}((e", false, false},
		{"a((1))", false, false},
		{"(@home)", false, false},
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

func TestBase64Placeholders(t *testing.T) {
	for value, want := range map[string]bool{"CHANGEME": true, "REPLACE_ME": true, "<base64>": true, "YOUR_AUTH_HERE": true,
		"your-base64-auth": true, "replace with the real one": true, "DOCKER_AUTH": true,
		"dTpw": false, "ABCD": false, "my-own-password": false, "base64string": false, "A_": false, "your-pa$$word": false} {
		if IsBase64Placeholder(value) != want {
			t.Errorf("%q: %v", value, !want)
		}
	}
}

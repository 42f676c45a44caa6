package inspect

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func jwt(claims string) string {
	return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func at(d time.Duration) int64 { return now.Add(d).Unix() }

func TestExpiry(t *testing.T) {
	const day = 24 * time.Hour
	ecr := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"payload": "x", "expiration": %d}`, at(5*time.Hour)))
	for _, test := range []struct{ username, secret, want string }{
		{"u", "pw", ""},
		{"u", "a.b.c", ""},
		{"u", jwt(`{"sub": "x"}`), ""},
		{"u", jwt(`{"exp": "soon"}`), ""},
		{"u", jwt(`{"exp": 1e300}`), ""},
		{"u", jwt(fmt.Sprintf(`{"exp": %d}`, at(365*day))), ""},
		{"u", jwt(fmt.Sprintf(`{"exp": %d, "iat": %d}`, at(2*day), at(-365*day))), ""},
		{"u", jwt(fmt.Sprintf(`{"exp": %d}`, at(3*time.Hour))), "The token expires in 3 hours, at 2026-06-01 15:00 UTC."},
		{"u", jwt(fmt.Sprintf(`{"exp": %d}`, at(0))), "The token expired less than 2 minutes ago"},
		{"u", jwt(fmt.Sprintf(`{"exp": %d, "iat": %d}`, at(-2*day), at(-900*day))), "The token expired 2 days ago, at 2026-05-30 12:00 UTC."},
		{"00000000-0000-0000-0000-000000000000", jwt(fmt.Sprintf(`{"exp": %d}`, at(-90*time.Minute))), "An Azure Container Registry token expired 90 minutes ago"},
		{"AWS", ecr, "An Amazon ECR password expires in 5 hours"},
		{"AWS", "pw", "An Amazon ECR password is valid for 12 hours."},
		{"oauth2accesstoken", "ya29.x", "A Google access token is valid for 60 minutes."},
		{"gitlab-ci-token", "x", "A GitLab job token is valid for only as long as its job runs."},
		{"u", "glcbt-" + jwt(fmt.Sprintf(`{"exp": %d}`, at(-day))), "A GitLab job token expired 24 hours ago"},
		{"u", "ghs_x", "A GitHub Actions token is valid for only as long as its job runs."},
	} {
		got := Expiry(test.username, test.secret, now)
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s, %s: %q, want %q", test.username, test.secret, got, test.want)
		}
		if len(test.secret) > 5 && strings.Contains(got, test.secret) {
			t.Errorf("%q shows the secret", got)
		}
	}
}

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
	for value, want := range map[string]string{"": "", "a": "", "a b": "", "a\n": "newline", "a\r\n": "newline", " a": "begins", "a\t": "ends", "  ": "only"} {
		if got := WhiteSpace(value); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q", value, got)
		}
	}
}

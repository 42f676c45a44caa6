package expiry

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func jwt(claims string) string {
	return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func at(d time.Duration) int64 { return now.Add(d).Unix() }

func TestShortLived(t *testing.T) {
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
		{"u", jwt(fmt.Sprintf(`{"exp": %d, "iat": %d}`, at(-2*day), at(-900*day))),
			"The token expired 2 days ago, at 2026-05-30 12:00 UTC."},
		{"00000000-0000-0000-0000-000000000000", jwt(fmt.Sprintf(`{"exp": %d}`, at(-90*time.Minute))),
			"An Azure Container Registry token expired 90 minutes ago"},
		{"AWS", ecr, "An Amazon ECR password expires in 5 hours"},
		{"AWS", "pw", "An Amazon ECR password is valid for 12 hours."},
		{"oauth2accesstoken", "ya29.x", "A Google access token is valid for 60 minutes."},
		{"gitlab-ci-token", "x", "A GitLab job token is valid for only as long as its job runs."},
		{"u", "glcbt-" + jwt(fmt.Sprintf(`{"exp": %d}`, at(-day))), "A GitLab job token expired 24 hours ago"},
		{"u", "ghs_x", "A GitHub Actions token is valid for only as long as its job runs."},
	} {
		got := ShortLived(test.username, test.secret, now)
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s, %s: %q, want %q", test.username, test.secret, got, test.want)
		}
		if len(test.secret) > 5 && strings.Contains(got, test.secret) {
			t.Errorf("%q shows the secret", got)
		}
	}
}

// Credentials that are short-lived by design would always expire soon: only the expired ones do.
func TestSoon(t *testing.T) {
	const day = 24 * time.Hour
	claims := func(expires, issued time.Duration) string {
		return jwt(fmt.Sprintf(`{"exp": %d, "iat": %d}`, at(expires), at(issued)))
	}
	ecr := func(expires time.Duration) string {
		return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"payload": "x", "expiration": %d}`, at(expires)))
	}
	for _, test := range []struct{ name, username, secret, want string }{
		{"password", "u", "pw", ""},
		{"nothing", "", "", ""},
		{"not base64", "u", "a.b.c", ""},
		{"no expiry", "u", jwt(`{"sub": "x"}`), ""},
		{"not a time", "u", jwt(`{"exp": "1"}`), ""},
		{"negative", "u", jwt(`{"exp": -1}`), ""},
		{"after the year 9999", "u", jwt(`{"exp": 253402300800}`), ""},
		{"not JSON", "u", jwt(`{"exp": 1`), ""},
		{"nested", "u", jwt(strings.Repeat("[", 5000)), ""},
		{"too long", "u", jwt(`{"exp": 1, "x": "` + strings.Repeat("a", maxSecret) + `"}`), ""},
		{"8 days", "u", claims(8*day, -90*day), ""},
		{"almost 3 days", "u", claims(3*day-2*time.Second, -90*day), "The token expires in 3 days, at 2026-06-04 11:59 UTC."},
		{"7 days", "u", claims(7*day, -90*day), "The token expires in 7 days, at 2026-06-08 12:00 UTC."},
		{"in a year that has begun", "u", claims(day, -364*day), "The token expires in 24 hours, at 2026-06-02 12:00 UTC."},
		{"unknown lifetime", "u", jwt(fmt.Sprintf(`{"exp": %d}`, at(3*time.Hour))),
			"The token expires in 3 hours, at 2026-06-01 15:00 UTC."},
		{"7 days from nbf", "u", jwt(fmt.Sprintf(`{"exp": %d, "nbf": %d}`, at(day), at(-6*day))), ""},
		{"90 days from nbf", "u", jwt(fmt.Sprintf(`{"exp": %d, "nbf": %d}`, at(day), at(-89*day))),
			"The token expires in 24 hours, at 2026-06-02 12:00 UTC."},
		{"issued after its end", "u", claims(day, 2*day), "The token expires in 24 hours, at 2026-06-02 12:00 UTC."},
		{"now", "u", claims(0, -90*day), "The token expired less than 2 minutes ago, at 2026-06-01 12:00 UTC."},
		{"long ago", "u", jwt(`{"exp": 1}`), "The token expired 20605 days ago, at 1970-01-01 00:00 UTC."},
		{"lifetime of 7 days", "u", claims(day, -6*day), ""},
		{"lifetime of 7 days, expired", "u", claims(-day, -8*day), "The token expired 24 hours ago, at 2026-05-31 12:00 UTC."},
		{"Azure", "00000000-0000-0000-0000-000000000000", claims(time.Hour, -2*time.Hour), ""},
		{"Azure, expired", "00000000-0000-0000-0000-000000000000", claims(-time.Hour, -4*time.Hour),
			"An Azure Container Registry token expired 60 minutes ago, at 2026-06-01 11:00 UTC."},
		{"ECR", "AWS", ecr(5 * time.Hour), ""},
		{"ECR, expired", "AWS", ecr(-5 * time.Hour), "An Amazon ECR password expired 5 hours ago, at 2026-06-01 07:00 UTC."},
		{"ECR, unknown expiry", "AWS", "pw", ""},
		{"job token", "gitlab-ci-token", jwt(fmt.Sprintf(`{"exp": %d}`, at(time.Hour))), ""},
		{"job token, expired", "u", "glcbt-" + jwt(fmt.Sprintf(`{"exp": %d}`, at(-time.Hour))),
			"A GitLab job token expired 60 minutes ago, at 2026-06-01 11:00 UTC."},
	} {
		if got := Soon(test.username, test.secret, now); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// texts matches everything that can be said about an expiry, so that no part of a secret is in it.
var texts = func() *regexp.Regexp {
	names, rest := []string{"The token"}, []string{"Use credentials that are valid longer"}
	for _, k := range kinds {
		names, rest = append(names, regexp.QuoteMeta(k.name)), append(rest, regexp.QuoteMeta(k.advice))
	}
	return regexp.MustCompile(`^(` + strings.Join(names, "|") +
		`) (is valid for [0-9a-z ]+|(expires in|expired) (less than 2 minutes|[0-9]+ (days|hours|minutes))( ago)?, ` +
		`at [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2} UTC)\.( (` + strings.Join(rest, "|") + `)\.)?$`)
}()

// FuzzExpiry reads hostile credentials, also with claims that are encoded as in a token.
func FuzzExpiry(f *testing.F) {
	for _, secret := range []string{"pw", jwt(`{"exp": 1780315200, "iat": 1}`), "glcbt-" + jwt(`{"exp": 1e11}`), "ghs_x", "..",
		"eyJleHBpcmF0aW9uIjogMX0=", `{"exp": 253402300799}`, `{"exp": 9e18}`} {
		for _, username := range []string{"", "AWS", "gitlab-ci-token"} {
			f.Add(username, secret)
		}
	}
	f.Fuzz(func(t *testing.T, username, secret string) {
		for _, secret := range []string{secret, jwt(secret)} {
			for _, text := range []string{ShortLived(username, secret, now), Soon(username, secret, now)} {
				if text != "" && !texts.MatchString(text) {
					t.Errorf("%q", text)
				}
			}
		}
	})
}

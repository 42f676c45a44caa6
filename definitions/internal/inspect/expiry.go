// Package inspect returns what can be seen of credentials without using them: when they expire, and whether they look like a mistake.
// No text that it returns has a part of a secret.
package inspect

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// shortLived is the lifetime up to which credentials are reported as short-lived.
const shortLived = 30 * 24 * time.Hour

// lastSecond is the end of the year 9999, after which a number is not a time in seconds.
const lastSecond = 253402300799

// kind is a kind of credentials that is known to be short-lived.
type kind struct {
	name     string
	lifetime string
	is       func(username, secret string) bool
	advice   string
}

var kinds = []kind{
	{"An Amazon ECR password", "12 hours", func(username, _ string) bool { return username == "AWS" },
		"Get a new one with aws ecr get-login-password, or use a credential helper"},
	{"A Google access token", "60 minutes", func(username, _ string) bool { return username == "oauth2accesstoken" },
		"Use a service account key (_json_key) or a credential helper"},
	{"An Azure Container Registry token", "3 hours", func(username, _ string) bool { return username == "00000000-0000-0000-0000-000000000000" },
		"Use a service principal or a token of the registry"},
	{"A GitLab job token", "as long as its job runs", func(username, secret string) bool {
		return username == "gitlab-ci-token" || strings.HasPrefix(secret, "glcbt-")
	}, "Use a deploy token"},
	{"A GitHub Actions token", "as long as its job runs", func(_, secret string) bool { return strings.HasPrefix(secret, "ghs_") },
		"Use a personal access token"},
}

// Expiry returns sentences about credentials that are short-lived or have expired, "" if nothing shows that they are.
func Expiry(username, secret string, now time.Time) string {
	known := kind{name: "The token", advice: "Use credentials that are valid longer"}
	for _, k := range kinds {
		if k.is(username, secret) {
			known = k
			break
		}
	}
	issued, expires := times(secret)
	switch {
	case expires.IsZero() && known.lifetime == "":
		return ""
	case expires.IsZero():
		return fmt.Sprintf("%s is valid for %s. %s.", known.name, strings.Replace(known.lifetime, "as long as", "only as long as", 1), known.advice)
	case !expires.After(now):
		return fmt.Sprintf("%s expired %s ago, at %s. %s.", known.name, Duration(now.Sub(expires)), stamp(expires), known.advice)
	case known.lifetime == "" && expires.Sub(latest(issued, now, expires)) > shortLived:
		return ""
	}
	return fmt.Sprintf("%s expires in %s, at %s. %s.", known.name, Duration(expires.Sub(now)), stamp(expires), known.advice)
}

// latest returns when the lifetime began: at issued if that is known.
func latest(issued, now, expires time.Time) time.Time {
	if issued.IsZero() || issued.After(expires) {
		return now
	}
	return issued
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// times returns when a token was issued and expires, as far as it shows: it is a JWT, whose signature is not verified, or a password
// of Amazon ECR, which is base64 of JSON.
func times(secret string) (issued, expires time.Time) {
	var claims struct {
		Exp        float64 `json:"exp"`
		Iat        float64 `json:"iat"`
		Expiration float64 `json:"expiration"`
	}
	secret = strings.TrimSpace(secret)
	parts := strings.Split(strings.TrimPrefix(secret, "glcbt-"), ".")
	text, err := base64.StdEncoding.DecodeString(secret)
	if len(parts) == 3 {
		text, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	}
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return time.Time{}, time.Time{}
	}
	return seconds(claims.Iat), seconds(max(claims.Exp, claims.Expiration))
}

func seconds(s float64) time.Time {
	if s <= 0 || s > lastSecond {
		return time.Time{}
	}
	return time.Unix(int64(s), 0)
}

// Duration returns a duration in plain words, in the largest unit of which it has at least two.
func Duration(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"days", 24 * time.Hour}, {"hours", time.Hour}, {"minutes", time.Minute}} {
		if d >= 2*unit.size {
			return fmt.Sprintf("%d %s", d/unit.size, unit.name)
		}
	}
	return "less than 2 minutes"
}

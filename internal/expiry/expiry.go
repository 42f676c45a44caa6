// Package expiry reads from credentials when they expire, without using them. It verifies no signature: an expiry is a hint, and never
// decides what is valid. Its texts have no part of a secret.
package expiry

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// shortLived is the lifetime up to which credentials are reported as short-lived.
const shortLived = 30 * 24 * time.Hour

// soon is the remaining validity up to which credentials expire soon. Those with a shorter lifetime would always do.
const soon = 7 * 24 * time.Hour

// maxSecret is the size in bytes up to which a secret is read. Tokens of registries have at most a few thousand.
const maxSecret = 16 << 10

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
	{"An Azure Container Registry token", "3 hours",
		func(username, _ string) bool { return username == "00000000-0000-0000-0000-000000000000" },
		"Use a service principal or a token of the registry"},
	{"A GitLab job token", "as long as its job runs", func(username, secret string) bool {
		return username == "gitlab-ci-token" || strings.HasPrefix(secret, "glcbt-")
	}, "Use a deploy token"},
	{"A GitHub Actions token", "as long as its job runs", func(_, secret string) bool { return strings.HasPrefix(secret, "ghs_") },
		"Use a personal access token"},
}

// ShortLived returns sentences about credentials that are short-lived or have expired, "" if nothing shows that they are.
func ShortLived(username, secret string, now time.Time) string {
	c := read(username, secret)
	switch {
	case c.expires.IsZero() && c.lifetime == "":
		return ""
	case c.expires.IsZero():
		return fmt.Sprintf("%s is valid for %s. %s.", c.name, strings.Replace(c.lifetime, "as long as", "only as long as", 1), c.advice)
	case c.expires.After(now) && c.lifetime == "" && c.expires.Sub(c.issuedOr(now)) > shortLived:
		return ""
	}
	return c.state(now) + " " + c.advice + "."
}

// Soon returns a sentence about credentials that have expired or expire within 7 days, "" if nothing shows that they do. Of credentials
// that are never valid for longer than that, only the expired ones have a sentence.
func Soon(username, secret string, now time.Time) string {
	c := read(username, secret)
	switch {
	case c.expires.IsZero(), c.expires.Sub(now) > soon:
		return ""
	case c.expires.After(now) && (c.lifetime != "" || c.expires.Sub(c.issued) <= soon): // the zero time is long ago
		return ""
	}
	return c.state(now)
}

// NotAfter returns when credentials expire, the zero time if they do not show it.
func NotAfter(username, secret string) time.Time { return read(username, secret).expires.UTC() }

// credentials are what credentials show of themselves. Times that they do not show are zero.
type credentials struct {
	kind
	issued, expires time.Time
}

func read(username, secret string) credentials {
	c := credentials{kind: kind{name: "The token", advice: "Use credentials that are valid longer"}}
	for _, k := range kinds {
		if k.is(username, secret) {
			c.kind = k
			break
		}
	}
	if c.issued, c.expires = times(secret); c.issued.After(c.expires) {
		c.issued = time.Time{}
	}
	return c
}

// issuedOr returns when the credentials were issued, and the other time if they do not show it.
func (c credentials) issuedOr(other time.Time) time.Time {
	if c.issued.IsZero() {
		return other
	}
	return c.issued
}

// state returns a sentence about the time of expiry.
func (c credentials) state(now time.Time) string {
	if !c.expires.After(now) {
		return fmt.Sprintf("%s expired %s ago, at %s.", c.name, duration(now.Sub(c.expires)), stamp(c.expires))
	}
	left := c.expires.Sub(now)
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} { // a token made for 3 days expires in 3 days, not in 2
		if rounded := left.Round(unit); rounded >= 2*unit {
			left = rounded
			break
		}
	}
	return fmt.Sprintf("%s expires in %s, at %s.", c.name, duration(left), stamp(c.expires))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// times returns when a token was issued and expires, as far as it shows: it is a JWT, whose signature is not verified, or a password
// of Amazon ECR, which is base64 of JSON.
func times(secret string) (issued, expires time.Time) {
	var claims struct {
		Exp        float64 `json:"exp"`
		Iat        float64 `json:"iat"`
		Nbf        float64 `json:"nbf"`
		Expiration float64 `json:"expiration"`
	}
	if len(secret) > maxSecret {
		return time.Time{}, time.Time{}
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
	return seconds(cmp.Or(claims.Iat, claims.Nbf)), seconds(max(claims.Exp, claims.Expiration))
}

func seconds(s float64) time.Time {
	if s <= 0 || s > lastSecond {
		return time.Time{}
	}
	return time.Unix(int64(s), 0)
}

// duration returns a duration in plain words, in the largest unit of which it has at least two.
func duration(d time.Duration) string {
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

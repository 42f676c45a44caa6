package challenge

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/regwarden/regwarden/regcheck/internal/wire"
)

func TestParseChallenges(t *testing.T) {
	params := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, row := range []struct {
		line string
		want []Challenge
	}{
		{``, nil},
		{`Basic`, []Challenge{{"basic", "", params()}}},
		{`BASIC realm="Sonatype Nexus"`, []Challenge{{"basic", "", params("realm", "Sonatype Nexus")}}},
		{`Bearer realm="https://a.test/token",service="a",scope="repository:x/y:pull,push"`,
			[]Challenge{{"bearer", "", params("realm", "https://a.test/token", "service", "a", "scope", "repository:x/y:pull,push")}}},
		{`Bearer REALM = "https://a.test/" , Service = a`, []Challenge{{"bearer", "", params("realm", "https://a.test/", "service", "a")}}},
		{`bearer realm=https://a.test:8443/zot/auth/token,service=zot,scope=`, // zot: unquoted
			[]Challenge{{"bearer", "", params("realm", "https://a.test:8443/zot/auth/token", "service", "zot", "scope", "")}}},
		{`Bearer realm=https://a.test/t,scope=repository:a/b:pull,push,service=z`,
			[]Challenge{{"bearer", "", params("realm", "https://a.test/t", "scope", "repository:a/b:pull,push", "service", "z")}}},
		{`Negotiate, NTLM, Basic realm="x", Bearer realm="y"`,
			[]Challenge{{"negotiate", "", params()}, {"ntlm", "", params()}, {"basic", "", params("realm", "x")},
				{"bearer", "", params("realm", "y")}}},
		{`Negotiate YIIabc+/==, Basic realm="x"`, []Challenge{{"negotiate", "YIIabc+/==", params()}, {"basic", "", params("realm", "x")}}},
		{`, ,Basic realm="x",, ,`, []Challenge{{"basic", "", params("realm", "x")}}},
		{`Basic realm="a \"quoted\", b\\c"`, []Challenge{{"basic", "", params("realm", `a "quoted", b\c`)}}},
		{`Bearer realm="first",realm="second"`, []Challenge{{"bearer", "", params("realm", "first")}}},
		{`Bearer realm=,service=x`, []Challenge{{"bearer", "", params("realm", "", "service", "x")}}},
		{`Bearer realm=""`, []Challenge{{"bearer", "", params("realm", "")}}},
		{`Bearer realm="never closed`, []Challenge{{"bearer", "", params("realm", "never closed")}}},
		{`Bearer realm="a" service="b"`, []Challenge{{"bearer", "", params("realm", "a", "service", "b")}}}, // blanks for commas
		{`realm="of nothing"`, nil},
		{`Bearer scope=a:push,pull,*,delete`, []Challenge{{"bearer", "", params("scope", "a:push,pull,*,delete")}}},
		{`Bearer scope=a:pull,Basic,push`,
			[]Challenge{{"bearer", "", params("scope", "a:pull")}, {"basic", "", params()}, {"push", "", params()}}},
		{`Bearer scope="a:pull",push`, []Challenge{{"bearer", "", params("scope", "a:pull")}, {"push", "", params()}}},
		{`NTLM TlRM`, []Challenge{{"ntlm", "TlRM", params()}}},
		{`Negotiate YII==`, []Challenge{{"negotiate", "YII==", params()}}},
	} {
		got := ParseChallenges([]string{row.line})
		if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(Challenge{})); diff != "" {
			t.Errorf("%s\n%s", row.line, diff)
		}
	}
}

// A challenge may have maxChallenge bytes after its scheme, and a line MaxChallenges times as many. What exceeds that is skipped.
func TestChallengeBounds(t *testing.T) {
	bearer := func(bytes int) string { return `Bearer realm="` + strings.Repeat("a", bytes-len(` realm=""`)) + `"` }
	padded := func(bytes int) string { return strings.Repeat(",", bytes-len("Basic")) + "Basic" }
	most := strings.Repeat("A,", MaxChallenges)
	for name, row := range map[string]struct {
		lines []string
		want  string
	}{
		"a challenge of the greatest length":       {[]string{bearer(maxChallenge), "Basic"}, "bearer basic"},
		"a longer challenge":                       {[]string{bearer(maxChallenge + 1), "Basic"}, "basic"},
		"a longer challenge before another":        {[]string{bearer(maxChallenge+1) + ",Basic"}, "basic"},
		"challenges that are longer only together": {[]string{bearer(maxChallenge*3/4) + "," + bearer(maxChallenge*3/4)}, "bearer bearer"},
		"long parameters without a scheme":         {[]string{strings.TrimPrefix(bearer(maxChallenge*2), "Bearer ") + ",Basic"}, "basic"},
		"a line of the greatest length":            {[]string{padded(MaxChallenges * maxChallenge)}, "basic"},
		"a longer line":                            {[]string{padded(MaxChallenges*maxChallenge + 1), "Digest"}, "digest"},
		"another line after the most challenges":   {[]string{most, "B"}, "a a a a a a a a"},
		"a line of more than the most challenges":  {[]string{most + "B"}, "a a a a a a a a"},
	} {
		var schemes []string
		for _, c := range ParseChallenges(row.lines) {
			schemes = append(schemes, c.scheme)
		}
		if got := strings.Join(schemes, " "); got != strings.TrimSpace(row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
	all := ParseChallenges([]string{strings.Repeat(`Basic realm="x",`, 100)})
	if last := all[len(all)-1]; len(all) != MaxChallenges || last.Params["realm"] != "x" {
		t.Errorf("%d challenges, the last one is %v", len(all), last)
	}
}

func TestIsTokenByte(t *testing.T) {
	const tchars = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" // RFC 9110 5.6.2
	for b := range 256 {
		if got := IsTokenByte(byte(b)); got != (strings.IndexByte(tchars, byte(b)) >= 0) {
			t.Errorf("%#x is %v", b, got)
		}
	}
}

func TestOffersChooseBearerWithRealm(t *testing.T) {
	o := Offered(&wire.Response{Header: http.Header{"Www-Authenticate": {`Bearer error="invalid_token"`, `Basic realm="x"`,
		`Bearer realm="https://a.test/"`, `Digest realm="d"`}}})
	if o.Bearer == nil || o.Bearer.Params["realm"] != "https://a.test/" || !o.Basic || strings.Join(o.Unsupported, " ") != "digest" {
		t.Errorf("%+v", o)
	}
}

package regcheck

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		want []challenge
	}{
		{``, nil},
		{`Basic`, []challenge{{"basic", "", params()}}},
		{`BASIC realm="Sonatype Nexus"`, []challenge{{"basic", "", params("realm", "Sonatype Nexus")}}},
		{`Bearer realm="https://a.test/token",service="a",scope="repository:x/y:pull,push"`,
			[]challenge{{"bearer", "", params("realm", "https://a.test/token", "service", "a", "scope", "repository:x/y:pull,push")}}},
		{`Bearer REALM = "https://a.test/" , Service = a`, []challenge{{"bearer", "", params("realm", "https://a.test/", "service", "a")}}},
		{`bearer realm=https://a.test:8443/zot/auth/token,service=zot,scope=`, // zot: unquoted
			[]challenge{{"bearer", "", params("realm", "https://a.test:8443/zot/auth/token", "service", "zot", "scope", "")}}},
		{`Bearer realm=https://a.test/t,scope=repository:a/b:pull,push,service=z`,
			[]challenge{{"bearer", "", params("realm", "https://a.test/t", "scope", "repository:a/b:pull,push", "service", "z")}}},
		{`Negotiate, NTLM, Basic realm="x", Bearer realm="y"`,
			[]challenge{{"negotiate", "", params()}, {"ntlm", "", params()}, {"basic", "", params("realm", "x")}, {"bearer", "", params("realm", "y")}}},
		{`Negotiate YIIabc+/==, Basic realm="x"`, []challenge{{"negotiate", "YIIabc+/==", params()}, {"basic", "", params("realm", "x")}}},
		{`, ,Basic realm="x",, ,`, []challenge{{"basic", "", params("realm", "x")}}},
		{`Basic realm="a \"quoted\", b\\c"`, []challenge{{"basic", "", params("realm", `a "quoted", b\c`)}}},
		{`Bearer realm="first",realm="second"`, []challenge{{"bearer", "", params("realm", "first")}}},
		{`Bearer realm=,service=x`, []challenge{{"bearer", "", params("realm", "", "service", "x")}}},
		{`Bearer realm=""`, []challenge{{"bearer", "", params("realm", "")}}},
		{`Bearer realm="never closed`, []challenge{{"bearer", "", params("realm", "never closed")}}},
		{`Bearer realm="a" service="b"`, []challenge{{"bearer", "", params("realm", "a", "service", "b")}}}, // blanks for commas
		{`realm="of nothing"`, nil},
	} {
		got := parseChallenges([]string{row.line})
		if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(challenge{})); diff != "" {
			t.Errorf("%s\n%s", row.line, diff)
		}
	}
}

func TestChallengeBounds(t *testing.T) {
	many := strings.Repeat(`Basic realm="x",`, 100)
	if got := parseChallenges([]string{many, many}); len(got) != maxChallenges {
		t.Errorf("%d challenges", len(got))
	}
	long := `Bearer realm="` + strings.Repeat("a", maxChallenge) + `"`
	if got := parseChallenges([]string{long, `Basic realm="x"`}); len(got) != 1 || got[0].scheme != "basic" {
		t.Errorf("the long challenge was kept: %d", len(got))
	}
}

func TestOffersChooseBearerWithRealm(t *testing.T) {
	o := readOffers([]string{`Bearer error="invalid_token"`, `Basic realm="x"`, `Bearer realm="https://a.test/"`, `Digest realm="d"`})
	if o.bearer == nil || o.bearer.params["realm"] != "https://a.test/" || !o.basic || strings.Join(o.unsupported, " ") != "digest" {
		t.Errorf("%+v", o)
	}
}

package challenge

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
	} {
		got := ParseChallenges([]string{row.line})
		if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(Challenge{})); diff != "" {
			t.Errorf("%s\n%s", row.line, diff)
		}
	}
}

func TestChallengeBounds(t *testing.T) {
	many := strings.Repeat(`Basic realm="x",`, 100)
	if got := ParseChallenges([]string{many, many}); len(got) != MaxChallenges {
		t.Errorf("%d challenges", len(got))
	}
	long := `Bearer realm="` + strings.Repeat("a", maxChallenge) + `"`
	if got := ParseChallenges([]string{long, `Basic realm="x"`}); len(got) != 1 || got[0].scheme != "basic" {
		t.Errorf("the long challenge was not skipped: %d", len(got))
	}
}

func TestOffersChooseBearerWithRealm(t *testing.T) {
	o := Offered([]string{`Bearer error="invalid_token"`, `Basic realm="x"`, `Bearer realm="https://a.test/"`, `Digest realm="d"`})
	if o.Bearer == nil || o.Bearer.Params["realm"] != "https://a.test/" || !o.Basic || strings.Join(o.Unsupported, " ") != "digest" {
		t.Errorf("%+v", o)
	}
}

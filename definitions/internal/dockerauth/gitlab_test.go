package dockerauth

import (
	"slices"
	"testing"
)

func TestGitLabRunner(t *testing.T) {
	hub := "https://index.docker.io/v1/"
	for _, test := range []struct {
		keys      []string
		reference string
		want      []string
	}{
		{[]string{"r.test", "r.test/team"}, "r.test/team/a", []string{"r.test/team"}},
		{[]string{"r.test/team"}, "r.test/teamwork", []string{}},
		{[]string{"https://r.test/v2/"}, "r.test/a", []string{"https://r.test/v2/"}},
		{[]string{hub}, "docker.io/library/nginx", []string{hub}},
	} {
		choice := parse(t, auths(test.keys...)).Lookup(GitLabRunner, test.reference)
		if got := keysOf(choice); !slices.Equal(got, test.want) || choice.Rejected != "" {
			t.Errorf("%q for %s: %q, want %q; %q", test.keys, test.reference, got, test.want, choice.Steps)
		}
	}
	for text, want := range map[string]Choice{
		`{"auths": {"r.test": {"auth": "dTpw"}}, "credHelpers": {"r.test": "ecr-login"}}`: {Helper: "ecr-login", HelperServer: "r.test"},
		`{"auths": {"r.test": {"auth": "dTpw"}}, "credsStore": "desktop"}`: {Helper: "desktop",
			HelperServer: "r.test", FromStore: true},
		`{"auths": {"r.test": {"auth": "dTpw"}, "x.test": {"auth": "x"}}}`: {Rejected: `The entry "x.test" has an auth ` +
			`that is not valid base64.`},
		`{"auths": {"r.test": {"auth": "OnA="}}}`: {Rejected: `The entry "r.test" has an auth ` +
			`without a username.`},
	} {
		got := parse(t, text).Lookup(GitLabRunner, "r.test/a")
		if got.Helper != want.Helper || got.HelperServer != want.HelperServer || got.FromStore != want.FromStore ||
			got.Rejected != want.Rejected {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

package dockerauth

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// all are the rules of every consumer.
var all = []Rules{Docker, ORAS, Podman, Kubelet, DockerEnv, GitLabRunner, Keychain}

// TestZeroBytesAroundAPassword are removed by those that have the code of docker's library.
func TestZeroBytesAroundAPassword(t *testing.T) {
	c := parse(t, `{"auths": {"r.test": {"auth": "`+basic("u", "\x00p\x00")+`"}}}`)
	for _, rules := range all {
		want := "\x00p\x00"
		if rules == Docker || rules == DockerEnv || rules == Podman {
			want = "p"
		}
		if got := c.Entries(rules)[0].Credential; got.Username != "u" || got.Password.Reveal() != want {
			t.Errorf("%v: %q, want %q", rules, got.Password.Reveal(), want)
		}
	}
}

// TestPaddingIsNamedAsTheCause only where it is one.
func TestPaddingIsNamedAsTheCause(t *testing.T) {
	for auth, unpadded := range map[string]bool{strings.TrimRight(basic("u", "p"), "=") + "dQ": true, "?": false} {
		c := parse(t, `{"auths": {"r.test": {"auth": "`+auth+`"}}}`)
		for _, rules := range all {
			e := c.Entries(rules)[0]
			accepts := unpadded && (rules == Kubelet || rules == Keychain)
			if named := strings.HasSuffix(e.Message, ": the padding with = is missing."); named != (unpadded && !accepts) ||
				(e.Problem == "") != accepts {
				t.Errorf("%v, %s: %q", rules, auth, e.Message)
			}
		}
	}
}

// TestIgnoredMembers are those that another consumer reads and that have a value.
func TestIgnoredMembers(t *testing.T) {
	c := parse(t, `{"auths": {"r.test": {"auth": "`+basic("u", "p")+`", "email": "e", "username": "x", "password": "", "identitytoken": "t",
		"serveraddress": "s"}}}`)
	for rules, want := range map[Rules][]string{Docker: nil, GitLabRunner: nil, ORAS: nil, Keychain: nil, Podman: {"username"},
		Kubelet: {"identitytoken"}} {
		if got := c.Entries(rules)[0].Ignored; !slices.Equal(got, want) {
			t.Errorf("%v ignores %q, want %q", rules, got, want)
		}
	}
}

// TestRepeatedKeys has a bad entry whose key another one has again: who reads both rejects the file.
func TestRepeatedKeys(t *testing.T) {
	const good = `"r.test": {"auth": "dTpw"}`
	for bad, rejecting := range map[string][]Rules{
		`"r.test": {"auth": "?"}`: {Kubelet, Keychain},
		`"r.test": 5`:             {Docker, Podman, Kubelet, DockerEnv, GitLabRunner, Keychain},
	} {
		c := parse(t, `{"auths": {`+bad+`, `+good+`}}`)
		for _, rules := range all {
			if got := c.Rejected(rules) != nil; got != slices.Contains(rejecting, rules) {
				t.Errorf("%s: %v rejects the file: %t", bad, rules, got)
			}
		}
	}
}

// TestSteps compares the whole reasoning.
func TestSteps(t *testing.T) {
	const credential = `{"auth": "dTpw"}`
	hub := `{"auths": {"` + HubKey + `": ` + credential + `}, "credsStore": ""}`
	helpers := `{"auths": {"r.test": ` + credential + `, "b.test": {"auth": "?"}, "e.test": {}}, "credsStore": "desktop",
		"credHelpers": {"h.test": ""}}`
	for _, test := range []struct {
		rules           Rules
		text, reference string
		want            []string
	}{
		{Docker, hub, "docker.io/a", []string{`docker looks for "https://index.docker.io/v1/", its name of Docker Hub.`,
			`The key "https://index.docker.io/v1/" is the same.`}},
		{Docker, `{"auths": {"r.test": ` + credential + `}}`, "r.test/a", []string{`The key "r.test" is the same.`}},
		{Docker, `{"auths": {"https://r.test/a": ` + credential + `}, "credHelpers": {"r.test": ""}}`, "r.test/a",
			[]string{`credHelpers disables credential helpers for "r.test".`,
				`The host of the key "https://r.test/a" is the same; docker ignores scheme and path.`}},
		{Kubelet, hub, "index.docker.io/a", []string{`The key "https://index.docker.io/v1/" matches as "index.docker.io".`}},
		{Kubelet, helpers, "r.test/a", []string{`The entry "b.test" has an auth that is not valid base64.`,
			"For this reason kubelet rejects the whole file."}},
		{Kubelet, `{"auths": {"*.test": ` + credential + `, "r.test": ` + credential + `}, "credHelpers": {"a": "b"}}`, "r.test/a",
			[]string{"kubelet ignores credsStore and credHelpers.", `The key "r.test" matches as "r.test".`,
				`The key "*.test" matches as "*.test".`, "kubelet tries these entries in this order until one works."}},
		{Kubelet, `{"auths": {}, "credsStore": "a"}`, "r.test/a", []string{"kubelet ignores credsStore and credHelpers.",
			"No entry matches r.test/a: kubelet connects without credentials."}},
		{Keychain, `{"auths": {}, "credsStore": "a"}`, "r.test/a", []string{"Flux ignores credsStore and credHelpers.",
			"No entry matches r.test/a: Flux connects without credentials."}},
		{Keychain, `{"auths": {"r.test": ` + credential + `}, "credHelpers": {"a": "b"}}`, "r.test/a",
			[]string{"Flux ignores credsStore and credHelpers.", `The key "r.test" matches as "r.test".`}},
		{Keychain, `{"auths": {"r.test": ` + credential + `, "r.test/b": ` + credential + `}}`, "r.test/b",
			[]string{`The key "r.test/b" matches as "r.test/b".`}},
		{Podman, helpers, "r.test/a", []string{"podman ignores credsStore.",
			`The key "r.test" is the longest that is r.test/a or a parent of it.`}},
		{Podman, helpers, "h.test/a", []string{`credHelpers has an empty name for "h.test", which podman cannot start.`}},
		{Podman, helpers, "e.test/a", []string{"podman ignores credsStore.",
			`The key "e.test" is the longest that is e.test/a or a parent of it.`,
			`The entry "e.test" is empty: podman connects without credentials.`}},
		{Podman, helpers, "b.test/a", []string{"podman ignores credsStore.",
			`The key "b.test" is the longest that is b.test/a or a parent of it.`,
			`The entry "b.test" has an auth that is not valid base64.`}},
	} {
		if got := parse(t, test.text).Lookup(test.rules, test.reference).Steps; !slices.Equal(got, test.want) {
			t.Errorf("%v for %s: %q", test.rules, test.reference, got)
		}
	}
}

// TestStepsAreBounded has more spellings of a host than steps.
func TestStepsAreBounded(t *testing.T) {
	for _, spellings := range []int{20, 25} {
		var keys []string
		for i := range spellings {
			keys = append(keys, fmt.Sprintf("https://r.test/%d", i))
		}
		c := parse(t, auths(keys...))
		choice := c.Lookup(Docker, "r.test/a")
		again := c.Lookup(Docker, "r.test/b") // which reuses them
		last := choice.Steps[len(choice.Steps)-1]
		want := fmt.Sprintf("The other %d steps are not shown.", spellings-20+1)
		if len(choice.Steps) != 21 || last != want || len(choice.Entries) != spellings || !slices.Equal(again.Steps, choice.Steps) {
			t.Errorf("%d spellings: %d steps, the last is %q", spellings, len(choice.Steps), last)
		}
	}
}

// TestReferencesAreBounded: the parents of a longer reference are not looked for, those of the longest are.
func TestReferencesAreBounded(t *testing.T) {
	c := parse(t, auths("r.test/a"))
	for length, found := range map[int]int{maxReference: 1, maxReference + 1: 0} {
		reference := "r.test/a/" + strings.Repeat("x", length-len("r.test/a/"))
		if got := len(c.Lookup(Podman, reference).Entries); got != found {
			t.Errorf("%d bytes: %d entries, want %d", length, got, found)
		}
	}
}

// TestShow limits a text, and leaves out what is before the host of a URL.
func TestShow(t *testing.T) {
	for text, want := range map[string]string{"": "", "r.test": "r.test", "@r.test": "…@r.test", "u:p@r.test": "…@r.test",
		strings.Repeat("x", 100): strings.Repeat("x", 100), strings.Repeat("x", 101): strings.Repeat("x", 100) + "…"} {
		if got := Show(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestEmpty: an entry that cannot be used is not empty.
func TestEmpty(t *testing.T) {
	c := parse(t, `{"auths": {"e.test": {}, "b.test": {"auth": "?"}, "g.test": {"auth": "dTpw"}}}`)
	for i, want := range []bool{true, false, false} {
		if e := c.Entries(ORAS)[i]; e.Empty() != want {
			t.Errorf("%s: empty %t", e.Key, !want)
		}
	}
}

// TestMembersThatAreRead: a store that is not a string matters to those that read it.
func TestMembersThatAreRead(t *testing.T) {
	for text, rejecting := range map[string][]Rules{
		`{"credsStore": 5}`:  {Docker, ORAS, DockerEnv, GitLabRunner},
		`{"credHelpers": 5}`: {Docker, ORAS, Podman, DockerEnv, GitLabRunner},
		`{"HttpHeaders": 5}`: {Docker, Kubelet, DockerEnv, GitLabRunner},
		// null is as good as no value, and an object of headers may be empty
		`{"HttpHeaders": null, "credsStore": null, "credHelpers": null}`: {DockerEnv},
		`{"HttpHeaders": {}}`:         {DockerEnv},
		`{"HttpHeaders": {"a": "b"}}`: {DockerEnv},
	} {
		c := parse(t, text)
		for _, rules := range all {
			if got := c.Rejected(rules) != nil; got != slices.Contains(rejecting, rules) {
				t.Errorf("%s: %v rejects the file: %t", text, rules, got)
			}
		}
	}
}

// TestManyEntriesAreNotAllRead counts entries and helpers together, in any order. A large file may have more of them than a small one.
func TestManyEntriesAreNotAllRead(t *testing.T) {
	for _, tt := range []struct {
		entries, helpers, padding int
		incomplete                bool
	}{
		{12_300, 200, 0, false},
		{12_300, 700, 0, true},
		{13_000, 0, 0, true},
		{0, 13_000, 0, true},
		{13_000, 0, 200_000, false},
	} {
		entries, helpers := `"auths":`+members(tt.entries, "{}"), `"credHelpers":`+members(tt.helpers, `"a"`)
		for _, text := range []string{entries + "," + helpers, helpers + "," + entries} {
			c := parse(t, "{"+text+strings.Repeat(" ", tt.padding)+"}")
			read := len(c.Entries(Docker)) + len(c.Helpers)
			if c.Incomplete != tt.incomplete || (read == tt.entries+tt.helpers) == tt.incomplete {
				t.Errorf("%d entries, %d helpers, %d bytes: %d read, incomplete %t", tt.entries, tt.helpers, len(text), read, c.Incomplete)
			}
		}
	}
}

func members(count int, value string) string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf(`"%d":%s`, i, value)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// TestHas: a choice by the host has all entries of the host, and no other.
func TestHas(t *testing.T) {
	c := parse(t, auths("https://r.test/1", "https://r.test/2", "x.test"))
	for reference, want := range map[string][]bool{"r.test/a": {true, true, false}, "x.test/a": {false, false, true}} {
		choice := c.Lookup(Docker, reference)
		for i, e := range c.Entries(Docker) {
			if choice.Has(e) != want[i] {
				t.Errorf("%s: has %s: %t", reference, e.Key, !want[i])
			}
		}
		if choice.Has(nil) {
			t.Errorf("%s: has no entry", reference)
		}
	}
}

package dockerauth

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// auths returns a config.json whose entries have their key as username.
func auths(keys ...string) string {
	var entries []string
	for _, key := range keys {
		entries = append(entries, fmt.Sprintf("%q: {\"auth\": %q}", key, basic(key, "p")))
	}
	return `{"auths": {` + strings.Join(entries, ",\n") + `}}`
}

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse([]byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func keysOf(c Choice) []string {
	keys := []string{}
	for _, e := range c.Entries {
		keys = append(keys, e.Key)
	}
	return keys
}

func TestLookupKeys(t *testing.T) {
	hub := "https://index.docker.io/v1/"
	for _, test := range []struct {
		rules     Rules
		keys      []string
		reference string
		want      []string
	}{
		{Docker, []string{hub}, "docker.io/library/nginx", []string{hub}},
		{Docker, []string{hub}, "index.docker.io/acme/a", []string{hub}},
		{Docker, []string{hub}, "registry-1.docker.io/acme/a", []string{}},
		{Docker, []string{"docker.io"}, "docker.io/acme/a", []string{}},
		{Docker, []string{"https://r.test/v1/", "r.test"}, "r.test/a", []string{"r.test"}},
		{Docker, []string{"r.test:443"}, "r.test/a", []string{}},
		{Docker, []string{"R.test"}, "r.test/a", []string{}},
		{Docker, []string{"r.test/a", "r.test/b"}, "r.test/b/c", []string{"r.test/a", "r.test/b"}},
		{DockerEnv, []string{"https://r.test"}, "r.test/a", []string{}},
		{DockerEnv, []string{"r.test"}, "r.test/a", []string{"r.test"}},
		{ORAS, []string{hub}, "registry-1.docker.io/a", []string{hub}},
		{ORAS, []string{hub}, "index.docker.io/a", []string{hub}},
		{ORAS, []string{hub}, "docker.io/a", []string{hub}},
		{ORAS, []string{"ftp://r.test"}, "r.test/a", []string{}},
		{Docker, []string{"ftp://r.test"}, "r.test/a", []string{"ftp://r.test"}},
		{Podman, []string{"r.test", "r.test/team", "r.test/team/a"}, "r.test/team/a/b", []string{"r.test/team/a"}},
		{Podman, []string{"r.test/team"}, "r.test/teamwork", []string{}},
		{Podman, []string{"docker.io/acme", hub}, "docker.io/acme/a", []string{"docker.io/acme"}},
		{Podman, []string{hub}, "docker.io/other/a", []string{hub}},
		{Podman, []string{"http://r.test", "https://r.test/v2"}, "r.test/a", []string{"http://r.test", "https://r.test/v2"}},
		{Kubelet, []string{"r.test/team"}, "r.test/teamwork", []string{"r.test/team"}},
		{Kubelet, []string{"*.test", "r.test", "r.test/team"}, "r.test/team/a", []string{"r.test/team", "r.test", "*.test"}},
		{Kubelet, []string{"*.test"}, "a.r.test/team/a", []string{}},
		{Kubelet, []string{"r.test:5000"}, "r.test/a", []string{}},
		{Kubelet, []string{"https://r.test/v2/team"}, "r.test/team/a", []string{"https://r.test/v2/team"}},
		{Kubelet, []string{hub}, "docker.io/library/nginx", []string{hub}},
		{Kubelet, []string{hub, "docker.io"}, "docker.io/library/nginx", []string{"docker.io"}},
	} {
		choice := parse(t, auths(test.keys...)).Lookup(test.rules, test.reference)
		if got := keysOf(choice); !slices.Equal(got, test.want) || choice.Rejected != "" {
			t.Errorf("%v, %q for %s: %q, want %q; %q", test.rules, test.keys, test.reference, got, test.want, choice.Steps)
		}
		if wantAny := len(test.want) > 1 && test.rules != Kubelet; choice.Ambiguous != wantAny {
			t.Errorf("%v, %q for %s: ambiguous %v", test.rules, test.keys, test.reference, choice.Ambiguous)
		}
	}
}

// TestChoiceByChance has two spellings of a host, with entries that lead to the same or not.
func TestChoiceByChance(t *testing.T) {
	const noColon, empty = `{"auth": "dXU="}`, `{}`
	user, other := `{"auth": "`+basic("u", "p")+`"}`, `{"auth": "`+basic("u", "q")+`"}`
	for _, test := range []struct {
		rules         Rules
		first, second string
		byChance      bool
	}{
		{Podman, user, user, false},
		{Podman, user, other, true},
		{Podman, user, empty, true},
		{Podman, user, noColon, true},
		{Podman, noColon, empty, false}, // both: without credentials
		{ORAS, noColon, empty, true},    // fails, or without credentials
		{ORAS, noColon, `{"auth": "?"}`, false},
	} {
		config := parse(t, `{"auths": {"http://r.test/": `+test.first+`, "https://r.test/v2": `+test.second+`}}`)
		if choice := config.Lookup(test.rules, "r.test/a"); choice.Ambiguous != test.byChance || len(choice.Entries) != 2 {
			t.Errorf("%v, %s and %s: by chance %v, %q", test.rules, test.first, test.second, choice.Ambiguous, choice.Steps)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, test := range []struct {
		name, entry string
		want        map[Rules]string // problem, or user and password
	}{
		{"padded", `{"auth": "` + basic("u", "pw") + `"}`,
			map[Rules]string{Docker: "u pw", ORAS: "u pw", Podman: "u pw", Kubelet: "u pw", DockerEnv: "u pw"}},
		{"not padded", `{"auth": "` + strings.TrimRight(basic("u", "p"), "=") + "dQ" + `"}`,
			map[Rules]string{Docker: "invalidBase64", Kubelet: "u pu", DockerEnv: "invalidBase64", ORAS: "invalidBase64",
				Podman: "invalidBase64"}},
		{"newline", `{"auth": "` + basic("u", "p\n") + `"}`,
			map[Rules]string{Docker: "u p\n", Kubelet: "u p\n", Podman: "u p\n", ORAS: "u p\n"}},
		{"no user", `{"auth": "` + basic("", "p") + `"}`,
			map[Rules]string{Docker: "noUser", ORAS: " p", Kubelet: " p", Podman: " p", DockerEnv: "noUser"}},
		{"no colon", `{"auth": "dXU="}`,
			map[Rules]string{Docker: "noPassword", ORAS: "noPassword", Kubelet: "noPassword", Podman: "noPassword"}},
		{"auth wins", `{"username": "a", "password": "b", "auth": "` + basic("u", "p") + `"}`,
			map[Rules]string{Docker: "u p", ORAS: "u p", Kubelet: "u p", Podman: "u p", DockerEnv: "wrongShape"}},
		{"no auth", `{"username": "a", "password": "b"}`,
			map[Rules]string{Docker: "a b", ORAS: "a b", Kubelet: "a b", Podman: " ", DockerEnv: "wrongShape"}},
		{"empty", `{}`, map[Rules]string{Docker: " ", ORAS: " ", Kubelet: " ", Podman: " ", DockerEnv: "authMissing"}},
		{"number", `{"auth": 5}`, map[Rules]string{Docker: "wrongShape", ORAS: "wrongShape", Kubelet: "wrongShape", Podman: "wrongShape"}},
		{"text", `"x"`, map[Rules]string{Docker: "wrongShape", ORAS: "wrongShape", Kubelet: "wrongShape", Podman: "wrongShape"}},
	} {
		c := parse(t, `{"auths": {"r.test": `+test.entry+`}}`)
		for rules, want := range test.want {
			e := c.Entries(rules)[0]
			got := e.Problem
			if got == "" {
				got = e.Credential.Username + " " + e.Credential.Password.Reveal()
			}
			if got != want {
				t.Errorf("%s by %v: %q, want %q", test.name, rules, got, want)
			}
			fatal := e.Problem != "" && rules != ORAS && (rules != Podman || e.Problem == "wrongShape")
			if rejected := c.Rejected(rules); (rejected != nil) != fatal {
				t.Errorf("%s by %v: rejected %v", test.name, rules, rejected)
			}
		}
	}
}

func TestHelpers(t *testing.T) {
	text := `{"auths": {"r.test": {"auth": "` + basic("u", "p") + `"}}, "credsStore": "desktop",
		"credHelpers": {"h.test": "ecr-login", "r.test": ""}}`
	for _, test := range []struct {
		rules           Rules
		reference, want string
		fromStore       bool
		entries         int
	}{
		{Docker, "h.test/a", "ecr-login", false, 0},
		{Docker, "x.test/a", "desktop", true, 0},
		{Docker, "r.test/a", "", false, 1},
		{ORAS, "r.test/a", "desktop", true, 0},
		{Podman, "h.test/a", "ecr-login", false, 0},
		{Podman, "x.test/a", "", false, 0},
		{Kubelet, "h.test/a", "", false, 0},
		{Kubelet, "r.test/a", "", false, 1},
	} {
		c := parse(t, text).Lookup(test.rules, test.reference)
		if c.Helper != test.want || c.FromStore != test.fromStore || len(c.Entries) != test.entries {
			t.Errorf("%v for %s: %+v", test.rules, test.reference, c)
		}
	}
}

func TestRejectedFiles(t *testing.T) {
	for _, test := range []struct {
		text     string
		rejected []Rules
		line     int
	}{
		{"\ufeff{}", []Rules{Docker, ORAS, Podman, Kubelet, DockerEnv}, 1},
		{"", []Rules{Podman, Kubelet}, 0},
		{"{}\n{}", []Rules{Podman, Kubelet, DockerEnv}, 1},
		{"{\n}\n{}", []Rules{Podman, Kubelet, DockerEnv}, 2},
		{"null", nil, 0},
		{"[]", []Rules{Docker, ORAS, Podman, Kubelet, DockerEnv}, 1},
		{"{\n\"auths\":\n[]}", []Rules{Docker, ORAS, Podman, Kubelet, DockerEnv}, 3},
		{"{\n\"credsStore\": 5}", []Rules{Docker, ORAS, DockerEnv}, 2},
		{"{\n\"httpHeaders\": {\"a\": 1}}", []Rules{Docker, Kubelet, DockerEnv}, 2},
		{"{\n\"HttpHeaders\": \"a\"}", []Rules{Docker, Kubelet, DockerEnv}, 2},
		{"{\n\"credHelpers\": {\"a\": {}}}", []Rules{Docker, ORAS, Podman, DockerEnv}, 2},
	} {
		c := parse(t, test.text)
		for _, rules := range []Rules{Docker, ORAS, Podman, Kubelet, DockerEnv} {
			got := c.Rejected(rules)
			if (got != nil) != slices.Contains(test.rejected, rules) || got != nil && got.Line != test.line {
				t.Errorf("%q by %v: %+v", test.text, rules, got)
			}
		}
	}
}

func TestLines(t *testing.T) {
	c := parse(t, "\n\n{\n \"auths\": {\n  \"a\": {},\n\n  \"b\":\n  {} }, \n \"credsStore\": \"x\" }")
	if e := c.Entries(Docker); e[0].Line != 5 || e[1].Line != 7 || c.StoreLine != 9 {
		t.Errorf("%+v %+v %d", e[0], e[1], c.StoreLine)
	}
}

func TestLegacy(t *testing.T) {
	c, err := Parse([]byte(`{"r.test/v1": {"auth": "`+basic("u", "p")+`"}}`), true)
	if err != nil {
		t.Fatal(err)
	}
	if got := keysOf(c.Lookup(Podman, "r.test/a/b")); !slices.Equal(got, []string{"r.test/v1"}) {
		t.Errorf("%q", got)
	}
}

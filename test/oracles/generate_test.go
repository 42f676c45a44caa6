package oracles_test

import (
	"encoding/base64"
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

var (
	keyHosts = []string{"r.test", "r.test:5000", "r.test:443", "R.test", "a.r.test", "docker.io", "index.docker.io", "registry-1.docker.io",
		"localhost", "localhost:5000",
		"127.0.0.1:5000", "*.r.test", "*.test", "r.*", "*", "*.test:5000", "[p-s].test", "u:p@r.test", "r.test:port", ""}
	schemes  = []string{"", "", "", "https://", "https://", "http://", "ftp://"}
	keyPaths = []string{"", "", "", "/", "/v1/", "/v2/", "/v1", "/team", "/team/", "/team/app", "/teamwork", "/library",
		"/v2/team", "/v1/team", "/a%20b"}
	hosts = []string{"r.test", "r.test", "r.test:5000", "R.test", "a.r.test", "docker.io", "index.docker.io", "registry-1.docker.io",
		"localhost", "localhost:5000", "127.0.0.1:5000"}
	paths = []string{"team", "team/app", "team/app/x", "teamwork/app", "library/nginx", "other"}
)

// testCase is a file of credentials and a reference.
type testCase struct {
	config    string
	legacy    bool // a .dockercfg
	reference string
}

func basic(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// entry generates the value of an entry. Most can be used; others are what people and programs really write.
func entry(t *rapid.T) string {
	user, password := fmt.Sprintf("u%d", rapid.IntRange(0, 9).Draw(t, "user")), strings.Repeat("p", rapid.IntRange(1, 3).Draw(t, "length"))
	good := fmt.Sprintf(`{"auth": %q}`, basic(user+":"+password))
	return rapid.SampledFrom([]string{
		good, good, good, good, good, good, good, good, good, good, good, good,
		`{}`, `null`,
		fmt.Sprintf(`{"username": %q, "password": %q}`, user, password),
		fmt.Sprintf(`{"username": %q, "password": "x", "auth": %q}`, "other", basic(user+":"+password)),
		fmt.Sprintf(`{"username": %q}`, user),
		fmt.Sprintf(`{"auth": %q, "identitytoken": "i%s"}`, basic(user+":"), user),
		fmt.Sprintf(`{"identitytoken": "i%s"}`, user),
		fmt.Sprintf(`{"registrytoken": "r%s"}`, user),
		fmt.Sprintf(`{"Auth": %q, "email": "a@b.test"}`, basic(user+":"+password)),
		fmt.Sprintf(`{"auth": %q, "email": null, "other": [1]}`, basic(user+":"+password+"\n")),
		fmt.Sprintf(`{"auth": %q}`, basic(user+":a:b:c")),
		fmt.Sprintf(`{"auth": %q}`, basic(user+":\x00"+password+"\x00")),
		rapid.SampledFrom([]string{
			good,
			fmt.Sprintf(`{"auth": %q}`, strings.TrimRight(basic(user+":"+password), "=")),
			fmt.Sprintf(`{"auth": %q}`, basic(user)),
			fmt.Sprintf(`{"auth": %q}`, basic(":"+password)),
			fmt.Sprintf(`{"auth": %q}`, basic(user+":"+password)+"="),
			`{"auth": "not base64!"}`, `{"auth": "YTpi\nYw=="}`, `{"auth": 5}`, `{"identitytoken": {}}`, `{"email": 5}`, `"text"`, `[]`,
		}).Draw(t, "bad"),
	}).Draw(t, "entry")
}

func key(t *rapid.T) string {
	return rapid.SampledFrom(schemes).Draw(t, "scheme") + rapid.SampledFrom(keyHosts).Draw(t, "key host") +
		rapid.SampledFrom(keyPaths).Draw(t, "key path")
}

// generate returns a file and a reference that some of its keys probably match.
func generate(t *rapid.T) testCase {
	c := testCase{legacy: rapid.IntRange(0, 9).Draw(t, "legacy") == 0}
	c.reference = rapid.SampledFrom(hosts).Draw(t, "host") + "/" + rapid.SampledFrom(paths).Draw(t, "path")
	near, _, _ := strings.Cut(c.reference, "/")
	var entries []string
	for range rapid.IntRange(0, 5).Draw(t, "entries") {
		k := key(t)
		switch rapid.IntRange(0, 5).Draw(t, "near") {
		case 0:
			k = near + rapid.SampledFrom(keyPaths).Draw(t, "near path")
		case 1:
			k = rapid.SampledFrom(schemes).Draw(t, "near scheme") + near + rapid.SampledFrom(keyPaths).Draw(t, "near path")
		case 2:
			k = "https://index.docker.io/v1/"
		}
		entries = append(entries, fmt.Sprintf("%q: %s", k, entry(t)))
	}
	c.config = "{" + strings.Join(entries, ",\n") + "}"
	if c.legacy {
		return c
	}
	members := []string{`"auths": ` + c.config}
	if rapid.IntRange(0, 4).Draw(t, "helpers") == 0 {
		members = append(members, fmt.Sprintf(`"credHelpers": {%q: %q, %q: %q}`, near,
			rapid.SampledFrom([]string{"", "one"}).Draw(t, "helper"),
			rapid.SampledFrom([]string{"https://index.docker.io/v1/", "docker.io", "index.docker.io", "other.test"}).Draw(t, "helper host"),
			"two"))
	}
	if rapid.IntRange(0, 9).Draw(t, "store") == 0 {
		members = append(members, `"credsStore": "three"`)
	}
	members = rapid.Permutation(members).Draw(t, "members")
	c.config = "{" + strings.Join(members, ",\n") + "}"
	switch rapid.IntRange(0, 40).Draw(t, "text") {
	case 0:
		c.config = "\ufeff" + c.config
	case 1:
		c.config += "\n{}"
	case 2:
		c.config = ""
	case 3:
		c.config = rapid.SampledFrom([]string{"null", "[]", `{"auths": []}`, `{"auths": null}`, `{"credHelpers": 5}`, `{"credsStore": 5}`,
			`{"credHelpers": {"a": 5}}`}).Draw(t, "shape")
	}
	return c
}

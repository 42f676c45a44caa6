package definitions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/regwarden/regwarden/definitions"
)

// The values of YAML have the types that they would have in JSON, so that the same decoder accepts and refuses them.
func TestDefinitionJSON(t *testing.T) {
	const text = `
base: &base {type: basic, username: robot}
endpoint: https://registry.example.com # the port is 443
empty: ~
on: yes
number: 12
hex: 0x1F
day: 2026-06-01
auth:
  <<: *base
  username: other
  tls:
    enabled: true
    ca: |
      line 1
      line 2
list: [a, 1.5, false]
`
	body, err := definitions.DefinitionJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	want := map[string]any{
		"base": map[string]any{"type": "basic", "username": "robot"}, "endpoint": "https://registry.example.com", "empty": nil, "on": "yes",
		"number": 12.0, "hex": "0x1F", "day": "2026-06-01", "list": []any{"a", 1.5, false},
		"auth": map[string]any{"type": "basic", "username": "other", "tls": map[string]any{"enabled": true, "ca": "line 1\nline 2\n"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefinitionJSONReturnsJSONUnchanged(t *testing.T) {
	for _, text := range []string{"", " \n{\"a\": 1, \"a\": 2}", "[1"} {
		if body, err := definitions.DefinitionJSON([]byte(text)); err != nil || string(body) != text {
			t.Errorf("%q became %q, %v", text, body, err)
		}
	}
}

func TestDefinitionJSONErrors(t *testing.T) {
	bomb := "a0: &a0 " + strings.Repeat("x", 100_000) + "\n"
	for _, level := range []string{"1", "2", "3"} {
		previous := string(level[0] - 1)
		bomb += "a" + level + ": &a" + level + " [" + strings.Repeat("*a"+previous+", ", 20) + "]\n"
	}
	for name, test := range map[string]struct{ text, want string }{
		"syntax": {"a: b: c", "is not valid YAML: line 1: mapping values are not allowed in this context"},
		"undefined alias": {"endpoint: x\nauth: {password: *hunter2 }",
			"is not valid YAML: line 1: an alias refers to an anchor that does not exist; quote a value that begins with *"},
		"two documents":      {"a: 1\n---\nb: 2", "has 2 YAML documents, and a definition is one"},
		"text":               {"just text", "must be JSON or YAML with the fields of a definition"},
		"the same key twice": {"endpoint: a\nauth: {}\nendpoint: b", "is not valid YAML: line 3 repeats a key of line 1"},
		"key of a list":      {"a: 1\n[1, 2]: 3", "is not valid YAML: line 2: a key is not a scalar"},
		"expanding aliases":  {bomb, "is not valid YAML: file exceeds a limit: its aliases repeat more than 1009 KiB"},
		"alias of itself":    {"a: &a\n  b: *a", "is not valid YAML: line 2: a value contains itself by an alias"},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := definitions.DefinitionJSON([]byte(test.text))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %.80q, %v; want %s", body, err, test.want)
			}
		})
	}
}

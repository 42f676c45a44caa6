package node

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustYAML(t *testing.T, text string) []*Node {
	t.Helper()
	documents, err := YAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// plain returns what a tree has, for comparison: line:value of scalars.
func plain(n *Node) any {
	switch {
	case n.IsObject():
		members := map[string]any{}
		for _, p := range n.Pairs() {
			members[p.Key] = plain(p.Value)
		}
		return members
	case n.IsArray():
		var items []any
		for _, item := range n.Items() {
			items = append(items, plain(item))
		}
		return items
	}
	return fmt.Sprintf("%d:%s", n.Line, n.Text())
}

func TestYAMLAndJSONAreTheSameTree(t *testing.T) {
	want := map[string]any{"a": "2:1", "b": []any{"4:x", "5:true", map[string]any{"c": "6:", "d": "7:5m"}}}
	inYAML := mustYAML(t, "---\na: 1\nb:\n- x\n- true\n- c:\n  d: 5m\n")
	inJSON, err := JSON([]byte("{\n\"a\": 1,\n\"b\": [\n\"x\",\ntrue, {\n\"c\": null,\n\"d\": \"5m\"}]}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []*Node{inYAML[0], inJSON} {
		if diff := cmp.Diff(want, plain(root)); diff != "" {
			t.Error(diff)
		}
		b := root.Get("b").Items()
		if !root.Get("b", "nothing").IsObject() && b[0].IsText() && !b[0].Bool() && b[1].Bool() && !b[1].IsText() && root.Size() == 8 {
			continue
		}
		t.Errorf("kinds or size %d are wrong", root.Size())
	}
}

func TestGetReturnsLastOfDuplicates(t *testing.T) {
	inJSON, err := JSON([]byte(`{"a": 1, "a": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []*Node{inJSON, mustYAML(t, "a: 1\na: 2\n")[0]} {
		if got := root.Get("a").Text(); got != "2" || len(root.Pairs()) != 2 {
			t.Errorf("got %s of %v", got, root.Pairs())
		}
	}
}

func TestMergeKeys(t *testing.T) {
	documents := mustYAML(t, `
base: &base {host: a, port: 1}
other: &other {port: 2, path: p}
one: {port: 3, <<: *base}
two: {<<: [*base, *other], host: b}
`)
	want := map[string]any{"host": "2:a", "port": "4:3"}
	if diff := cmp.Diff(want, plain(documents[0].Get("one"))); diff != "" {
		t.Error(diff)
	}
	want = map[string]any{"host": "5:b", "port": "2:1", "path": "3:p"}
	if diff := cmp.Diff(want, plain(documents[0].Get("two"))); diff != "" {
		t.Error(diff)
	}
}

func TestDocuments(t *testing.T) {
	tests := []struct {
		name, text string
		want       []any
		problems   []string
	}{
		{"several", "a: 1\n---\n# nothing\n---\nb: 2\n--- c\n", []any{map[string]any{"a": "1:1"}, map[string]any{"b": "5:2"}, "6:c"}, nil},
		{"directives and comments come first", "# comment\n%YAML 1.1\n---\na: 1\n", []any{map[string]any{"a": "4:1"}}, nil},
		{"end marker", "a: 1\n...\n---\nb: 2\n", []any{map[string]any{"a": "1:1"}, map[string]any{"b": "4:2"}}, nil},
		{"lines that end with CR", "a: 1\r---\rb: 2\r", []any{map[string]any{"a": "1:1"}, map[string]any{"b": "3:2"}}, nil},
		{"marker in a block of text", "a: |\n  ---\n  x\nb: 2\n", []any{map[string]any{"a": "1:---\nx\n", "b": "4:2"}}, nil},
		{"byte order mark and CRLF", "\ufeffa: 1\r\n---\r\nb: 2\r\n", []any{map[string]any{"a": "1:1"}, map[string]any{"b": "3:2"}}, nil},
		{"empty", "", nil, nil},
		{"bad one", "a: 1\n---\nb: [\n---\nc: 3\n---\n\td\n", []any{map[string]any{"a": "1:1"}, map[string]any{"c": "5:3"}},
			[]string{"line 3: did not find expected node content", "line 7: found character that cannot start any token"}},
		{"bad first line", "]", nil, []string{"line 1: did not find expected node content"}},
		{"anchor of another document", "a: &x 1\n---\nb: *x\n", []any{map[string]any{"a": "1:1"}},
			[]string{"line 2: an alias refers to an anchor that does not exist; quote a value that begins with *"}},
		{"a password that begins with *", "password: *hunter2\n", nil,
			[]string{"line 1: an alias refers to an anchor that does not exist; quote a value that begins with *"}},
		{"cycle", "a: 1\n---\nb: &b [*b]\n", []any{map[string]any{"a": "1:1"}}, []string{"line 3: a value contains itself by an alias"}},
		{"cycle by merge key", "a: &a\n  <<: *a\n", nil, []string{"line 2: a value contains itself by an alias"}},
		{"key that is an object", "a: 1\n{{ b }}: 2\n", nil, []string{"line 2: a key is not a scalar"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			documents, err := YAML([]byte(tt.text))
			var got []any
			for _, d := range documents {
				got = append(got, plain(d))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			var problems []string
			if list, ok := errors.AsType[SyntaxErrors](err); ok {
				for _, e := range list {
					problems = append(problems, e.Error())
				}
			}
			if diff := cmp.Diff(tt.problems, problems); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "line 1: EOF",
		"{\n\"hunter2\": \"x\" 1}":     "line 2: invalid character '1' after object value (expecting ',' or '}')",
		"{}\n{}":                       "line 2: text follows the JSON value",
		"{\"a\": {\"hunter2\": [1,]}}": "line 1: invalid character ',' at start of value",
	} {
		if _, err := JSON([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

package node_test

import (
	"testing"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

func TestJSON5(t *testing.T) {
	root, err := node.JSON5([]byte("\ufeff" + `// comment with "quotes'
{
  unquoted: 'single "double" \'escaped\' \x41\u00e9\
next', /* comment
  over lines */ "$schema": "https://example.com//x", // not a comment in the text
  list: [1, 2.5, true, null,
    {a_b: 'tab\t'}, ], // trailing
  'key with space' : "\/\n",
}
// end`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		key, want string
		line      int
	}{
		{"unquoted", `single "double" 'escaped' Aénext`, 3}, {"$schema", "https://example.com//x", 5}, {"key with space", "/\n", 8},
	} {
		if n := root.Get(test.key); n.Text() != test.want || n.Line != test.line {
			t.Errorf("%s is %q in line %d, want %q in line %d", test.key, n.Text(), n.Line, test.want, test.line)
		}
	}
	list := root.Get("list").Items()
	if len(list) != 5 || list[1].Text() != "2.5" || !list[2].Bool() || list[4].Get("a_b").Text() != "tab\t" || list[4].Line != 7 {
		t.Errorf("the list has %d elements: %+v", len(list), list)
	}
	for text, want := range map[string]string{
		"{a: 1}": "a", "{z: 1}": "z", "{A: 1}": "A", "{Z: 1}": "Z", "{_a: 1}": "_a", "{$a: 1}": "$a", "{a1_$é: 1}": "a1_$é",
		"{a: 1} //": "a", "{a: 1} // end\n": "a", "/**/{a: 1}": "a", "//\n{a: 1}": "a", "{'a\\\nb': 1}": "ab",
		"{'a\\\r\nb': 1}": "ab", `{'\b\0': 1}`: "\b\x00",
		`{'\\': 1}`: `\`,
	} {
		root, err := node.JSON5([]byte(text))
		if err != nil || len(root.Pairs()) != 1 || root.Pairs()[0].Key != want || root.Pairs()[0].Value.Text() != "1" {
			t.Errorf("%s: %+v, %v, want the key %s", text, root, err, want)
		}
	}
	for _, text := range []string{"{a: 'b\\", "{é: 1}", "true}", "", "{a: 'hunter2}", "{a: b}", "{,}", "{a: 1,,}",
		"module.exports = {a: 1}", `{"a": 1} /* no end`} {
		if n, err := node.JSON5([]byte(text)); err == nil && text != `{"a": 1} /* no end` {
			t.Errorf("%s is %+v", text, n)
		}
	}
}

package node_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

func TestTOMLHasOrderAndLines(t *testing.T) {
	root, err := node.TOML([]byte(`top = 1
[host."b"]
list = ["x",
  "y"]
[host."a"]
on = true
[host."a".sub]
k = '''text'''
[[pair]]
n = "1"
[[pair]]
n = "2"
[pair.deep]
z = "3"
[inline]
x = {y.z = "4"}
d.e = "5"
`))
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, p := range root.Get("host").Pairs() {
		hosts = append(hosts, fmt.Sprint(p.Key, p.KeyLine))
	}
	if got := strings.Join(hosts, " "); got != "b2 a5" {
		t.Errorf("hosts %s", got)
	}
	if y := root.Get("host", "b", "list").Items()[1]; y.Text() != "y" || y.Line != 4 {
		t.Errorf("item %q in line %d", y.Text(), y.Line)
	}
	if !root.Get("host", "a", "on").Bool() || root.Get("host", "a", "sub", "k").Text() != "text" || root.Get("top").IsText() {
		t.Error("values of the wrong type")
	}
	pairs := root.Get("pair").Items()
	if len(pairs) != 2 || pairs[1].Get("deep", "z").Text() != "3" || pairs[1].Get("n").Line != 12 {
		t.Errorf("array of tables: %v", pairs)
	}
	if x := root.Get("inline", "x"); !x.IsInline() || x.Get("y", "z").Text() != "4" || !root.Get("inline", "d").IsInline() ||
		root.Get("inline").IsInline() {
		t.Error("inline tables")
	}
}

func TestTOMLErrors(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		line   int
		reason error
	}{
		"syntax":          {"a = 1\nb = hunter2", 2, nil},
		"duplicate key":   {"a = 1\n\na = 2", 3, node.ErrType},
		"wrong type":      {"typed = 1", 1, node.ErrType},
		"many values":     {strings.Repeat("[[a]]\n", 20_000), 8_000, node.ErrLimit},
		"deep key":        {strings.Repeat("a.", 200) + "a = 1", 1, node.ErrLimit},
		"deep value":      {"a = " + strings.Repeat("[", 200) + strings.Repeat("]", 200), 1, node.ErrLimit},
		"deeper value":    {"a = " + strings.Repeat("[", 500_000), 1, nil},
		"deep header":     {"[" + strings.Repeat("a.", 200) + "a]", 1, node.ErrLimit},
		"large":           {strings.Repeat("#", 2<<20), 0, node.ErrLimit},
		"scalar as table": {"a = 1\n[a.b]\nc = 1", 2, node.ErrType},
		"array as table":  {"a = [1]\n[a.b]\nc = 1", 2, node.ErrType},
	} {
		t.Run(name, func(t *testing.T) {
			var into struct {
				Typed string         `toml:"typed"`
				A     map[string]any `toml:"-"`
			}
			err := node.DecodeTOML([]byte(c.text), &into)
			var at *node.TOMLError
			if !errors.As(err, &at) || at.Line != c.line || c.reason != nil && !errors.Is(err, c.reason) ||
				strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v in line %+v, want line %d", err, at, c.line)
			}
		})
	}
}

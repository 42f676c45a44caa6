package node_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

func TestHCL(t *testing.T) {
	root, err := node.HCL([]byte("\ufeff" + `
a = "x\n\t\"\\\u00e9$${y}%%{z}" # comment
b = [1, "two", true, null, [3,],] // comment
c = { d = "e", "f" : "g"
  h = var.i
}
j = "${k["}"]}" /* comment
 over lines */
l = <<END
first $5
  second
END
m = <<-END
    first
      second

    END
n "label" other { o = 1 }
n "label" "again" {}
p = q ? "r" : <<END
s }
END
t = (
  1 + 2)
u = [for v in w : "x"]
y = "%{ if true }z%{ endif }"
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path       string
		want       string
		line       int
		expression bool
	}{
		{"a", "x\n\t\"\\é${y}%{z}", 2, false},
		{"c d", "e", 4, false},
		{"c f", "g", 4, false},
		{"c h", "", 5, true},
		{"j", "", 7, true},
		{"l", "first $5\n  second\n", 9, false},
		{"m", "first\n  second\n\n", 13, false},

		{"p", "", 20, true},
		{"t", "", 23, true},
		{"y", "", 26, true},
	} {
		n := root.Get(strings.Fields(test.path)...)
		if n == nil || n.Text() != test.want || n.IsExpression() != test.expression || n.Line != test.line {
			t.Errorf("%s is %+v %q, want %q (expression: %v) in line %d", test.path, n, n.Text(), test.want, test.expression, test.line)
		}
	}
	b := root.Get("b").Items()
	if len(b) != 5 || b[0].Text() != "1" || !b[1].IsText() || !b[2].Bool() || len(b[4].Items()) != 1 {
		t.Errorf("b has %d elements: %v", len(b), b)
	}
	if first := root.Pairs()[6]; first.Key != "n" || first.Value.Get("label", "other", "o").Text() != "1" {
		t.Errorf("the first block is %+v", first)
	}
	if last := root.Pairs()[7]; last.Key != "n" || last.Value.Get("label", "again") == nil {
		t.Errorf("the second block is %+v", last)
	}
}

func TestHCLErrors(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"block without end":   {"a {\n b = 1", "line 2: a block has no end"},
		"text without end":    {"a = \"hunter2", "line 1: a text in quotes has no end"},
		"heredoc without end": {"a = <<END\nhunter2\n", "line 3: a text that begins with << has no end"},
		"bracket":             {"a = hunter2)\n", "line 1: a bracket has no beginning"},
		"not HCL":             {"hunter2: x", "line 1: an attribute or block is expected"},
		"symbol":              {"\n\n@", "line 3: the name of an attribute or block is expected"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := node.HCL([]byte(test.text)); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	for _, text := range []string{
		"a = " + strings.Repeat("[", 1000), strings.Repeat("a {", 1000), "a = [" + strings.Repeat("1,", 1_000_001) + "]",
	} {
		if _, err := node.HCL([]byte(text)); !errors.Is(err, node.ErrLimit) {
			t.Errorf("%.20s… gives %v", text, err)
		}
	}
}

// TestWhereValuesEnd has values that are hard to skip, each before one that must be read.
func TestWhereValuesEnd(t *testing.T) {
	for _, value := range []string{
		`0`, `9`, `-1`, `"${"a"}"`, `"${"a${"b"}c"}"`, `"${"%{ if a }b%{ endif }"}"`, `"${"\"}"}"`, `"${"$a}"}"`, `"${"%a}"}"`,
		`"${ {a = "}"}["a"] }"`, "a ? b : <<-END\n  c }\n  END", "a ? b : <<END\nc }\nEND", "<<END\n${a}\nEND", "<<END\n%{ if a }\nEND",
		"(\n 1 # )\n // )\n /* ) */ + 2)", "{ \"${a}\" = 1 }", "{ (a) = 1 }", "{ = 1 }",
		"[for a in b : a]", "a /* } */ + 1", "1 /*/ c = 2 */",
		"1 /**/", "1 # a", "1 // a", "a << b", "a <",
	} {
		root, err := node.HCL([]byte("before = 5\na = " + value + "\nlast = 7\n"))
		if err != nil || root.Get("last").Text() != "7" || len(root.Pairs()) != 3 {
			t.Errorf("%s: %v, %d values", value, err, len(root.Pairs()))
		}
	}
	for value, want := range map[string]string{"0": "0", "9": "9", "10": "10", "1.5": "1.5", "-1": "", "<<END\n$a\nEND": "$a\n",
		"<<END\n${a}\nEND": "", "<<END\n%{ a }\nEND": "", `"${a}"`: "", `"a"`: "a"} {
		root, err := node.HCL([]byte("a = " + value + "\n"))
		if a := root.Get("a"); err != nil || a.Text() != want || a.IsExpression() != (want == "") {
			t.Errorf("%s: %q, %v", value, a.Text(), err)
		}
	}
	for _, text := range []string{"}\na = 1\n", "a = b ? c : <<END\nd\n", "a = 1 }\n"} {
		if root, err := node.HCL([]byte(text)); err == nil {
			t.Errorf("%s is %+v", text, root)
		}
	}
}

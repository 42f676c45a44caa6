package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// nested returns a value in so many others.
func nested(open, value, end string, depth int) string {
	return strings.Repeat(open, depth) + value + strings.Repeat(end, depth)
}

// TestDepthUpToTheLimit: in each language and each kind of value, so many may be in each other, and one more may not.
func TestDepthUpToTheLimit(t *testing.T) {
	read := map[string]func([]byte) error{
		"YAML": func(data []byte) error { _, err := YAML(data); return err },
		"JSON": func(data []byte) error { _, err := JSON(data); return err },
		"TOML": func(data []byte) error { _, err := TOML(data); return err },
		"HCL":  func(data []byte) error { _, err := HCL(data); return err },
	}
	for _, tt := range []struct {
		language, name string
		text           func(depth int) string
	}{
		{"YAML", "arrays", func(depth int) string { return nested("[", "1", "]", depth) }},
		{"YAML", "objects", func(depth int) string { return nested("{a: ", "1", "}", depth) }},
		{"YAML", "arrays by alias", func(depth int) string {
			return "- &a " + nested("[", "1", "]", 50) + "\n- " + nested("[", "*a", "]", depth-51) + "\n"
		}},
		{"YAML", "objects by alias", func(depth int) string {
			return "a: &a " + nested("{a: ", "1", "}", 50) + "\nb: " + nested("{a: ", "*a", "}", depth-51) + "\n"
		}},
		{"JSON", "arrays", func(depth int) string { return nested("[", "1", "]", depth) }},
		{"JSON", "objects", func(depth int) string { return nested(`{"a":`, "1", "}", depth) }},
		{"TOML", "arrays", func(depth int) string { return "a = " + nested("[", "1", "]", depth) }},
		{"TOML", "tables", func(depth int) string { return "a = " + nested("{b = ", "1", "}", depth) }},
		{"TOML", "headers", func(depth int) string { return "[" + strings.Repeat("a.", depth) + "a]" }},
		{"HCL", "lists", func(depth int) string { return "a = " + nested("[", "1", "]", depth-1) }},
		{"HCL", "objects", func(depth int) string { return "a = " + nested("{a = ", "1", "}", depth-1) }},
		{"HCL", "blocks", func(depth int) string { return nested("a {\n", "", "}\n", depth) }},
		{"HCL", "labels", func(depth int) string { return strings.Repeat("a ", depth) + "{}" }},
	} {
		if err := read[tt.language]([]byte(tt.text(maxDepth))); err != nil {
			t.Errorf("%s, %s: %v", tt.language, tt.name, err)
		}
		if err := read[tt.language]([]byte(tt.text(maxDepth + 1))); !errors.Is(err, ErrLimit) {
			t.Errorf("%s, %s, one more: %v", tt.language, tt.name, err)
		}
	}
}

// TestValuesUpToTheLimit: a file may have as many values as its size allows.
func TestValuesUpToTheLimit(t *testing.T) {
	const values, size = 2 * smallNodes, smallNodes * bytesOfJSON // the array is one of them
	text := "[" + strings.Repeat("1,", values-2) + "1]"
	for length, want := range map[int]bool{size: true, size - 1: false} {
		if _, err := JSON([]byte(text + strings.Repeat(" ", length-len(text)))); (err == nil) != want {
			t.Errorf("%d values in %d bytes: %v", values, length, err)
		}
	}
}

// TestDocumentsShareTheLimitOfValues: each of them is below it.
func TestDocumentsShareTheLimitOfValues(t *testing.T) {
	document := "---\n" + strings.Repeat("- a\n", smallNodes/2)
	if _, err := YAML([]byte(document)); err != nil {
		t.Fatal(err)
	}
	if _, err := YAML([]byte(strings.Repeat(document, 4))); !errors.Is(err, errValues) {
		t.Errorf("four documents: %v", err)
	}
}

// TestRepetitionUpToTheLimit counts values and texts that aliases stand for.
func TestRepetitionUpToTheLimit(t *testing.T) {
	for nodes := range int32(3) {
		texts := int32(maxRepetitionOf(0)) - nodes*costOfNode
		for more, want := range map[int32]bool{0: true, 1: false} {
			c := converter{yamlReader: &yamlReader{}}
			if err := c.repeat(nodes, texts+more); (err == nil) != want || err != nil && !errors.Is(err, ErrLimit) {
				t.Errorf("%d values and %d bytes: %v", nodes, texts+more, err)
			}
		}
	}
}

// TestLinesOfLaterDocuments count those of the documents before.
func TestLinesOfLaterDocuments(t *testing.T) {
	second := mustYAML(t, "a: 1\n---\nb:\n  - c\n  - d: e\nf: &f g\nh: *f\n")[1]
	b := second.Get("b")
	got := fmt.Sprint(second.Line, b.Line, b.Items()[0].Line, b.Items()[1].Line, second.Get("f").Line, second.Get("h").Line)
	if want := fmt.Sprint(3, 4, 4, 5, 6, 6); got != want {
		t.Errorf("lines %s, want %s", got, want)
	}
	for _, text := range []string{nested("[", "1", "]", maxDepth+1), "[&a [1], " + nested("[", "*a", "]", maxDepth) + "]"} {
		_, err := YAML([]byte("a: 1\n---\n\n" + text))
		if err == nil || !strings.Contains(err.Error(), "line 4 is nested") {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

// TestEncodeJSON: a text is one even if it looks like a number, and depth and length are limited.
func TestEncodeJSON(t *testing.T) {
	for text, want := range map[string]string{
		`"5"`: `"5"`, `5`: `5`, `0x1F`: `"0x1F"`, `5m`: `"5m"`, `true`: `true`, `{a: null, b: [1, x]}`: `{"a":null,"b":[1,"x"]}`,
	} {
		if got, err := mustYAML(t, text+"\n")[0].EncodeJSON(); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	if got, err := (*Node)(nil).EncodeJSON(); err != nil || string(got) != "null" {
		t.Errorf("no value: %s, %v", got, err)
	}
	for name, around := range map[string]func(*Node) *Node{
		"objects": func(n *Node) *Node { return NewObject(1, Pair{"a", 1, n}) },
		"arrays":  func(n *Node) *Node { list := newList(1, array); list.items = []*Node{n}; return list },
	} {
		n := newScalar(1, text, "x")
		for range maxDepth {
			n = around(n)
		}
		if _, err := n.EncodeJSON(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := around(n).EncodeJSON(); !errors.Is(err, ErrLimit) {
			t.Errorf("%s, one more: %v", name, err)
		}
	}
	long := newList(1, array)
	for range 3 {
		long.items = append(long.items, newScalar(1, text, strings.Repeat("x", maxEncoded/2)))
	}
	if _, err := long.EncodeJSON(); !errors.Is(err, ErrLimit) {
		t.Errorf("a long text: %v", err)
	}
}

// TestHasExpression finds a computed part wherever it is.
func TestHasExpression(t *testing.T) {
	for text, want := range map[string]bool{"a = 1": false, "a = b": true, "a = [1, b]": true, "a = [1, [2]]": false, "a = {c = d}": true,
		"a = {c = [{e = f}]}": true, "a {\n b = c\n}": true} {
		root, err := HCL([]byte(text))
		if err != nil || root.HasExpression() != want || root.Get("a").HasExpression() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestDocumentsUpToTheLimit: so many may be in a file.
func TestDocumentsUpToTheLimit(t *testing.T) {
	if documents, err := YAML([]byte(strings.Repeat("--- a\n", maxDocuments))); err != nil || len(documents) != maxDocuments {
		t.Errorf("%d documents, %v", len(documents), err)
	}
	if documents, err := YAML([]byte("a: 1\n---")); err != nil || len(documents) != 1 {
		t.Errorf("an empty one at the end: %d documents, %v", len(documents), err)
	}
	for _, text := range []string{"%TAG !a! tag:a,\n---\na: b\n", "a: b\n%TAG !a! tag:a,\n---\na: b\n"} {
		if _, err := YAML([]byte(text)); !errors.Is(err, ErrLimit) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestEstimatedValues counts what the parser would store, also between the line breaks and in the encodings that YAML knows.
func TestEstimatedValues(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a: b\n": 2, "a\r\nb": 1, "a\rb": 1, "[a]": 2, "a\u0085b": 1, "a\u2028b": 1, "a\u2029b": 1, "é": 0,
		"\x85": 0, "\x85\x00": 1, "\x00\xa8": 1, "\xa9b": 0, "-": 1, "-a": 0, "a:b": 0, "a:": 1, "'a':b": 1, ":b": 0, "\x00:b": 1,
	} {
		if got := values([]byte(text)) - values(nil); got != want {
			t.Errorf("%q: %d values, want %d", text, got, want)
		}
	}
}

// TestSame compares values wherever they are.
func TestSame(t *testing.T) {
	read := func(text string) *Node { return mustYAML(t, text+"\n")[0] }
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"a", "\n'a'", true}, {"a", "b", false}, {"5", "'5'", false}, {"[a]", "[a]", true}, {"[a]", "[b]", false}, {"[a]", "[a, a]", false},
		{"{a: 1}", "{a: 1}", true}, {"{a: 1}", "{b: 1}", false}, {"{a: 1}", "[1]", false}, {"[]", "{}", false},
	} {
		if got := Same(read(tt.a), read(tt.b)); got != tt.want {
			t.Errorf("%s and %s: %t", tt.a, tt.b, got)
		}
	}
	if !Same(nil, nil) || Same(nil, read("a")) || Same(read("a"), nil) {
		t.Error("a value is the same as none")
	}
	if At(nil, "a") != nil || At(read("{a: 1}"), "") != nil || len(At(read("{a: {b: 1}}"), "a.b")) != 1 {
		t.Error("values at a path")
	}
	for text, want := range map[string]string{"null": "null", "a": "a string", "5": "a number", "0x1F": "a string", "true": "a boolean",
		"[]": "an array", "{}": "an object"} {
		root := mustYAML(t, "a: "+text+"\n")[0]
		if got := root.Get("a").TypeName(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := (*Node)(nil).TypeName(); got != "null" {
		t.Errorf("no value: %s", got)
	}
}

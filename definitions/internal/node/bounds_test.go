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
	if _, err := YAML([]byte(strings.Repeat(document, 4))); !errors.Is(err, ErrValues) {
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

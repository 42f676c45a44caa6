package node

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// visit returns the number of values and the depth of a tree.
func visit(n *Node) (count, depth int) {
	count = 1
	children := n.Items()
	for _, p := range n.Pairs() {
		children = append(children, p.Value)
	}
	for _, child := range children {
		c, d := visit(child)
		count += c
		depth = max(depth, d+1)
	}
	return count, depth
}

// parsed returns how many values the parser stores.
func parsed(n *yaml.Node) int {
	count := 1
	for _, child := range n.Content {
		count += parsed(child)
	}
	return count
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"a: &a [1, *a]\n---\nb: {<<: {c: d}, ? e : f}\n", "[?,?,\"a\":b,:]", "- ? - ? x\n",
		"\xff\xfe-\x00 \x00a\x00", "*hunter2", "0:", "%YAML 1.1\n--- !!str |\n x\r\n...\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, err := YAML(data)
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows text of the file: %v", err)
		}
		checkTrees(t, documents)
		for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
			var document yaml.Node
			if decoder.Decode(&document) != nil {
				break
			}
			if n := parsed(&document); n > values(data) {
				t.Errorf("%d values are estimated as %d", n, values(data))
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a": [1, true, null, "x"]}`, "{\"a\":\n{\"hunter2\" 1}}", "[[[["} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := JSON(data)
		if _, ok := errors.AsType[SyntaxErrors](err); err != nil && !ok && !errors.Is(err, ErrLimit) || err != nil &&
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("unexpected error: %v", err)
		}
		if err == nil {
			checkTrees(t, []*Node{root})
		}
	})
}

func checkTrees(t *testing.T, documents []*Node) {
	total := 0
	for _, document := range documents {
		count, depth := visit(document)
		total += count
		if count > document.Size() || depth > maxDepth {
			t.Errorf("%d values, size %d, depth %d", count, document.Size(), depth)
		}
	}
	if total > maxNodes {
		t.Errorf("%d values", total)
	}
}

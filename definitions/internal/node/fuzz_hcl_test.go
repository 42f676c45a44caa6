package node

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzHCL(f *testing.F) {
	for _, seed := range []string{
		"a \"b\" c {\n d = \"x${e[\"}\"]}\\u00e9$${f}\" # g\n h = <<-I\n  j\n  I\n k = [1, { l = true, \"m\" : null }]\n}\n",
		"n = o ? <<P\nhunter2\nP\n : (q /* r */ + 1)\n", "s = \"hunter2", "t = {[(", "\ufeff%{ \"${\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := HCL(data)
		if err != nil {
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows text of the file: %v", err)
			}
			return
		}
		checkTrees(t, []*Node{root})
		if lines := bytes.Count(data, []byte("\n")) + 1; lastLine(root) > lines {
			t.Errorf("a value is in line %d of %d", lastLine(root), lines)
		}
	})
}

func lastLine(n *Node) int {
	line := n.Line
	for _, item := range n.Items() {
		line = max(line, lastLine(item))
	}
	for _, p := range n.Pairs() {
		line = max(line, p.KeyLine, lastLine(p.Value))
	}
	return line
}

// What is JSON has the same meaning as JSON5.
func FuzzJSON5(f *testing.F) {
	for _, seed := range []string{`{"a": ["\u00e9\n", 1.5e3, true, null, {}]}`, "{a: 'b\\'\\x41', /* c\n */ $d: [1,], // e\n}",
		"{'hunter2", "[tru\\\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := JSON5(data)
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows text of the file: %v", err)
		}
		if err == nil {
			checkTrees(t, []*Node{got})
		}
		want, jsonErr := JSON(data)
		if jsonErr != nil || !utf8.Valid(data) {
			return
		}
		if errors.Is(err, ErrLimit) {
			return
		}
		wantText, wantErr := want.EncodeJSON()
		gotText, gotErr := got.EncodeJSON()
		if !bytes.Equal(wantText, gotText) || (wantErr == nil) != (gotErr == nil) {
			t.Errorf("JSON5: %s, %v, %v; JSON: %s, %v", gotText, err, gotErr, wantText, wantErr)
		}
	})
}

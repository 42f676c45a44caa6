package node

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// maxEncoded limits the JSON of a value: aliases can make it much longer than the file.
const maxEncoded = 8 << 20

// EncodeJSON returns the value as JSON. A key that occurs twice in an object is an error. Numbers that JSON does not have, such as 0x1F,
// are written as text.
func (n *Node) EncodeJSON() ([]byte, error) { return n.appendJSON(nil, 0) }

func (n *Node) appendJSON(text []byte, depth int) ([]byte, error) {
	switch {
	case depth > maxDepth || len(text) > maxEncoded:
		return nil, fmt.Errorf("%w: nested more than %d times, or longer than %d MiB", ErrLimit, maxDepth, maxEncoded>>20)
	case n.IsObject():
		return n.appendObject(text, depth)
	case n.IsArray():
		return n.appendArray(text, depth)
	case n == nil || n.yaml == nil || n.scalar("!!null"):
		return append(text, "null"...), nil
	case n.scalar("!!bool"):
		return fmt.Append(text, n.Bool()), nil
	}
	value := jsontext.Value(n.yaml.Value)
	if !n.IsText() && value.IsValid() && value.Kind() == '0' {
		return append(text, value...), nil
	}
	return jsontext.AppendQuote(text, n.yaml.Value)
}

func (n *Node) appendArray(text []byte, depth int) (_ []byte, err error) {
	text = append(text, '[')
	for i, item := range n.Items() {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = item.appendJSON(text, depth+1); err != nil {
			return nil, err
		}
	}
	return append(text, ']'), nil
}

func (n *Node) appendObject(text []byte, depth int) (_ []byte, err error) {
	lines, err := n.keyLines()
	if err != nil {
		return nil, err
	}
	text = append(text, '{')
	written := map[string]bool{}
	for _, p := range n.Pairs() {
		if line, own := lines[p.Key]; written[p.Key] || own && line != p.KeyLine {
			continue // the value of a merge key, which the object's own replaces
		}
		if len(written) > 0 {
			text = append(text, ',')
		}
		written[p.Key] = true
		if text, err = jsontext.AppendQuote(text, p.Key); err != nil {
			return nil, err
		}
		if text, err = p.Value.appendJSON(append(text, ':'), depth+1); err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}

// keyLines returns the lines of the object's own keys.
func (n *Node) keyLines() (map[string]int, error) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		key := n.yaml.Content[i]
		if first, twice := lines[key.Value]; twice {
			return nil, fmt.Errorf("line %d repeats a key of line %d", key.Line, first)
		}
		if key.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d has a key that is not text", key.Line)
		}
		lines[key.Value] = key.Line
	}
	return lines, nil
}

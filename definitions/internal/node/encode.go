package node

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
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
	case n == nil || n.is(null):
		return append(text, "null"...), nil
	case n.is(boolean):
		return fmt.Append(text, n.Bool()), nil
	}
	if n.isNumber() {
		return append(text, n.value...), nil
	}
	return jsontext.AppendQuote(text, n.value)
}

// isNumber reports whether the value is a number of JSON.
func (n *Node) isNumber() bool {
	if n == nil || n.IsText() {
		return false
	}
	value := jsontext.Value(n.value)
	return value.IsValid() && value.Kind() == '0'
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
	text = append(text, '{')
	lines := map[string]int{}
	for _, p := range n.Pairs() {
		if first, twice := lines[p.Key]; twice {
			return nil, fmt.Errorf("line %d repeats a key of line %d", p.KeyLine, first)
		}
		if len(lines) > 0 {
			text = append(text, ',')
		}
		lines[p.Key] = p.KeyLine
		if text, err = jsontext.AppendQuote(text, p.Key); err != nil {
			return nil, err
		}
		if text, err = p.Value.appendJSON(append(text, ':'), depth+1); err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}

package node

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// converter makes a Node of what the YAML parser returns, with a third of its memory. What aliases stand for counts as often as it is used,
// so that a visit of the whole tree and of its texts has not many more steps than the file has bytes.
type converter struct {
	*yamlReader
	anchors map[*yaml.Node]*anchored
	line    int // lines before the document
}

// anchored is a value that aliases may refer to.
type anchored struct {
	node   *Node // nil while it is converted
	height int
}

func (c *converter) convert(from *yaml.Node, depth int) (n *Node, height int, err error) {
	switch {
	case depth > maxDepth:
		return nil, 0, tooDeep(c.line + from.Line)
	case from.Kind == yaml.AliasNode:
		return c.alias(from, depth)
	}
	c.nodes++
	if from.Anchor != "" {
		c.anchors[from] = &anchored{}
	}
	switch from.Kind {
	case yaml.MappingNode:
		n = newList(c.line+from.Line, object)
		height, err = c.members(n, from, depth)
	case yaml.SequenceNode:
		n = newList(c.line+from.Line, array)
		height, err = c.elements(n, from, depth)
	default:
		n = c.scalar(from)
	}
	if from.Anchor != "" {
		*c.anchors[from] = anchored{n, height}
	}
	from.Content = nil // the memory is not needed twice
	return n, height, err
}

func (c *converter) scalar(from *yaml.Node) *Node {
	n := newScalar(c.line+from.Line, scalarKind(from.Tag), "")
	n.block = from.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if n.kind != null {
		n.value = from.Value
		n.texts = int32(len(from.Value)) // #nosec G115 -- a file has at most 8 MiB
	}
	return n
}

func scalarKind(tag string) kind {
	switch tag {
	case "!!null":
		return null
	case "!!bool":
		return boolean
	case "!!int", "!!float":
		return number
	}
	return text
}

// costOfNode is as how many bytes of text a value counts that an alias repeats.
const costOfNode = 8

// repeat counts what an alias stands for. What all aliases of a file may stand for depends on its size.
func (c *converter) repeat(nodes, texts int32) error {
	if c.repeated += int(nodes)*costOfNode + int(texts); c.repeated > maxRepetitionOf(c.size) {
		return fmt.Errorf("%w: its aliases repeat more than %d KiB", ErrLimit, maxRepetitionOf(c.size)>>10)
	}
	return nil
}

func (c *converter) alias(from *yaml.Node, depth int) (*Node, int, error) {
	target := c.anchors[from.Alias]
	if target == nil || target.node == nil {
		return nil, 0, fmt.Errorf("line %d: a value contains itself by an alias", from.Line)
	}
	if depth+target.height > maxDepth {
		return nil, 0, tooDeep(c.line + from.Line)
	}
	return target.node, target.height, c.repeat(target.node.size, target.node.texts)
}

func (c *converter) elements(n *Node, from *yaml.Node, depth int) (height int, err error) {
	n.items = make([]*Node, 0, len(from.Content))
	for _, content := range from.Content {
		item, h, err := c.convert(content, depth+1)
		if err != nil {
			return 0, err
		}
		n.size += item.size
		n.texts += item.texts
		n.items = append(n.items, item)
		height = max(height, h+1)
	}
	return height, nil
}

func (c *converter) members(n *Node, from *yaml.Node, depth int) (height int, err error) {
	n.pairs = make([]Pair, 0, len(from.Content)/2)
	var merged []*Node
	for i := 0; i+1 < len(from.Content); i += 2 {
		key := from.Content[i]
		value, h, err := c.convert(from.Content[i+1], depth+1)
		if err != nil {
			return 0, err
		}
		height = max(height, h+1)
		n.size += value.size
		n.texts += value.texts
		if key.Tag == "!!merge" {
			merged = append(append(merged, value), value.Items()...)
			continue
		}
		if key.Kind == yaml.AliasNode {
			key = key.Alias
			if err := c.repeat(1, int32(len(key.Value))); err != nil { // #nosec G115 -- a file has at most 8 MiB
				return 0, err
			}
		}
		if key.Kind != yaml.ScalarNode {
			return 0, fmt.Errorf("line %d: a key is not a scalar", key.Line)
		}
		n.texts += int32(len(key.Value)) // #nosec G115 -- a file has at most 8 MiB
		n.pairs = append(n.pairs, Pair{key.Value, c.line + key.Line, value})
	}
	return height, c.merge(n, merged)
}

// merge adds members of other objects that n does not have. The first of them that has a member has precedence.
func (c *converter) merge(n *Node, from []*Node) error {
	if len(from) == 0 {
		return nil
	}
	own := map[string]bool{}
	for _, p := range n.pairs {
		own[p.Key] = true
	}
	for _, other := range from {
		if err := c.repeat(other.size, other.texts); err != nil {
			return err
		}
		for _, p := range other.Pairs() {
			if own[p.Key] {
				continue
			}
			own[p.Key] = true
			n.pairs = append(n.pairs, p)
			n.size += p.Value.size
			n.texts += p.Value.texts
		}
	}
	return nil
}

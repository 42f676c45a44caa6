package node

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// converter makes a Node of what the YAML parser returns, with a third of its memory. Aliases count as often as they are used, so that
// a visit of the whole tree has at most maxNodes steps.
type converter struct {
	anchors map[*yaml.Node]*anchored
	line    int  // lines before the document
	nodes   *int // of the file
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
	if err := c.count(1); err != nil {
		return nil, 0, err
	}
	if from.Anchor != "" {
		c.anchors[from] = &anchored{}
	}
	n = &Node{Line: c.line + from.Line, size: 1}
	switch from.Kind {
	case yaml.MappingNode:
		n.kind = object
		height, err = c.members(n, from, depth)
	case yaml.SequenceNode:
		n.kind = array
		height, err = c.elements(n, from, depth)
	default:
		n.kind = scalarKind(from.Tag)
		n.block = from.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
		if n.kind != null {
			n.value = from.Value
			n.size += int32(weight(from.Value)) // #nosec G115 -- a file has at most 8 MiB
		}
	}
	if from.Anchor != "" {
		*c.anchors[from] = anchored{n, height}
	}
	return n, height, err
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

func (c *converter) count(n int) error {
	if *c.nodes += n; *c.nodes > maxNodes {
		return fmt.Errorf("%w: more than %d values", ErrLimit, maxNodes)
	}
	return nil
}

// weight returns as how many further values a text counts, since an alias may repeat a long text.
func weight(text string) int { return len(text) >> 8 }

func (c *converter) alias(from *yaml.Node, depth int) (*Node, int, error) {
	target := c.anchors[from.Alias]
	if target == nil || target.node == nil {
		return nil, 0, fmt.Errorf("line %d: a value contains itself by an alias", from.Line)
	}
	if depth+target.height > maxDepth {
		return nil, 0, tooDeep(c.line + from.Line)
	}
	return target.node, target.height, c.count(target.node.Size())
}

func (c *converter) elements(n *Node, from *yaml.Node, depth int) (height int, err error) {
	n.items = make([]*Node, 0, len(from.Content))
	for _, content := range from.Content {
		item, h, err := c.convert(content, depth+1)
		if err != nil {
			return 0, err
		}
		n.size += item.size
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
		if key.Tag == "!!merge" {
			merged = append(append(merged, value), value.items...)
			continue
		}
		if key.Kind == yaml.AliasNode {
			key = key.Alias
			if err := c.count(weight(key.Value)); err != nil {
				return 0, err
			}
		}
		if key.Kind != yaml.ScalarNode {
			return 0, fmt.Errorf("line %d: a key is not a scalar", key.Line)
		}
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
		if err := c.count(len(other.pairs)); err != nil {
			return err
		}
		for _, p := range other.pairs {
			if own[p.Key] {
				continue
			}
			own[p.Key] = true
			n.pairs = append(n.pairs, p)
			n.size += p.Value.size
			if err := c.count(p.Value.Size()); err != nil {
				return err
			}
		}
	}
	return nil
}

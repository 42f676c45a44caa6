package node

import "slices"

// IsExpression reports whether the value is computed from others, which are not known here, as in HCL.
func (n *Node) IsExpression() bool { return n.is(expression) }

// HasExpression reports whether a value or a part of it is computed.
func (n *Node) HasExpression() bool {
	return n.IsExpression() || slices.ContainsFunc(n.Items(), (*Node).HasExpression) ||
		slices.ContainsFunc(n.Pairs(), func(p Pair) bool { return p.Value.HasExpression() })
}

func newScalar(line int, k kind, value string) *Node {
	return &Node{Line: line, kind: k, size: 1, value: value}
}

// NewText returns a text that a program writes in place of another one.
func NewText(line int, value string) *Node { return newScalar(line, text, value) }

// NewObject returns an object that a file has in parts.
func NewObject(line int, members ...Pair) *Node {
	n := newObject(line)
	for _, p := range members {
		n.addMember(p.KeyLine, p.Key, p.Value)
	}
	return n
}

func newObject(line int) *Node { return newList(line, object) }

// newList returns an object or array without elements.
func newList(line int, k kind) *Node {
	n := &struct {
		Node
		list
	}{Node: Node{Line: line, kind: k, size: 1}}
	n.Node.list = &n.list
	return &n.Node
}

// addMember adds a member whose value is complete, so that its size is known.
func (n *Node) addMember(line int, key string, value *Node) {
	if n.list == nil { // a value of TOML that is used as a table, which no decoder accepts
		n.list = new(list)
	}
	n.size += value.size
	n.pairs = append(n.pairs, Pair{key, line, value})
}

// MoveTo sets the line of all values of a tree that was generated.
func (n *Node) MoveTo(line int) {
	n.Line = line
	for _, p := range n.Pairs() {
		p.Value.MoveTo(line)
	}
	for _, item := range n.Items() {
		item.MoveTo(line)
	}
}

// TextLine returns the line in which a text begins: the one below the node's if it is a block of lines in YAML.
func (n *Node) TextLine() int {
	switch {
	case n == nil:
		return 0
	case n.block:
		return n.Line + 1
	}
	return n.Line
}

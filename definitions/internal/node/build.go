package node

// IsExpression reports whether the value is computed from others, which are not known here, as in HCL.
func (n *Node) IsExpression() bool { return n.is(expression) }

func newScalar(line int, k kind, value string) *Node {
	return &Node{Line: line, kind: k, size: 1, value: value}
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

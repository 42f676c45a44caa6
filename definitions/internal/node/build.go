package node

import "go.yaml.in/yaml/v3"

// expressionTag marks a value that is computed from others, which are not known here.
const expressionTag = "!expression"

// IsExpression reports whether the value is computed, as in HCL.
func (n *Node) IsExpression() bool { return n.scalar(expressionTag) }

func scalarNode(line int, tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value, Line: line}
}

func objectNode(line int) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: line}
}

func addMember(object *yaml.Node, line int, key string, value *yaml.Node) {
	object.Content = append(object.Content, scalarNode(line, "!!str", key), value)
}

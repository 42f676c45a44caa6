// Package node reads YAML and JSON into one kind of tree, whose values know their line. It limits what hostile files can cost.
package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// Limits of a file. A legitimate list of 5,000 Kubernetes objects stays below them.
const (
	maxNodes     = 1_000_000
	maxDepth     = 100
	maxAliases   = 1_000
	maxDocuments = 10_000
)

// ErrLimit means that a file exceeds a limit. It wraps the reason.
var ErrLimit = errors.New("file exceeds a limit")

// Node is a value. All methods accept nil, which is a missing value.
type Node struct {
	Line int
	yaml *yaml.Node
}

// YAML reads all documents of a file, without empty ones.
func YAML(data []byte) ([]*Node, error) {
	if structure(data) > maxNodes {
		return nil, fmt.Errorf("%w: more than %d values", ErrLimit, maxNodes)
	}
	var documents []*Node
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, hideAlias(err)
		}
		if len(documents) == maxDocuments {
			return nil, fmt.Errorf("%w: more than %d documents", ErrLimit, maxDocuments)
		}
		if err := check(&document); err != nil {
			return nil, err
		}
		if root := wrap(&document); root.yaml != nil && root.yaml.Tag != "!!null" {
			documents = append(documents, root)
		}
	}
}

// structure returns at most how many values a text has, without parsing it.
func structure(data []byte) int {
	n := 0
	for _, separator := range []string{"\n", ",", "[", "{", ": ", "- ", "? "} {
		n += bytes.Count(data, []byte(separator))
	}
	return n
}

// check limits depth and aliases. A reader that follows aliases visits nothing twice as often as it asks for, since it asks for
// members by name.
func check(root *yaml.Node) error {
	aliases := 0
	var visit func(n *yaml.Node, depth int) error
	visit = func(n *yaml.Node, depth int) error {
		if depth > maxDepth {
			return fmt.Errorf("%w: line %d is nested more than %d times", ErrLimit, n.Line, maxDepth)
		}
		if n.Kind == yaml.AliasNode {
			if aliases++; aliases > maxAliases {
				return fmt.Errorf("%w: more than %d aliases", ErrLimit, maxAliases)
			}
			return nil
		}
		for _, child := range n.Content {
			if err := visit(child, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(root, 0)
}

func wrap(n *yaml.Node) *Node {
	for n != nil && n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return &Node{}
		}
		n = n.Content[0]
	}
	for range maxDepth { // an alias may refer to an alias
		if n == nil || n.Kind != yaml.AliasNode {
			break
		}
		n = n.Alias
	}
	if n == nil {
		return nil
	}
	return &Node{Line: n.Line, yaml: n}
}

// Pair is a member of an object.
type Pair struct {
	Key     string
	KeyLine int
	Value   *Node
}

// Pairs returns the members of an object in the order of the file, with those of YAML's merge keys (<<) last; nothing for
// another kind of value.
func (n *Node) Pairs() []Pair { return n.pairs(0) }

func (n *Node) pairs(depth int) []Pair {
	if !n.IsObject() || depth > maxDepth {
		return nil
	}
	var own, merged []Pair
	for i := 0; i+1 < len(n.yaml.Content); i += 2 {
		key, value := n.yaml.Content[i], wrap(n.yaml.Content[i+1])
		if key.Tag != "!!merge" {
			own = append(own, Pair{key.Value, key.Line, value})
			continue
		}
		merged = append(merged, value.pairs(depth+1)...)
		for _, item := range value.Items() {
			merged = append(merged, item.pairs(depth+1)...)
		}
	}
	return append(own, merged...)
}

// Get returns the value at a path of keys, nil if it does not exist. Keys are case-sensitive.
func (n *Node) Get(path ...string) *Node {
	for _, key := range path {
		var next *Node
		for _, p := range n.Pairs() {
			if p.Key == key {
				next = p.Value
				break
			}
		}
		if n = next; n == nil {
			return nil
		}
	}
	return n
}

// Items returns the elements of an array, nothing for another kind of value.
func (n *Node) Items() []*Node {
	if !n.IsArray() {
		return nil
	}
	items := make([]*Node, 0, len(n.yaml.Content))
	for _, item := range n.yaml.Content {
		items = append(items, wrap(item))
	}
	return items
}

// IsObject reports whether the value has members.
func (n *Node) IsObject() bool { return n != nil && n.yaml != nil && n.yaml.Kind == yaml.MappingNode }

// IsArray reports whether the value is an array.
func (n *Node) IsArray() bool { return n != nil && n.yaml != nil && n.yaml.Kind == yaml.SequenceNode }

// IsText reports whether the value is a string: not a number, a boolean, null, an object or an array.
func (n *Node) IsText() bool { return n.scalar("!!str") }

func (n *Node) scalar(tag string) bool {
	return n != nil && n.yaml != nil && n.yaml.Kind == yaml.ScalarNode && n.yaml.Tag == tag
}

// Text returns a scalar as it is written, "" for everything else and for null.
func (n *Node) Text() string {
	if n == nil || n.yaml == nil || n.yaml.Kind != yaml.ScalarNode || n.yaml.Tag == "!!null" {
		return ""
	}
	return n.yaml.Value
}

// Bool returns whether the value is the boolean true. A string is not.
func (n *Node) Bool() bool { return n.scalar("!!bool") && strings.EqualFold(n.yaml.Value, "true") }

// JSON reads one JSON value. Of members with the same name, Get returns the first; consumers differ.
func JSON(data []byte) (*Node, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	r := jsonReader{decoder: decoder, data: data, line: 1}
	root, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text follows the JSON value")
	}
	return wrap(root), nil
}

type jsonReader struct {
	decoder *jsontext.Decoder
	data    []byte
	offset  int64
	line    int
	nodes   int
}

// here returns the line of the token that was just read.
func (r *jsonReader) here() int {
	end := r.decoder.InputOffset()
	r.line += bytes.Count(r.data[r.offset:end], []byte("\n"))
	r.offset = end
	return r.line
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	token, err := r.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		return nil, fmt.Errorf("%w: more than %d values, or nested more than %d times", ErrLimit, maxNodes, maxDepth)
	}
	n := &yaml.Node{Line: r.here(), Kind: yaml.ScalarNode}
	var end jsontext.Kind
	switch token.Kind() {
	case '{':
		n.Kind, n.Tag, end = yaml.MappingNode, "!!map", '}'
	case '[':
		n.Kind, n.Tag, end = yaml.SequenceNode, "!!seq", ']'
	case '"':
		n.Tag, n.Value = "!!str", token.String()
		return n, nil
	case 't', 'f':
		n.Tag, n.Value = "!!bool", token.String()
		return n, nil
	case '0':
		n.Tag, n.Value = "!!float", token.String()
		return n, nil
	default:
		n.Tag = "!!null"
		return n, nil
	}
	for r.decoder.PeekKind() != end {
		child, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
	}
	_, err = r.decoder.ReadToken()
	return n, err
}

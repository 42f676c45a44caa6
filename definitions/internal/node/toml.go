package node

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"go.yaml.in/yaml/v3"
)

// Limits of a TOML file. Configurations of programs are small, and so a table is searched from its first key.
const (
	maxTOML       = 1 << 20 // bytes
	maxTOMLValues = 10_000
)

// ErrType means that the program that uses the file does not accept its values.
var ErrType = errors.New("a value has the wrong type, or a key is there twice")

// TOMLError is why a file is not accepted. It shows nothing of the file, which may be secret.
type TOMLError struct {
	Line   int // 0 if it is unknown
	Reason error
}

func (e *TOMLError) Error() string { return e.Reason.Error() }

func (e *TOMLError) Unwrap() error { return e.Reason }

var errSyntax = errors.New("syntax error")

// TOML reads a file for the order and lines of its values. It accepts what a decoder refuses, such as a key that is there twice: see
// DecodeTOML.
func TOML(data []byte) (*Node, error) {
	if len(data) > maxTOML {
		return nil, &TOMLError{Reason: fmt.Errorf("%w: TOML of more than %d MiB", ErrLimit, maxTOML>>20)}
	}
	r := tomlReader{data: data, line: 1}
	r.parser.Reset(data)
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1}
	for table := root; r.parser.NextExpression() && r.err == nil; {
		if e := r.parser.Expression(); e.Kind == unstable.KeyValue {
			r.put(table, e, 0)
		} else {
			table = r.table(root, e)
		}
	}
	if r.err != nil {
		return nil, &TOMLError{r.line, r.err}
	}
	if err := r.parser.Error(); err != nil {
		return nil, &TOMLError{r.errorLine(err), errSyntax}
	}
	return wrap(root), nil
}

// DecodeTOML decodes a file into the types of the program that uses it. An error is a *TOMLError.
func DecodeTOML(data []byte, into any) error {
	if _, err := TOML(data); err != nil {
		return err
	}
	err := toml.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	line := 0
	if at := new(toml.DecodeError); errors.As(err, &at) {
		line, _ = at.Position()
	}
	return &TOMLError{line, ErrType}
}

type tomlReader struct {
	parser unstable.Parser
	data   []byte
	offset int
	line   int
	values int
	err    error
}

func (r *tomlReader) errorLine(err error) int {
	if at := new(unstable.ParserError); errors.As(err, &at) {
		return r.lineAt(r.parser.Range(at.Highlight))
	}
	return r.line
}

// lineAt returns the line of a range. Ranges are asked for in the order of the file.
func (r *tomlReader) lineAt(at unstable.Range) int {
	if offset := int(at.Offset); offset > r.offset {
		r.line += bytes.Count(r.data[r.offset:offset], []byte("\n"))
		r.offset = offset
	}
	return r.line
}

// table returns the table that a header opens.
func (r *tomlReader) table(root *yaml.Node, header *unstable.Node) *yaml.Node {
	at := root
	depth := 0
	for key := header.Key(); key.Next(); depth++ {
		kind := yaml.MappingNode
		if header.Kind == unstable.ArrayTable && key.IsLast() {
			kind = yaml.SequenceNode
		}
		at = r.member(at, key.Node(), kind, 0, depth)
		if kind == yaml.SequenceNode {
			r.limit(depth)
			at.Content = append(at.Content, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: r.line})
		}
		if at.Kind == yaml.SequenceNode && len(at.Content) > 0 {
			at = at.Content[len(at.Content)-1]
		}
	}
	return at
}

// put adds a key and its value to a table. The tables of a dotted key are written inline.
func (r *tomlReader) put(table *yaml.Node, pair *unstable.Node, depth int) {
	for key := pair.Key(); key.Next(); depth++ {
		if key.IsLast() {
			name := r.scalar("!!str", key.Node())
			table.Content = append(table.Content, name, r.value(pair.Value(), depth))
			return
		}
		table = r.member(table, key.Node(), yaml.MappingNode, yaml.FlowStyle, depth)
	}
}

// member returns the member of a table, which it adds if it does not exist. A member of another kind, which no decoder accepts, has a
// successor that belongs to no table.
func (r *tomlReader) member(table *yaml.Node, key *unstable.Node, kind yaml.Kind, style yaml.Style, depth int) *yaml.Node {
	for i := 0; i+1 < len(table.Content); i += 2 {
		found := table.Content[i+1]
		if table.Content[i].Value != string(key.Data) {
			continue
		}
		if found.Kind == kind || found.Kind == yaml.SequenceNode && kind == yaml.MappingNode {
			return found
		}
		return &yaml.Node{Kind: kind}
	}
	name := r.scalar("!!str", key)
	child := &yaml.Node{Kind: kind, Style: style, Line: r.line}
	r.limit(depth)
	table.Content = append(table.Content, name, child)
	return child
}

func (r *tomlReader) limit(depth int) {
	if r.values++; r.err == nil && (r.values > maxTOMLValues || depth > maxDepth) {
		r.err = fmt.Errorf("%w: more than %d values, or nested more than %d times", ErrLimit, maxTOMLValues, maxDepth)
	}
}

func (r *tomlReader) scalar(tag string, n *unstable.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(n.Data), Line: r.lineAt(n.Raw)}
}

func (r *tomlReader) value(n *unstable.Node, depth int) *yaml.Node {
	r.limit(depth)
	if r.err != nil {
		return &yaml.Node{}
	}
	switch n.Kind {
	case unstable.String:
		return r.scalar("!!str", n)
	case unstable.Bool:
		return r.scalar("!!bool", n)
	case unstable.Array:
		array := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle, Line: r.line}
		for items := n.Children(); items.Next(); {
			array.Content = append(array.Content, r.value(items.Node(), depth+1))
		}
		return array
	case unstable.InlineTable:
		table := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Line: r.line}
		for pairs := n.Children(); pairs.Next(); {
			r.put(table, pairs.Node(), depth+1)
		}
		return table
	default:
		return r.scalar("!!float", n) // numbers and times, whose difference matters to no program that is read
	}
}

// IsInline reports whether a table or array of TOML is written as the value of a key, not under a header of its own.
func (n *Node) IsInline() bool { return n != nil && n.yaml != nil && n.yaml.Style == yaml.FlowStyle }

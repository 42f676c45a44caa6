package node

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Limits of a TOML file. Configurations of programs are small, and the decoder searches a table from its first key.
const (
	maxTOML       = 1 << 20 // bytes
	maxTOMLValues = 8_000
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
	r := tomlReader{data: data, line: 1, members: map[tomlKey]*Node{}}
	r.parser.Reset(data)
	root := newObject(1)
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
	return root, nil
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

	members map[tomlKey]*Node // the first of each key
}

// tomlKey is a key of a table.
type tomlKey struct {
	table *Node
	name  string
}

// add adds a key and its value to a table.
func (r *tomlReader) add(table *Node, line int, name string, value *Node) {
	table.addMember(line, name, value)
	if key := (tomlKey{table, name}); r.members[key] == nil {
		r.members[key] = value
	}
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
func (r *tomlReader) table(root *Node, header *unstable.Node) *Node {
	at := root
	depth := 0
	for key := header.Key(); key.Next(); depth++ {
		kind := object
		if header.Kind == unstable.ArrayTable && key.IsLast() {
			kind = array
		}
		at = r.member(at, key.Node(), newList(0, kind), depth)
		if kind == array {
			r.limit(depth)
			at.items = append(at.items, newObject(r.line))
		}
		if len(at.items) > 0 {
			at = at.items[len(at.items)-1]
		}
	}
	return at
}

// put adds a key and its value to a table. The tables of a dotted key are written inline.
func (r *tomlReader) put(table *Node, pair *unstable.Node, depth int) {
	for key := pair.Key(); key.Next(); depth++ {
		if key.IsLast() {
			line := r.lineAt(key.Node().Raw)
			r.add(table, line, string(key.Node().Data), r.value(pair.Value(), depth))
			return
		}
		table = r.member(table, key.Node(), inline(0, object), depth)
	}
}

// member returns the member of a table, which it adds if it does not exist. Instead of a member of another kind, which no decoder accepts,
// it returns one that belongs to no table.
func (r *tomlReader) member(table *Node, key *unstable.Node, added *Node, depth int) *Node {
	added.Line = r.lineAt(key.Raw)
	if found := r.members[tomlKey{table, string(key.Data)}]; found != nil {
		if found.kind == added.kind || found.kind == array {
			return found
		}
		return added
	}
	r.limit(depth)
	r.add(table, added.Line, string(key.Data), added)
	return added
}

func (r *tomlReader) limit(depth int) {
	if r.values++; r.err == nil && (r.values > maxTOMLValues || depth > maxDepth) {
		r.err = fmt.Errorf("%w: more than %d values, or nested more than %d times", ErrLimit, maxTOMLValues, maxDepth)
	}
}

func (r *tomlReader) value(n *unstable.Node, depth int) *Node {
	if r.limit(depth); r.err != nil {
		return &Node{}
	}
	switch n.Kind {
	case unstable.String:
		return newScalar(r.lineAt(n.Raw), text, string(n.Data))
	case unstable.Bool:
		return newScalar(r.line, boolean, string(n.Data))
	case unstable.Array:
		list := inline(r.line, array)
		for items := n.Children(); items.Next(); {
			list.items = append(list.items, r.value(items.Node(), depth+1))
		}
		return list
	case unstable.InlineTable:
		table := inline(r.line, object)
		for pairs := n.Children(); pairs.Next(); {
			r.put(table, pairs.Node(), depth+1)
		}
		return table
	default: // times too: no program that is read has any
		return newScalar(r.line, number, string(n.Data))
	}
}

func inline(line int, k kind) *Node {
	n := newList(line, k)
	n.inline = true
	return n
}

// IsInline reports whether a table or array of TOML is written as the value of a key, not under a header of its own.
func (n *Node) IsInline() bool { return n != nil && n.inline }

// Package node reads YAML and JSON into one kind of tree, whose values know their line. It limits what hostile files can cost.
package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of a file. A legitimate list of 5,000 Kubernetes objects stays below them.
const (
	maxNodes     = 500_000
	maxDepth     = 100
	maxDocuments = 10_000

	smallNodes      = 40_000    // values that a small file may have
	bytesPerNode    = 10        // of a larger file: the values of files that programs write have more
	bytesOfJSON     = 5         // per value: its parser stores no values of its own
	smallRepetition = 128 << 10 // bytes that the aliases of a small file may stand for
	repetition      = 8         // times its size, that of a larger file
	maxRepetition   = 2 << 20   // more than its size
)

// maxNodesOf limits the values of a file by its size, since a value takes 100 to 200 bytes of memory.
func maxNodesOf(size, bytesPerNode int) int { return min(smallNodes+size/bytesPerNode, maxNodes) }

// maxRepetitionOf limits what the aliases of a file stand for. The rules of a pipeline repeat some hundred lists of paths.
func maxRepetitionOf(size int) int {
	return smallRepetition + size + min(repetition*size, maxRepetition)
}

// ErrLimit means that a file exceeds a limit, and errValues that it is the one of values.
var (
	ErrLimit  = errors.New("file exceeds a limit")
	errValues = fmt.Errorf("%w", ErrLimit)
)

// SyntaxError is a part of a file that cannot be read. Message has nothing of the file except single characters, so that it shows no
// secret.
type SyntaxError struct {
	Line    int
	Message string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// SyntaxErrors are all documents of a file that cannot be read, at least one.
type SyntaxErrors []*SyntaxError

func (e SyntaxErrors) Error() string { return e[0].Error() }

type kind uint8

const (
	null kind = iota
	object
	array
	text
	number
	boolean
	expression
)

// Node is a value. All methods accept nil, which is a missing value. Values that a file repeats with aliases are the same Node.
type Node struct {
	Line   int
	size   int32 // values of the tree
	texts  int32 // bytes of its keys and texts, if it is of YAML
	kind   kind
	inline bool // a table or array of TOML that is the value of a key
	block  bool // whether it is a text that YAML has in lines of its own
	value  string
	*list  // nil if it is a scalar
}

// list is what objects and arrays have.
type list struct {
	pairs []Pair
	items []*Node
}

// Pair is a member of an object.
type Pair struct {
	Key     string
	KeyLine int
	Value   *Node
}

// Size returns the number of values in the tree.
func (n *Node) Size() int {
	if n == nil {
		return 0
	}
	return int(n.size)
}

// Same reports whether two values are equal, wherever they are.
func Same(a, b *Node) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return a.size == b.size && a.kind == b.kind && a.value == b.value &&
		slices.EqualFunc(a.Items(), b.Items(), Same) &&
		slices.EqualFunc(a.Pairs(), b.Pairs(), func(p, q Pair) bool { return p.Key == q.Key && Same(p.Value, q.Value) })
}

// Pairs returns the members of an object in the order of the file, with those of YAML's merge keys (<<) last; nothing for
// another kind of value.
func (n *Node) Pairs() []Pair {
	if n == nil || n.list == nil {
		return nil
	}
	return n.pairs
}

// Get returns the value at a path of keys, nil if it does not exist. Keys are case-sensitive. Of members with the same name it returns the
// last, as most consumers do.
func (n *Node) Get(path ...string) *Node {
	for _, key := range path {
		n = n.member(key)
	}
	return n
}

func (n *Node) member(key string) *Node {
	pairs := n.Pairs()
	for i := range pairs {
		if p := pairs[len(pairs)-1-i]; p.Key == key {
			return p.Value
		}
	}
	return nil
}

// Items returns the elements of an array, nothing for another kind of value.
func (n *Node) Items() []*Node {
	if n == nil || n.list == nil {
		return nil
	}
	return n.items
}

func (n *Node) is(k kind) bool { return n != nil && n.kind == k }

// IsObject reports whether the value has members.
func (n *Node) IsObject() bool { return n.is(object) }

// IsArray reports whether the value is an array.
func (n *Node) IsArray() bool { return n.is(array) }

// IsNull reports whether the value is null.
func (n *Node) IsNull() bool { return n.is(null) }

// TypeName returns the type that the value has in JSON, with its article.
func (n *Node) TypeName() string {
	switch {
	case n.IsObject():
		return "an object"
	case n.IsArray():
		return "an array"
	case n.is(boolean):
		return "a boolean"
	case n.isNumber():
		return "a number"
	case n == nil || n.IsNull():
		return "null"
	}
	return "a string"
}

// IsText reports whether the value is a string: not a number, a boolean, null, an object or an array.
func (n *Node) IsText() bool { return n.is(text) }

// Text returns a scalar as it is written, "" for everything else and for null.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.value
}

// yamlTrue are the texts that are true in YAML 1.1.
var yamlTrue = []string{"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"}

// OldBool returns whether the value is true for programs that read YAML 1.1, such as yes.
func (n *Node) OldBool() bool { return slices.Contains(yamlTrue, n.Text()) }

// Bool returns whether the value is the boolean true. A string is not.
func (n *Node) Bool() bool { return n.is(boolean) && strings.EqualFold(n.value, "true") }

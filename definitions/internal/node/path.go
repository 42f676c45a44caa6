package node

import "strings"

// At returns the values at a path: keys have dots between them; [] after one stands for each element of a list, and {} for each member of
// an object, whose key it has. {}[] is for lists in an object.
func At(n *Node, at string) []Pair {
	if n == nil || at == "" {
		return nil
	}
	first, rest, more := strings.Cut(at, ".")
	name := strings.TrimRight(first, "[]{}")
	var found []Pair
	switch value := n.Get(name); {
	case strings.HasSuffix(first, "[]"):
		for _, list := range At(n, strings.TrimSuffix(first, "[]")) {
			for _, item := range list.Value.Items() {
				found = append(found, Pair{KeyLine: item.Line, Value: item})
			}
		}
	case strings.HasSuffix(first, "{}"): // blocks of HCL may occur several times
		for _, p := range n.Pairs() {
			if p.Key == name {
				found = append(found, p.Value.Pairs()...)
			}
		}
	case value != nil:
		found = []Pair{{name, value.Line, value}}
	}
	if !more {
		return found
	}
	var all []Pair
	for _, p := range found {
		all = append(all, At(p.Value, rest)...)
	}
	return all
}

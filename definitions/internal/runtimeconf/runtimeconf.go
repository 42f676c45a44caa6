// Package runtimeconf has the shapes of the configurations of container runtimes, and why the runtimes reject them.
package runtimeconf

import (
	"strconv"

	"github.com/regwarden/regwarden/definitions/internal/dockerauth"
	"github.com/regwarden/regwarden/definitions/internal/node"
)

// Problem is why a runtime rejects a file. Kind is a word of definitions.ProblemReason.
type Problem struct {
	Line int
	Kind string
	Text string
}

const (
	conflictingEntries = "conflictingEntries"
	noHost             = "noHost"
	unknownCapability  = "unknownCapability"
	wrongShape         = "wrongShape"
)

// shown quotes a text of a file for a message.
func shown(text string) string { return strconv.Quote(dockerauth.Show(text)) }

// LineOf returns the line of the first node that exists, 0 if none does.
func LineOf(nodes ...*node.Node) int {
	for _, n := range nodes {
		if n != nil {
			return n.Line
		}
	}
	return 0
}

// Item returns an element of an array, nil if it does not exist: a decoder ignores the case of keys, and a tree does not.
func Item(n *node.Node, i int) *node.Node {
	if items := n.Items(); i < len(items) {
		return items[i]
	}
	return nil
}

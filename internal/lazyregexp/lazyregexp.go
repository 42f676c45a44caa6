// Package lazyregexp compiles regular expressions when they are first used, since most runs of the program use none, and compiling all
// of them takes longer than many commands do.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Expression is a regular expression that is not compiled yet.
type Expression struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New returns an expression. It is so short that the compiler makes package variables from it without code that runs at the start.
func New(text string) *Expression { return &Expression{text: text} }

// Get returns the compiled expression. The first call panics if it is not valid.
func (e *Expression) Get() *regexp.Regexp {
	e.once.Do(func() { e.compiled = regexp.MustCompile(e.text) })
	return e.compiled
}

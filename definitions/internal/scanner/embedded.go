package scanner

import (
	"strings"

	"github.com/regwarden/regwarden/definitions/internal/node"
)

// Embedded reads a file that is a text in f, such as one that cloud-init writes to path. Its lines are those of f.
func (f *File) Embedded(path string, text *node.Node) {
	if f.embedded || !text.IsText() || path == "" || IsTemplate(path) {
		return
	}
	f.Scanner.read(&File{Scanner: f.Scanner, Name: f.Name, Path: strings.TrimPrefix(path, "/"), found: true, embedded: true,
		before: max(text.TextLine()-1, 0), Data: []byte(text.Text())})
}

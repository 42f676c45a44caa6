package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxWidth is the longest line of a Go file in columns; .editorconfig has the same.
const maxWidth = 140

// All three modules are read. A line that is cut off at the edge of a window, or wrapped there, is hard to review.
func TestLinesAreNotWide(t *testing.T) {
	lines := 0
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		for i, line := range strings.Split(string(text), "\n") {
			lines++
			if columns(line) > maxWidth {
				t.Errorf("%s:%d has %d columns, want at most %d", name, i+1, columns(line), maxWidth)
			}
		}
		return err
	})
	if err != nil || lines < 50_000 {
		t.Errorf("%d lines were read: %v", lines, err)
	}
}

func TestEditorsKnowTheWidth(t *testing.T) {
	text, err := os.ReadFile("../../.editorconfig")
	if want := fmt.Sprintf("\n[*.go]\nmax_line_length = %d\n", maxWidth); err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v; .editorconfig does not have %q", err, want)
	}
}

// columns is the width of a line; a tab is as wide as four spaces, which is exact at the beginning of a line.
func columns(line string) int { return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t") }

package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

var manPages = flag.String("man", "", "directory to write the man pages into; see make man")

// TestManPages writes a page for each command that help lists. SOURCE_DATE_EPOCH sets their date.
func TestManPages(t *testing.T) {
	dir := *manPages
	if dir == "" {
		dir = t.TempDir()
	}
	root := newRoot()
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "regwarden", Manual: "regwarden"}, dir); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range root.Commands() {
		eachListed(cmd, func(cmd *cobra.Command) {
			name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
			page, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Error(err)
			}
			if !strings.Contains(string(page), cmd.Short) {
				t.Errorf("%s does not contain %q", name, cmd.Short)
			}
		})
	}
}

func eachListed(cmd *cobra.Command, do func(*cobra.Command)) {
	if !cmd.IsAvailableCommand() {
		return
	}
	do(cmd)
	for _, sub := range cmd.Commands() {
		eachListed(sub, do)
	}
}

package scan

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
)

var update = flag.Bool("update", false, "write the words into docs/scan.md")

const (
	scanPage   = "../../../docs/scan.md"
	wordsBegin = "<!-- The words are generated (make docs); do not edit them. -->\n"
)

// The words at the end of the page are generated from the lists.
func TestScanPageHasTheWords(t *testing.T) {
	page, err := os.ReadFile(scanPage)
	if err != nil {
		t.Fatal(err)
	}
	text, _, found := strings.Cut(string(page), wordsBegin)
	if !found {
		t.Fatalf("%s has no %q", scanPage, wordsBegin)
	}
	want := text + wordsBegin + wordTables()
	if *update {
		if err := os.WriteFile(scanPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("%s differs from the lists; run: make docs", scanPage)
	}
	for _, format := range definitions.FormatNames() {
		if !strings.Contains(text, "`"+format+"`") {
			t.Errorf("%s does not describe the format %s", scanPage, format)
		}
	}
}

func wordTables() string {
	var out strings.Builder
	for _, list := range model.WordLists() {
		fmt.Fprintf(&out, "\n### %s\n\n| word | meaning |\n| --- | --- |\n", list.Title)
		for _, w := range list.Words {
			fmt.Fprintf(&out, "| `%s` | %s |\n", w.Word, w.Meaning)
		}
	}
	return out.String()
}

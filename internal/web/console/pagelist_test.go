package console

import (
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list of pages for the browser tests anew")

// pageList has the pages that test/console/pages/every.mjs opens.
const pageList = "../../../test/console/pages.txt"

// A new page is opened by the browser tests.
func TestBrowserTestsOpenEachPage(t *testing.T) {
	var all []string
	for _, r := range mustWorld(t, false).routes() {
		if r.method == http.MethodGet {
			all = append(all, strings.TrimSuffix(r.path, "{$}"))
		}
	}
	slices.Sort(all)
	pages := strings.Join(all, "\n") + "\n"
	if *update {
		if err := os.WriteFile(pageList, []byte(pages), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if listed, err := os.ReadFile(pageList); err != nil || string(listed) != pages {
		t.Errorf("%s differs from the routes: run this test with -update. %v", pageList, err)
	}
}

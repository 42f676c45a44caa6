package scanreport

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A rule has everything that viewers show, and the page that it links to has the heading.
func TestRules(t *testing.T) {
	if len(rules()) < 90 {
		t.Errorf("%d rules", len(rules()))
	}
	anchors := map[string]map[string]bool{"codes.md": headings(t, "codes.md"), "scan.md": headings(t, "scan.md")}
	for id, r := range rules() {
		if r.id != id || r.sentence == "" || !regexp.MustCompile(`^[A-Z][A-Za-z0-9]+$`).MatchString(r.name) {
			t.Errorf("%q: %+v", id, r)
		}
		page, anchor, _ := strings.Cut(strings.TrimPrefix(r.page, docs), "#")
		if anchors[page] == nil || anchor != "" && !anchors[page][anchor] {
			t.Errorf("%s: %s has no heading #%s", id, page, anchor)
		}
	}
	for id, sentence := range map[string]string{
		"RegistryAuthFailed/refused":     "The credentials were rejected.",
		"RegistryAuthRequired":           "The registry requires credentials, and the definition has none.",
		"warning/certificateExpiresSoon": "A certificate of the server expires within 30 days.",
		"unresolved/template":            "The value is a template or an expression.",
		"skipped/git":                    "The entry is a Git repository.",
		"problem/notYAML":                "The file is not valid YAML.",
		"notice/suspended":               "The object is suspended.",
	} {
		if got := rules()[id].sentence; got != sentence {
			t.Errorf("%s: %q, want %q", id, got, sentence)
		}
	}
}

// headings returns the anchors of a page as GitHub makes them.
func headings(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		anchors[strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(h[1]), ":", ""), " ", "-")] = true
	}
	return anchors
}

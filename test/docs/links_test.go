// Package docs_test compares the documentation with the program: links lead somewhere, and examples work.
package docs_test

import (
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/regwarden/regwarden/test/instance"
)

const root = "../.."

func TestMain(m *testing.M) { os.Exit(instance.Main(m)) }

// Every relative link of every page leads to a tracked file or directory, and to a heading if it names one.
func TestLinksLeadSomewhere(t *testing.T) {
	files := trackedFiles(t)
	var links int
	for _, name := range files {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, link := range linksOf(pageText(t, name)) {
			links++
			if problem := followLink(t, files, name, link); problem != "" {
				t.Errorf("%s: (%s) %s", name, link, problem)
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links were followed", links)
	}
}

// A page that the index does not link to is not found.
func TestIndexLinksToEachPage(t *testing.T) {
	index := linksOf(pageText(t, "docs/README.md"))
	for _, name := range trackedFiles(t) {
		if page, ok := strings.CutPrefix(name, "docs/"); ok && page != "README.md" && path.Ext(page) == ".md" &&
			!slices.Contains(index, page) {
			t.Errorf("docs/README.md does not link to %s", page)
		}
	}
}

// trackedFiles returns the names of the files of the repository, those that are about to be added included.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the tracked files: %v", err)
	}
	return slices.DeleteFunc(strings.Split(string(out), "\x00"), func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return name == "" || err != nil
	})
}

func pageText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code      = regexp.MustCompile("`[^`\n]*`")
	linked    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// linksOf returns the relative links of a page.
func linksOf(page string) (links []string) {
	prose := code.ReplaceAllString(codeBlock.ReplaceAllString(page, ""), "code")
	for _, found := range linked.FindAllStringSubmatch(prose, -1) {
		if u, err := url.Parse(found[1]); err != nil || u.Scheme == "" {
			links = append(links, found[1])
		}
	}
	return links
}

// followLink returns what is wrong with a link on a page, "" if nothing is.
func followLink(t *testing.T, files []string, from, link string) string {
	t.Helper()
	target, anchor, _ := strings.Cut(link, "#")
	name := path.Join(path.Dir(from), target)
	if target == "" {
		name = from
	}
	isFile := slices.Contains(files, name)
	switch {
	case !isFile && !slices.ContainsFunc(files, func(file string) bool { return strings.HasPrefix(file, name+"/") }):
		return "leads to no file"
	case anchor != "" && (!isFile || !slices.Contains(anchorsOf(pageText(t, name)), anchor)):
		return "names no heading"
	}
	return ""
}

// anchorsOf returns the anchors that GitHub gives the headings of a page.
func anchorsOf(page string) (anchors []string) {
	seen := map[string]int{}
	for line := range strings.Lines(codeBlock.ReplaceAllString(page, "")) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		text := linked.ReplaceAllString(strings.TrimSpace(strings.TrimLeft(line, "#")), "]")
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, text)
		if seen[anchor]++; seen[anchor] > 1 {
			anchor += "-" + strconv.Itoa(seen[anchor]-1)
		}
		anchors = append(anchors, anchor)
	}
	return anchors
}

// Each rule of docs/oauth-security.md has a test, or a reason why it does not apply.
func TestRulesOfLoginsHaveTests(t *testing.T) {
	rules := 0
	for line := range strings.Lines(pageText(t, "docs/oauth-security.md")) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasSuffix(line, "| tests |\n") {
			continue
		}
		if rules++; !strings.Contains(line, "`Test") && !strings.Contains(line, "does not apply") {
			t.Errorf("no test and no reason: %s", line)
		}
	}
	if rules < 60 {
		t.Errorf("the page has %d rules", rules)
	}
}

// A page that says which test holds a rule names one that exists.
func TestNamedTestsExist(t *testing.T) {
	var code strings.Builder
	files := trackedFiles(t)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			code.WriteString(pageText(t, name))
		}
	}
	named := 0
	for _, name := range files {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, test := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(pageText(t, name), -1) {
			if named++; !strings.Contains(code.String(), "\nfunc "+test[1]+"(") {
				t.Errorf("%s: no test is named %s", name, test[1])
			}
		}
	}
	if named < 50 {
		t.Errorf("%d tests are named", named)
	}
}

package archtest

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	inCode     = regexp.MustCompile("`([^`]+)`")
	tableRow   = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|[^|]*\\|([^|]*)\\|$")
	leafRow    = regexp.MustCompile("(?m)^\\| `([^`]*)` \\|[^|]*\\|$")
	notInTable = regexp.MustCompile(`^(cmd|demo|deploy|test)(/|$)|test$|^internal/(needs|testport)$`)
)

// TestTableOfPackages compares the tables in docs/packages.md with the packages: they have each of them but those for tests, and next to it
// what it imports, without leaves. The imports of a row that has more than names, such as "its internal", are not compared.
func TestTableOfPackages(t *testing.T) {
	source, err := os.ReadFile("../../docs/packages.md")
	if err != nil {
		t.Fatal(err)
	}
	var leaves []string
	for _, row := range leafRow.FindAllStringSubmatch(string(source), -1) {
		leaves = append(leaves, row[1])
	}
	imports := map[string][]string{}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		imports[name] = []string{}
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(leaves, ours) {
				imports[name] = append(imports[name], ours)
			}
		}
	}
	described, compared := slices.Clone(leaves), 0
	for _, row := range tableRow.FindAllStringSubmatch(string(source), -1) {
		names := namesIn(row[1])
		if imports[names[0]] == nil { // another table
			continue
		}
		var actual []string
		for i, name := range names {
			if imports[name] == nil {
				names[i] = path.Dir(names[0]) + "/" + name
			}
			actual = append(actual, imports[names[i]]...)
		}
		described = append(described, names...)
		if strings.Trim(inCode.ReplaceAllString(row[2], ""), ", ") == "" {
			compared++
			compareImports(t, names, namesIn(row[2]), actual)
		}
	}
	for name := range imports {
		if !slices.Contains(described, name) && !notInTable.MatchString(name) {
			t.Errorf("docs/packages.md does not describe %s", name)
		}
	}
	if compared < 80 {
		t.Errorf("%d rows were compared", compared)
	}
}

// compareImports compares the imports of a row, each named by the end of its path, with those of the row's packages.
func compareImports(t *testing.T, packages, listed, actual []string) {
	t.Helper()
	is := func(name, imported string) bool { return strings.HasSuffix("/"+imported, "/"+name) }
	for _, imported := range actual {
		if !slices.Contains(packages, imported) && !slices.ContainsFunc(listed, func(name string) bool { return is(name, imported) }) {
			t.Errorf("docs/packages.md: the row of %s lacks its import %s", packages[0], imported)
		}
	}
	for _, name := range listed {
		if !slices.ContainsFunc(actual, func(imported string) bool { return is(name, imported) }) {
			t.Errorf("docs/packages.md: the row of %s has %s, which is not imported", packages[0], name)
		}
	}
}

func namesIn(text string) (names []string) {
	for _, found := range inCode.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	return names
}

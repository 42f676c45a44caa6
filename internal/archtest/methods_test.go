package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

const maxMethods = 40

// largerTypes are the types that still have more methods than maxMethods, with their number. It may only fall: a type that has fewer needs
// its new number here, and none that has at most maxMethods is listed.
var largerTypes = map[string]int{
	"internal/service/alerts.Service": 51,
	"internal/web/console.Console":    97,
	"internal/web/console.call":       45,
	"regcheck.session":                125,
}

// A type with many methods does the work of several. Data that it holds for some of them is within reach of all.
func TestTypesHaveFewMethods(t *testing.T) {
	larger, seen := map[string]int{}, 0
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasSuffix(name, "test") {
			continue
		}
		for typeName, n := range methodsOf(t, p) {
			seen++
			if n > maxMethods {
				larger[name+"."+typeName] = n
			}
		}
	}
	if !maps.Equal(larger, largerTypes) {
		t.Errorf("types with more than %d methods are\n%v, want\n%v", maxMethods, larger, largerTypes)
	}
	if seen < 300 {
		t.Errorf("%d types were counted", seen)
	}
}

// methodsOf counts the methods of each type of a package in its files for this system.
func methodsOf(t *testing.T, p pkg) map[string]int {
	t.Helper()
	methods := map[string]int{}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[receiverOf(f.Recv.List[0].Type)]++
			}
		}
	}
	return methods
}

// receiverOf returns the name of a receiver's type, without pointer and type parameters.
func receiverOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverOf(e.X)
	case *ast.IndexExpr:
		return receiverOf(e.X)
	case *ast.IndexListExpr:
		return receiverOf(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

const maxMethods = 40

// A type with many methods does the work of several. Data that it holds for some of them is within reach of all.
func TestTypesHaveFewMethods(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasSuffix(name, "test") {
			continue
		}
		for typeName, n := range methodsOf(t, p) {
			seen++
			if n > maxMethods {
				t.Errorf("%s.%s has %d methods, want at most %d", name, typeName, n, maxMethods)
			}
		}
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

package store

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/regwarden/regwarden/internal/storage/seal"
)

// testKey is the master key of stores that are opened more than once.
var testKey = seal.NewMasterKey()

// queryTexts reads the query texts of a package for PostgreSQL out of its source: the constants whose names begin with sql, for both
// databases, or with postgres. Those for SQLite only begin with sqlite.
func queryTexts(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]ast.Expr{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Values) == len(spec.Names) {
				for i, name := range spec.Names {
					constants[name.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	texts := map[string]string{}
	for name, value := range constants {
		if strings.HasPrefix(name, "sql") && !strings.HasPrefix(name, "sqlite") || strings.HasPrefix(name, "postgres") {
			texts[name] = textOf(t, constants, value)
		}
	}
	return texts
}

func textOf(t *testing.T, constants map[string]ast.Expr, value ast.Expr) string {
	t.Helper()
	switch value := value.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(value.Value)
		if err != nil {
			t.Fatal(err)
		}
		return text
	case *ast.BinaryExpr:
		return textOf(t, constants, value.X) + textOf(t, constants, value.Y)
	case *ast.ParenExpr:
		return textOf(t, constants, value.X)
	case *ast.Ident:
		if named, ok := constants[value.Name]; ok {
			return textOf(t, constants, named)
		}
	}
	t.Fatalf("a query is put together in a way that this test does not know: %T", value)
	return ""
}

//go:build !race

package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// When a listener is closed, its port may be another program's before it is used again.
func TestNoPortIsLetGo(t *testing.T) {
	root := filepath.Join("..", "..")
	files := trackedFiles(t, root, "*.go")
	if len(files) < 500 {
		t.Fatalf("%d files are listed", len(files))
	}
	for _, file := range files {
		for _, at := range portsLetGo(t, filepath.Join(root, file), nil) {
			t.Errorf("%s: closes a listener and uses its address; read the address of what listens on port 0, or use internal/testport", at)
		}
	}
}

func TestPortsLetGoAreFound(t *testing.T) {
	const f = "package p\nfunc f() { l, err := net.Listen(\"tcp\", \"127.0.0.1:0\"); "
	for source, want := range map[string]int{
		f + "defer l.Close(); return l.Addr().String() }":                                           1,
		f + "defer func() { _ = l.Close() }(); return l.Addr().String() }":                          1,
		f + "address := l.Addr().String(); must(l.Close()); start(address) }":                       1,
		"package p\nfunc f() { g(func() { s := httptest.NewServer(nil); s.Close(); use(s.URL) }) }": 1,
		f + "_, port, err := net.SplitHostPort(l.Addr().String()); return port, l.Close() }":        1,
		f + "dial(l.Addr().String()); l.Close() }":                                                  0,
		f + "defer l.Close(); dial(l.Addr().String()) }":                                            0,
		f + "t.Cleanup(func() { _ = l.Close() }); return l.Addr().String() }":                       0,
		f + "if taken(l.Addr()) { _ = l.Close() }; return l }":                                      0,
	} {
		if found := portsLetGo(t, "", source); len(found) != want {
			t.Errorf("%s: %v", source, found)
		}
	}
}

// portsLetGo returns the positions of functions that close a listener of their own and use or return its address.
func portsLetGo(t *testing.T, name string, source any) (found []token.Position) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if os.IsNotExist(err) {
		return nil // deleted and not yet committed
	}
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		var body *ast.BlockStmt
		switch function := n.(type) {
		case *ast.FuncDecl:
			body = function.Body
		case *ast.FuncLit:
			body = function.Body
		}
		if body != nil && listenersOf(body).letGo(body) {
			found = append(found, files.Position(body.Pos()))
		}
		return true
	})
	return found
}

// listeners has the variables of one function, without those of the functions in it, where they are used.
type listeners struct{ opened, closed, closedAtEnd, copied, returned, addressReturned []*ast.Ident }

var (
	opens     = []string{"Listen", "ListenTCP", "ListenUDP", "ListenPacket", "NewServer", "NewTLSServer", "NewUnstartedServer"}
	addresses = []string{"Addr", "LocalAddr", "URL", "Listener"}
)

func listenersOf(body *ast.BlockStmt) (l listeners) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.DeferStmt:
			l.closedAtEnd = append(l.closedAtEnd, selected(n, "Close")...)
			return false
		case *ast.AssignStmt:
			if call, ok := n.Rhs[0].(*ast.CallExpr); ok && calls(call, opens...) {
				l.opened = append(l.opened, variables(n.Lhs[:1])...)
			}
			l.copied = append(l.copied, copied(n.Rhs[0])...)
		case *ast.CallExpr:
			l.closed = append(l.closed, selected(n.Fun, "Close")...)
		case *ast.ReturnStmt:
			l.addressReturned = append(l.addressReturned, selected(n, addresses...)...)
			l.returned = append(l.returned, variables(n.Results)...)
		}
		return true
	})
	return l
}

func (l listeners) letGo(body *ast.BlockStmt) bool {
	used := selected(body, addresses...)
	return slices.ContainsFunc(l.opened, func(opened *ast.Ident) bool {
		same := func(v *ast.Ident) bool { return v.Name == opened.Name }
		if slices.ContainsFunc(l.closedAtEnd, same) {
			return slices.ContainsFunc(l.addressReturned, same)
		}
		closed := slices.IndexFunc(l.closed, same)
		return closed >= 0 && !slices.ContainsFunc(l.returned, same) && (slices.ContainsFunc(l.copied, same) ||
			slices.ContainsFunc(used, func(v *ast.Ident) bool { return same(v) && v.Pos() > l.closed[closed].Pos() }))
	})
}

// copied returns x where an expression is the address of x, or splits it.
func copied(e ast.Expr) []*ast.Ident {
	if call, ok := e.(*ast.CallExpr); ok && calls(call, "SplitHostPort") {
		e = call.Args[0]
	}
	return slices.DeleteFunc(selected(e, addresses...), func(v *ast.Ident) bool { return v.Pos() != e.Pos() })
}

// calls reports whether a call is one of x.name.
func calls(call *ast.CallExpr, names ...string) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains(names, s.Sel.Name)
}

// selected returns x for each x.name in a node.
func selected(in ast.Node, names ...string) (found []*ast.Ident) {
	ast.Inspect(in, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
			found = append(found, variables([]ast.Expr{s.X})...)
		}
		return true
	})
	return found
}

// variables returns the expressions that are only a name.
func variables(list []ast.Expr) (found []*ast.Ident) {
	for _, e := range list {
		if v, ok := e.(*ast.Ident); ok {
			found = append(found, v)
		}
	}
	return found
}

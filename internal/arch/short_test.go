package arch

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// make test runs the tests with -short, and make test-long without. What is too slow for
// make test is left out in one of two forms, which visitor knows:
//
//	if testing.Short() { t.Skip("long: …") } // the rest of this function
//	if !testing.Short() { … }                // what is in the braces

// Each package takes part in make test.
func TestEveryPackageIsTestedInShort(t *testing.T) {
	tested := map[string]bool{}
	for _, f := range files(t) {
		if !f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" {
				tested[f.dir] = tested[f.dir] || !skipsInShort(fn.Body)
			}
		}
	}
	for dir, ok := range tested {
		assert.True(t, ok, "%s: make test leaves all of its tests out", dir)
	}
}

// A condition of several parts would hide from visitor what is left out.
func TestFormOfShort(t *testing.T) {
	for _, f := range files(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if b, ok := n.(*ast.BinaryExpr); ok {
				assert.False(t, isShort(b.X) || isShort(b.Y), "%s: write testing.Short() as the whole condition", f.path)
			}
			return true
		})
	}
}

// visitor finds the strings of a file that begin with IDs, and whether make test leaves
// them out.
type visitor struct {
	long  bool
	found func(ids []string, long bool)
}

func (v visitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.FuncDecl:
		v.long = v.long || n.Body != nil && (skipsInShort(n.Body) || skipsSomeRows(n.Body))
	case *ast.FuncLit:
		v.long = v.long || skipsInShort(n.Body)
	case *ast.CallExpr: // t.Run("name", func…)
		v.long = v.long || guarded(n)
	case *ast.IfStmt: // its else is long, too: nobody has one
		not, ok := n.Cond.(*ast.UnaryExpr)
		v.long = v.long || ok && not.Op == token.NOT && isShort(not.X)
	case *ast.BasicLit:
		if name, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
			v.found(strings.Fields(testIDs.FindString(name)), v.long)
		}
	}
	return v
}

// guarded tells whether one of the functions that are given to a call skips itself.
func guarded(call *ast.CallExpr) bool {
	for _, arg := range call.Args {
		if f, ok := arg.(*ast.FuncLit); ok && skipsInShort(f.Body) {
			return true
		}
	}
	return false
}

// skipsSomeRows tells whether the body has subtests which skip themselves and whose names
// are in a table: all of the table counts as left out.
func skipsSomeRows(body *ast.BlockStmt) (some bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && guarded(call) {
			_, literal := call.Args[0].(*ast.BasicLit)
			some = some || !literal
		}
		return true
	})
	return some
}

// skipsInShort tells whether one of the statements of a function is
// if testing.Short() { t.Skip(…) }.
func skipsInShort(body *ast.BlockStmt) bool {
	for _, s := range body.List {
		cond, ok := s.(*ast.IfStmt)
		if !ok || !isShort(cond.Cond) {
			continue
		}
		for _, s := range cond.Body.List {
			if e, ok := s.(*ast.ExprStmt); ok {
				if call, ok := e.X.(*ast.CallExpr); ok {
					if sel, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Skip") {
						return true
					}
				}
			}
		}
	}
	return false
}

func isShort(e ast.Expr) bool {
	if not, ok := e.(*ast.UnaryExpr); ok {
		e = not.X
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Short" {
		return false
	}
	of, ok := sel.X.(*ast.Ident)
	return ok && of.Name == "testing"
}

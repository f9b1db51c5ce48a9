package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
)

// annotate returns the source of a Go file in which every declared function begins with
// a note of its name. Lines keep their numbers. A file without functions stays as it is.
func annotate(source []byte, pkg string) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	copied := 0
	insert := func(at token.Pos, format string, args ...any) {
		end := fset.Position(at).Offset
		out.Write(source[copied:end])
		fmt.Fprintf(&out, format, args...)
		copied = end
	}
	for _, d := range f.Decls {
		fun, ok := d.(*ast.FuncDecl)
		if !ok || fun.Body == nil {
			continue
		}
		if copied == 0 {
			insert(f.Name.End(), "; import zzsteps %q", notes)
		}
		insert(fun.Body.Lbrace+1, " zzsteps.Enter(%q);", pkg+" "+functionName(fun))
	}
	out.Write(source[copied:])
	return out.Bytes(), nil
}

// functionName is the name of a function, or "type.method".
func functionName(fun *ast.FuncDecl) string {
	if fun.Recv == nil {
		return fun.Name.Name
	}
	receiver := fun.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	return types.ExprString(receiver) + "." + fun.Name.Name
}

package main

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
)

// files finds the lines of each file.
func (r *repo) fileLengths() (found []finding) {
	for f := range r.in(held) {
		found = append(found, finding{subject: f.path, n: f.length})
	}
	return found
}

// functionLengths finds the lines of each function.
func (r *repo) functionLengths() (found []finding) {
	for f := range r.in(held) {
		for fun := range f.functions() {
			found = append(found, finding{subject: f.dir + "." + functionName(fun), n: f.lines(fun)})
		}
	}
	return found
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

// shortTests finds how far the tests of each package are from their due length.
func (r *repo) shortTests() (found []finding) {
	code := map[string]int{}
	for f := range r.in(held) {
		if !within(f.dir, kits) && !within(f.dir, together) {
			code[f.dir] += f.length
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(code)) {
		percent := 100 * r.testLines[dir] / code[dir]
		tens := (max(0, testPercent-percent) + 9) / 10
		found = append(found, finding{subject: dir, n: 10 * tens})
	}
	return found
}

// coreFunctions are the lengths of the functions of the core, the shortest first.
func (r *repo) coreFunctions() (lengths []int) {
	for f := range r.in(core) {
		for fun := range f.functions() {
			lengths = append(lengths, f.lines(fun))
		}
	}
	slices.Sort(lengths)
	return lengths
}

func (r *repo) coreLines() (n int) {
	for f := range r.in(core) {
		n += f.length
	}
	return n
}

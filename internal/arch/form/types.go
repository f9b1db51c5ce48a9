package main

import (
	"go/ast"
	"path"
	"strings"
)

// configs finds the exported fields of each Config, in the whole repository.
func (r *repo) configs() (found []finding) {
	for f := range r.in(everywhere) {
		for t := range f.types() {
			if s, ok := t.Type.(*ast.StructType); ok && strings.HasSuffix(t.Name.Name, "Config") {
				found = append(found, finding{subject: f.dir + "." + t.Name.Name, n: exported(s)})
			}
		}
	}
	return found
}

// groups finds the exported fields of each struct that is a field of a Config.
func (r *repo) groups() (found []finding) {
	for f := range r.in(everywhere) {
		for t := range f.types() {
			s, ok := t.Type.(*ast.StructType)
			if !ok || !strings.HasSuffix(t.Name.Name, "Config") {
				continue
			}
			for _, field := range s.Fields.List {
				name, group := r.structOf(f, t.Name.Name, field)
				if group != nil && !strings.HasSuffix(name, "Config") {
					found = append(found, finding{subject: name, n: exported(group)})
				}
			}
		}
	}
	return found
}

// structOf returns the struct of a Config's field, be it in place or a declared type.
func (r *repo) structOf(f file, config string, field *ast.Field) (name string, group *ast.StructType) {
	kind := field.Type
	if pointer, ok := kind.(*ast.StarExpr); ok {
		kind = pointer.X
	}
	dir, declared := f.dir, ""
	switch k := kind.(type) {
	case *ast.StructType:
		return dir + "." + config + "." + field.Names[0].Name, k
	case *ast.Ident:
		declared = k.Name
	case *ast.SelectorExpr:
		dir, declared = f.imported(k.X), k.Sel.Name
	}
	group, _ = r.typeOf(dir, declared).(*ast.StructType)
	return dir + "." + declared, group
}

// typeOf returns what an exported type of a package is declared as, or nil.
func (r *repo) typeOf(dir, name string) ast.Expr {
	for f := range r.in([]string{dir}) {
		for t := range f.types() {
			if t.Name.Name == name {
				return t.Type
			}
		}
	}
	return nil
}

// exported counts the exported fields of a struct.
func exported(s *ast.StructType) (n int) {
	for _, field := range s.Fields.List {
		if len(field.Names) == 0 {
			n++
		}
		for _, name := range field.Names {
			if name.IsExported() {
				n++
			}
		}
	}
	return n
}

// interfaces finds the methods of each exported interface.
func (r *repo) interfaces() (found []finding) {
	for f := range r.in(held) {
		for t := range f.types() {
			if i, ok := t.Type.(*ast.InterfaceType); ok {
				found = append(found, finding{subject: f.dir + "." + t.Name.Name, n: r.methods(f, i)})
			}
		}
	}
	return found
}

// methods counts the methods of an interface that f declares, with those of embedded
// ones. An embedded interface of another repository counts as one.
func (r *repo) methods(f file, i *ast.InterfaceType) (n int) {
	for _, m := range i.Methods.List {
		switch embedded := m.Type.(type) {
		case *ast.Ident:
			n += r.embedded(f.dir, embedded.Name)
		case *ast.SelectorExpr:
			n += r.embedded(f.imported(embedded.X), embedded.Sel.Name)
		case *ast.FuncType:
			n++
		}
	}
	return n
}

func (r *repo) embedded(dir, name string) int {
	for f := range r.in([]string{dir}) {
		for t := range f.types() {
			if i, ok := t.Type.(*ast.InterfaceType); ok && t.Name.Name == name {
				return r.methods(f, i)
			}
		}
	}
	return 1
}

// imported returns the folder of a package that the file imports by this name.
func (f file) imported(name ast.Expr) string {
	id, ok := name.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, i := range f.syntax.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		if i.Name != nil && i.Name.Name == id.Name || i.Name == nil && path.Base(p) == id.Name {
			return strings.TrimPrefix(p, module)
		}
	}
	return ""
}

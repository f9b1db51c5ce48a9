package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// file is a Go file that is no test.
type file struct {
	path   string // from the root, with slashes
	dir    string // folder of path
	length int    // lines
	source []byte
	syntax *ast.File
	fset   *token.FileSet
}

// repo is all Go code of the repository, in order of paths.
type repo struct {
	files     []file
	testLines map[string]int // lines of tests, by folder
}

// finding is something above a limit.
type finding struct {
	subject string // a file, a folder, or a folder and a name
	n       int
	where   []string // places, if the subject is a folder
}

// read parses all Go files below root but those that git or the go command ignore.
func read(root string) (*repo, error) {
	r := &repo{testLines: map[string]int{}}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || name == "bin" || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		source, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return r.add(filepath.ToSlash(name), source)
	})
	return r, err
}

// add takes one more file in.
func (r *repo) add(name string, source []byte) error {
	f := file{path: name, dir: path.Dir(name), length: bytes.Count(source, []byte("\n")), source: source, fset: token.NewFileSet()}
	if strings.HasSuffix(name, "_test.go") {
		r.testLines[f.dir] += f.length
		return nil
	}
	var err error
	f.syntax, err = parser.ParseFile(f.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	r.files = append(r.files, f)
	return err
}

// in yields the files of these folders.
func (r *repo) in(folders []string) iter.Seq[file] {
	return func(yield func(file) bool) {
		for _, f := range r.files {
			if within(f.dir, folders) && !yield(f) {
				return
			}
		}
	}
}

// within reports whether dir is one of the folders, or below one that ends in "/...".
func within(dir string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		above, tree := strings.CutSuffix(folder, "/...")
		return dir == above || tree && (above == "." || strings.HasPrefix(dir, above+"/"))
	})
}

// functions yields the declared functions of a file.
func (f file) functions() iter.Seq[*ast.FuncDecl] {
	return func(yield func(*ast.FuncDecl) bool) {
		for _, d := range f.syntax.Decls {
			if fun, ok := d.(*ast.FuncDecl); ok && !yield(fun) {
				return
			}
		}
	}
}

// types yields the exported types of a file.
func (f file) types() iter.Seq[*ast.TypeSpec] {
	return func(yield func(*ast.TypeSpec) bool) {
		for _, d := range f.syntax.Decls {
			general, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range general.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() && !yield(t) {
					return
				}
			}
		}
	}
}

// lines counts the lines of a node: a function's from func to its last brace.
func (f file) lines(n ast.Node) int { return f.line(n.End()) - f.line(n.Pos()) + 1 }

func (f file) line(at token.Pos) int { return f.fset.Position(at).Line }

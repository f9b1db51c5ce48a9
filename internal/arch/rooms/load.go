package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
}

// room is one package with its syntax and what its names mean.
type room struct {
	name  string // the last part of its import path
	files []*ast.File
	uses  map[*ast.Ident]types.Object
	fset  *token.FileSet
}

// checker type-checks packages of this repository from their source, so that one name is
// one object in all of them. What they import from elsewhere comes from export data.
type checker struct {
	fset    *token.FileSet
	checked map[string]*types.Package
	foreign types.Importer
}

func newChecker(exports map[string]string) *checker {
	c := &checker{fset: token.NewFileSet(), checked: map[string]*types.Package{}}
	c.foreign = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("package %s has no export data", path)
		}
		return os.Open(exports[path])
	})
	return c
}

// Import finds a package for go/types.
func (c *checker) Import(path string) (*types.Package, error) {
	if p := c.checked[path]; p != nil {
		return p, nil
	}
	return c.foreign.Import(path)
}

// check type-checks a package. What it imports from this repository was checked before.
func (c *checker) check(path string, files []*ast.File) (room, error) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: c}
	p, err := conf.Check(path, c.fset, files, info)
	if err != nil {
		return room{}, err
	}
	c.checked[path] = p
	return room{name: filepath.Base(path), files: files, uses: info.Uses, fset: c.fset}, nil
}

// load type-checks the packages in these folders and returns them in their order.
func load(root string, dirs []string) ([]room, error) {
	packages, err := list(root, dirs)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	c, byDir := newChecker(exports), map[string]room{}
	for _, p := range packages { // dependencies come first
		if p.Module == nil || !p.Module.Main {
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
		if byDir[p.Dir], err = c.check(p.ImportPath, files); err != nil {
			return nil, err
		}
	}
	return inOrder(root, dirs, byDir)
}

func inOrder(root string, dirs []string, byDir map[string]room) (rooms []room, err error) {
	for _, dir := range dirs {
		abs, err := filepath.Abs(filepath.Join(root, dir))
		if err != nil {
			return nil, err
		}
		r, ok := byDir[abs]
		if !ok {
			return nil, fmt.Errorf("go list knows no package in %s", abs)
		}
		rooms = append(rooms, r)
	}
	return rooms, nil
}

// list runs go list on the folders and all that they import.
func list(root string, dirs []string) (packages []listed, err error) {
	args := []string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,Module"}
	for _, dir := range dirs {
		args = append(args, "./"+filepath.ToSlash(dir))
	}
	cmd := exec.CommandContext(context.Background(), "go", args...)
	var out, faults bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &out, &faults
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, bytes.TrimSpace(faults.Bytes()))
	}
	for in := json.NewDecoder(&out); ; {
		var p listed
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

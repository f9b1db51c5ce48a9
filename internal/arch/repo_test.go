package arch

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/convene-go/convene"
	root   = "../.."
)

// file is one Go file of the repository, of any module.
type file struct {
	path    string // from the root, with slashes
	dir     string // folder of path
	test    bool
	ast     *ast.File
	imports []string
}

var goFiles = sync.OnceValues(func() ([]file, error) {
	var files []file
	err := walk(func(name string, data []byte) error {
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out := file{path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), ast: f}
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			out.imports = append(out.imports, p)
		}
		files = append(files, out)
		return nil
	})
	return files, err
})

func files(t *testing.T) []file {
	t.Helper()
	fs, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	if len(fs) == 0 {
		t.Fatal("no Go files found")
	}
	return fs
}

// walk hands visit every text file of the repository but those that git or the go
// command ignore.
func walk(visit func(name string, data []byte) error) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreGone(err)
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel == ".git" || rel == "bin" || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if rel == ".git" || !d.Type().IsRegular() || slices.Contains([]string{".db", ".prof", ".test"}, path.Ext(rel)) {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return ignoreGone(err)
		}
		if bytes.IndexByte(data, 0) >= 0 {
			return nil // not text
		}
		return visit(rel, data)
	})
}

// ignoreGone forgives a file that other tests removed meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

package arch

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestPackageComments(t *testing.T) {
	comment := map[string]bool{}
	for _, f := range files(t) {
		if !f.test {
			comment[f.dir] = comment[f.dir] || f.ast.Doc != nil
		}
	}
	for dir, ok := range comment {
		if !ok {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

// A path of one machine tells nothing on another.
func TestNoMachinePaths(t *testing.T) {
	machine := regexp.MustCompile(`(^|[^\w./~-])/(work|root)/`)
	err := walk(func(name string, data []byte) error {
		for i, line := range strings.Split(string(data), "\n") {
			if machine.MatchString(line) {
				t.Errorf("%s:%d has a path of a machine: %s", name, i+1, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestGoStatements(t *testing.T) {
	for _, f := range files(t) {
		if f.test || goStatements[f.path] != "" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s has a bare go statement: use errgroup or WaitGroup.Go, or say why in goStatements", f.path)
			}
			return true
		})
	}
}

// The README shows the program that is built and run.
func TestReadmeShowsHello(t *testing.T) {
	hello, err := os.ReadFile(filepath.Join(root, "examples", "hello", "main.go"))
	if os.IsNotExist(err) {
		t.Skip("examples/hello is not there yet")
	}
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := string(hello)
	code = code[strings.Index(code, "package main"):] // without the package comment
	if !strings.Contains(string(readme), "```go\n"+code+"```\n") {
		t.Error("README.md shows another program than examples/hello/main.go")
	}
}

// Links from one document to another lead to a file. Programs have none.
func TestLinks(t *testing.T) {
	program := regexp.MustCompile("(?s)```.*?```")
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	err := walk(func(name string, data []byte) error {
		if path.Ext(name) != ".md" {
			return nil
		}
		for _, m := range link.FindAllStringSubmatch(program.ReplaceAllString(string(data), ""), -1) {
			to := filepath.Join(root, filepath.FromSlash(path.Dir(name)), filepath.FromSlash(m[1]))
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

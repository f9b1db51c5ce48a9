package orchestrator_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/engine"
)

// aliases are the types that package orchestrator shows of package engine.
var aliases = map[string]reflect.Type{
	"Budget":   reflect.TypeFor[orchestrator.Budget](),
	"Held":     reflect.TypeFor[orchestrator.Held](),
	"Lost":     reflect.TypeFor[orchestrator.Lost](),
	"Question": reflect.TypeFor[orchestrator.Question](),
	"Status":   reflect.TypeFor[orchestrator.Status](),
}

// typesOf returns the type declarations of a package's files, by name, each with its
// doc comment.
func typesOf(t *testing.T, dir string) map[string]*ast.TypeSpec {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	types := map[string]*ast.TypeSpec{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range file.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, s := range group.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok {
					if spec.Doc == nil {
						spec.Doc = group.Doc
					}
					types[spec.Name.Name] = spec
				}
			}
		}
	}
	return types
}

// listedFields returns the fields that a doc comment lists, as "Name: comment".
func listedFields(doc string) (fields []string) {
	_, list, _ := strings.Cut(doc, "Its fields:\n")
	for line := range strings.Lines(list) {
		item, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if ok {
			fields = append(fields, item)
		}
	}
	return fields
}

// commented returns the fields of a struct with the comments beside them, as "Name:
// comment".
func commented(spec *ast.TypeSpec) (fields []string) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			fields = append(fields, name.Name+": "+strings.TrimSpace(f.Comment.Text()))
		}
	}
	return fields
}

// The page of go doc shows no fields of an alias, so its comment has them.
func TestAliasesListTheirFields(t *testing.T) {
	here, there := typesOf(t, "."), typesOf(t, "engine")
	var found []string
	for name, spec := range here {
		if from, ok := spec.Type.(*ast.SelectorExpr); ok && spec.Assign.IsValid() {
			assert.Equal(t, "engine."+name, from.X.(*ast.Ident).Name+"."+from.Sel.Name)
			found = append(found, name)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(aliases)), found, "the aliases of package orchestrator")
	for name, typ := range aliases {
		fields := listedFields(here[name].Doc.Text())
		assert.Equal(t, commented(there[name]), fields, "the comment of orchestrator.%s has the comments of engine.%[1]s", name)
		if typ.Kind() != reflect.Struct {
			continue
		}
		var names []string
		for f := range typ.Fields() {
			names = append(names, f.Name)
		}
		var told []string
		for _, f := range fields {
			field, comment, _ := strings.Cut(f, ": ")
			assert.NotEmpty(t, comment, "the comment of %s.%s", name, field)
			told = append(told, field)
		}
		assert.Equal(t, names, told, "the fields of %s", name)
	}
}

// What is alike in both packages is one type, so that nothing is converted.
func TestValuesAreThoseOfTheEngine(t *testing.T) {
	assert.Equal(t, reflect.TypeFor[engine.Budget](), aliases["Budget"])
	assert.Equal(t, reflect.TypeFor[engine.Lost](), aliases["Lost"])
	assert.Equal(t, orchestrator.Budget{Cost: 3, Calls: -1, Tokens: -1, Wall: 9}, orchestrator.Budget{Cost: 10, Calls: 2, Tokens: -5, Wall: 9}.Split(3))
	assert.JSONEq(t, `{"calls":1,"cost":2,"tokens":3}`, string(encoded(t, orchestrator.Lost{Calls: 1, Cost: 2, Tokens: 3})))
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	data, err := engine.Encode(v)
	require.NoError(t, err)
	return data
}

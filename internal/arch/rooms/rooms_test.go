package main

import (
	"go/ast"
	"go/parser"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const repo = "../../.."

func TestRooms(t *testing.T) {
	dirs := existing(repo, rooms)
	require.NotEmpty(t, dirs)
	p, err := measure(repo, dirs)
	require.NoError(t, err)
	t.Logf("%s\n%s", strings.Join(dirs, ", "), p)
	for _, fault := range p.check(maxArrows) {
		t.Error(fault)
	}
}

// upper and lower are two rooms without fault, and one arrow between them.
var (
	upper = map[string]string{
		"upper/door.go": "// Package upper is read first.\n//\n// # Files\n//\n//   - door.go: the way in\npackage upper\n" +
			`import "x/lower"` + "\n" + `func Open() string { return lower.Floor() }`,
	}
	lower = map[string]string{
		"lower/doc.go":   "// Package lower has a file for its comment only.\n//\n// # Files\n//\n//   - floor.go: what all stands on\npackage lower",
		"lower/floor.go": "package lower\n" + `func Floor() string { return "oak" }`,
	}
)

func TestArrowsAcrossRooms(t *testing.T) {
	p := planOf(t, upper, lower)
	assert.Equal(t, map[string]string{"upper/door.go > lower/floor.go": "Floor"}, arrowsOf(p))
	assert.Empty(t, p.check(1))
	assert.Len(t, p.check(0), 1, "one arrow is too many")
}

func TestUpsideDown(t *testing.T) {
	checked := roomsOf(t, upper, lower)
	slices.Reverse(checked)
	faults := newPlan(checked).check(40)
	require.Len(t, faults, 1)
	assert.Contains(t, faults[0], "upper/door.go uses Floor of lower/floor.go, which is read before it")
}

func TestArrowsBetweenFiles(t *testing.T) {
	const a = "// Package p has two files.\n//\n// # Files\n//\n//   - a.go: the first\n//   - b.go: the second\npackage p\n"
	for _, tt := range []struct {
		name, a, b  string
		ab, ba      string // the names that each uses of the other
		faultsOfTwo int
	}{
		{name: "forward", a: `var x = y`, b: `const y = 1`, ab: "y"},
		{name: "backward", a: `const x = 1`, b: `var y = x`, ba: "x", faultsOfTwo: 1},
		{name: "both ways", a: `func f() { g() }`, b: `func g() { f() }`, ab: "g", ba: "f", faultsOfTwo: 1},
		{name: "method of a type that is not named", a: `func f() { g().m() }`, b: `type T struct{}; func g() *T { return nil }; func (*T) m() {}`, ab: "g m"},
		{name: "field of a type that is not named", a: `var f = g.n`, b: `var g struct{ n int }`, ab: "g n"},
		{name: "promoted field and key of a literal", a: `func f() { _ = V{U: U{n: 1}}.n }`, b: `type U struct{ n int }; type V struct{ U }`, ab: "U V n"},
		{name: "method of another file's type", a: `func (T) m() {}`, b: `type T struct{}`, ab: "T"},
		{name: "interface instead of its type", a: `type I interface{ m() }; func f(i I) { i.m() }`, b: `type T struct{}; func (T) m() {}`},
		{name: "generic", a: `func f() { new(T[int]).m(); g[string]() }`, b: `type T[A any] struct{}; func (*T[A]) m() {}; func g[A any]() {}`, ab: "T g m"},
		{name: "local names", a: `func f() { x := 1; _ = x }`, b: `func g() { x := 2; _ = x }`},
		{name: "names of the library", a: `import "strings"; var x = strings.ToUpper("x")`, b: `import "strings"; var y = strings.ToUpper("x")`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := planOf(t, map[string]string{"p/a.go": a + tt.a, "p/b.go": "package p\n" + tt.b})
			want := map[string]string{}
			if tt.ab != "" {
				want["p/a.go > p/b.go"] = tt.ab
			}
			if tt.ba != "" {
				want["p/b.go > p/a.go"] = tt.ba
			}
			assert.Equal(t, want, arrowsOf(p))
			assert.Len(t, p.check(2), tt.faultsOfTwo)
		})
	}
}

func TestListsOfFiles(t *testing.T) {
	for _, tt := range []struct{ name, comment, want string }{
		{"none", "// Package p is bare.\n", "does not list a.go"},
		{"another heading", "// Package p.\n//\n// # Rules\n//\n//   - a.go: all\n", "does not list a.go"},
		{"a file that is gone", "// Package p.\n//\n// # Files\n//\n//   - a.go: all\n//   - b.go: no more\n", "lists b.go"},
		{"twice", "// Package p.\n//\n// # Files\n//\n//   - a.go: all\n//   - a.go: again\n", "lists a.go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			faults := planOf(t, map[string]string{"p/a.go": tt.comment + "package p; var x = 1"}).check(40)
			require.Len(t, faults, 1)
			assert.Contains(t, faults[0], tt.want)
		})
	}
}

func TestMatrix(t *testing.T) {
	assert.Equal(t, strings.Join([]string{
		`names used of file         1   2`,
		`  1 upper/door.go          \   1`,
		`  2 lower/floor.go         .   \`,
		"2 files, 1 arrows, 0 of them backward: 1 upper to lower\n",
	}, "\n"), planOf(t, upper, lower).String())
}

func planOf(t *testing.T, packages ...map[string]string) *plan {
	t.Helper()
	return newPlan(roomsOf(t, packages...))
}

// roomsOf checks packages that are given from the top down. Each may import those
// below it, as "x/" and its name.
func roomsOf(t *testing.T, packages ...map[string]string) (checked []room) {
	t.Helper()
	packages = slices.Clone(packages)
	slices.Reverse(packages)
	exports := map[string]string{}
	stdlib, err := list(repo, []string{"internal/text"})
	require.NoError(t, err)
	for _, p := range stdlib {
		exports[p.ImportPath] = p.Export
	}
	c := newChecker(exports)
	for _, sources := range packages {
		var files []*ast.File
		names := slices.Sorted(maps.Keys(sources))
		for _, name := range names {
			f, err := parser.ParseFile(c.fset, name, sources[name], parser.ParseComments)
			require.NoError(t, err)
			files = append(files, f)
		}
		r, err := c.check("x/"+path.Dir(names[0]), files)
		require.NoError(t, err)
		checked = append(checked, r)
	}
	slices.Reverse(checked)
	return checked
}

// arrowsOf writes arrows as "from > to", each with the names that make it.
func arrowsOf(p *plan) map[string]string {
	found := map[string]string{}
	for a, names := range p.arrows {
		found[p.files[a.from]+" > "+p.files[a.to]] = strings.Join(slices.Sorted(maps.Keys(names)), " ")
	}
	return found
}

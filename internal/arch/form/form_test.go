package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../.."

func TestForm(t *testing.T) {
	r, err := read(root)
	require.NoError(t, err)
	require.NotEmpty(t, r.files)
	list, err := readKnown("known.txt")
	require.NoError(t, err)
	t.Logf("\n%s", r.summary())
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			for _, fault := range list.compare(c, c.above(r)) {
				t.Error(fault)
			}
		})
	}
}

func TestFolders(t *testing.T) {
	r, err := read(root)
	require.NoError(t, err)
	there := map[string]bool{}
	for _, f := range r.files {
		there[f.dir] = true
	}
	for _, folders := range [][]string{held, core, kits, together} {
		for _, folder := range folders {
			folder = strings.TrimSuffix(folder, "/...")
			if !there[folder] && folder != "orchestrator/internal" {
				t.Errorf("%s has no Go files: change it in internal/arch/form/table.go", folder)
			}
		}
	}
}

// Each check finds its fault in a source, and nothing where there is none.
func TestChecks(t *testing.T) {
	const engine = "orchestrator/engine"
	for _, tt := range []struct {
		name, check string
		files       map[string]string
		want        string // "subject number", those above the limit
	}{
		{"300 lines", "file", map[string]string{"internal/text/a.go": lines("package text", 299)}, ""},
		{"301 lines", "file", map[string]string{"internal/text/a.go": lines("package text", 300)}, "internal/text/a.go 301"},
		{"301 lines of a test", "file", map[string]string{"internal/text/a_test.go": lines("package text", 300)}, ""},
		{"301 lines elsewhere", "file", map[string]string{"grading/a.go": lines("package grading", 300)}, ""},
		{"a folder below one with all below", "file", map[string]string{"orchestrator/internal/new/a.go": lines("package new", 300)}, "orchestrator/internal/new/a.go 301"},

		{"a function of 45 lines", "function", code("func f() {\n" + lines("", 42) + "}"), ""},
		{"a function of 46 lines", "function", code("func f() {\n" + lines("", 43) + "}"), "internal/text.f 46"},
		{"a comment above a function", "function", code(lines("// x", 1) + "// f\nfunc f() {\n" + lines("", 42) + "}"), ""},
		{"a method of 46 lines", "function", code("func (*T[A]) m() {\n" + lines("", 43) + "}"), "internal/text.T[A].m 46"},

		{"a field's comment with a subject", "comment", code("type t struct {\n\ta int // limit of one attempt\n}"), ""},
		{"a field's comment without", "comment", code("type t struct {\n\ta int // of one attempt\n}"), "internal/text 1"},
		{"a constant's and a statement's", "comment", code("const a = 1 // the same\nfunc f() {\n\tf() // in which it calls itself\n}"), "internal/text 2"},
		{"a word that begins alike", "comment", code("var a int // offset, tone, bytes, format, assets\nvar b int // office"), ""},
		{"a comment above, which goes on from its name", "comment", code("// of\nvar a int"), ""},
		{"an instruction to a linter", "comment", code("var a int //nolint:unused // for once"), ""},

		{"an exported field without", "field", code("type T struct {\n\tA int\n\tb int\n}"), "internal/text 1"},
		{"fields with comments", "field", code("type T struct {\n\t// A is it.\n\tA int\n\n\tB int // the other\n}"), ""},
		{"a group below one comment", "field", code("type T struct {\n\t// Sizes in bytes.\n\tA int\n\tB, C int\n\n\tD, E int\n}"), "internal/text 2"},
		{"a comment behind a field is for that field", "field", code("type T struct {\n\tA int // bytes\n\tB int\n}"), "internal/text 1"},
		{"a struct within", "field", code("type T struct {\n\t// A has parts.\n\tA struct{ B int }\n}"), "internal/text 1"},
		{"an unexported type and an embedded one", "field", code("type t struct{ A int }\ntype T struct {\n\tt\n}"), ""},

		{"a Config of 8", "config", map[string]string{"routing/a.go": "package routing\ntype Config struct{ A, B, C, D, E, F, G, H, i int }"}, ""},
		{"a Config of 9", "config", map[string]string{"routing/a.go": "package routing\ntype Config struct{ A, B, C, D, E, F, G, H int; I }"}, "routing.Config 9"},
		{"another struct of 9", "config", map[string]string{"routing/a.go": "package routing\ntype Route struct{ A, B, C, D, E, F, G, H, I int }"}, ""},
		{"a group of 11", "group", map[string]string{"routing/a.go": "package routing\ntype Config struct{ G *G }\ntype G struct{ A, B, C, D, E, F, G, H, I, J, K int }"}, "routing.G 11"},
		{"a group of 11 in place", "group", map[string]string{"routing/a.go": "package routing\ntype Config struct{ G struct{ A, B, C, D, E, F, G, H, I, J, K int } }"}, "routing.Config.G 11"},
		{"a group of another package", "group", map[string]string{
			"routing/a.go": "package routing\nimport other \"github.com/convene-go/convene/grading\"\ntype Config struct{ G other.G; H other.H }",
			"grading/a.go": "package grading\ntype G struct{ A, B, C, D, E, F, G, H, I, J, K int }\ntype H int",
		}, "grading.G 11"},
		{"a group of 10", "group", map[string]string{"routing/a.go": "package routing\ntype Config struct{ G G }\ntype G struct{ A, B, C, D, E, F, G, H, I, J int }"}, ""},

		{"6 methods", "interface", code("type I interface {" + methods(6) + "}"), ""},
		{"7 methods", "interface", code("type I interface {" + methods(7) + "}"), "internal/text.I 7"},
		{"7 methods, embedded ones included", "interface", code("import \"io\"\ntype J interface {" + methods(4) + "}\ntype I interface {\n\tJ\n\tio.Closer\n\tx()\n\ty()\n}"), "internal/text.I 7"},
		{"an embedded one of another package", "interface", map[string]string{
			"internal/text/a.go": "package text\nimport \"github.com/convene-go/convene/orchestrator/engine\"\ntype I interface {\n\tengine.J\n\tx()\n}",
			engine + "/a.go":     "package engine\ntype J interface {" + methods(6) + "}",
		}, "internal/text.I 7"},
		{"the driver may have 8", "interface", map[string]string{engine + "/a.go": "package engine\ntype Driver interface {" + methods(8) + "}"}, ""},
		{"the driver may not have 9", "interface", map[string]string{engine + "/a.go": "package engine\ntype Driver interface {" + methods(9) + "}"}, "orchestrator/engine.Driver 9"},
		{"an unexported one", "interface", code("type i interface {" + methods(9) + "}"), ""},

		{"12 lines of tests for 10", "test", map[string]string{"internal/text/a.go": lines("package text", 9), "internal/text/a_test.go": lines("package text", 11)}, ""},
		{"11 lines of tests for 10", "test", map[string]string{"internal/text/a.go": lines("package text", 9), "internal/text/a_test.go": lines("package text", 10)}, "internal/text 10"},
		{"no tests", "test", map[string]string{"internal/text/a.go": "package text\n"}, "internal/text 120"},
		{"no tests of a kit", "test", map[string]string{"orchestrator/flowtest/a.go": "package flowtest\n"}, ""},
	} {
		t.Run(tt.check+": "+tt.name, func(t *testing.T) {
			var found []string
			for _, f := range checkOf(t, tt.check).above(repoOf(t, tt.files)) {
				found = append(found, fmt.Sprint(f.subject, " ", f.n))
			}
			assert.Equal(t, tt.want, strings.Join(found, ", "))
		})
	}
}

// The list of what is known holds in both directions.
func TestKnown(t *testing.T) {
	long := checkOf(t, "file")
	found := func(n int) []finding { return []finding{{subject: "a.go", n: n}} }
	for _, tt := range []struct {
		name  string
		known known
		found []finding
		want  string // part of the fault
	}{
		{"nothing", known{}, nil, ""},
		{"as known", known{"file a.go": 310}, found(310), ""},
		{"new", known{}, found(301), "a.go: 301 lines of a file, at most 300: split it by subject\n\tleft for later it would be: file a.go 301"},
		{"grown", known{"file a.go": 310}, found(311), "a.go: 311 lines of a file, at most 310"},
		{"smaller", known{"file a.go": 310}, found(309), "lower it (go run ./internal/arch/form -lower): file a.go 309"},
		{"mended", known{"file a.go": 310}, nil, "remove it (go run ./internal/arch/form -lower): file a.go 310"},
		{"of another check", known{"field internal/text": 3}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			faults := tt.known.compare(long, tt.found)
			if tt.want == "" {
				assert.Empty(t, faults)
				return
			}
			require.Len(t, faults, 1)
			assert.Contains(t, faults[0], tt.want)
		})
	}
	t.Run("places are told", func(t *testing.T) {
		faults := known{}.compare(checkOf(t, "comment"), []finding{{subject: "internal/text", n: 1, where: []string{"a.go:3: // of x"}}})
		assert.Contains(t, faults[0], "\ta.go:3: // of x\n")
	})
}

func TestLower(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	write("internal/text/long.go", lines("package text", 309))
	write("internal/text/longer.go", lines("package text", 319))
	write("internal/text/new.go", lines("package text", 329))
	write("internal/text/testdata/ignored.go", "no Go")
	write(knownFile, "file internal/text/gone.go 340\nfile internal/text/long.go 315\nfile internal/text/longer.go 305\n")
	var out strings.Builder
	require.NoError(t, run(dir, true, false, &out))
	got, err := os.ReadFile(filepath.Join(dir, knownFile))
	require.NoError(t, err)
	assert.Equal(t, "file internal/text/long.go 310\nfile internal/text/longer.go 305\n", string(got), "it lowers and removes, and adds nothing")
	assert.Contains(t, out.String(), "internal/text/longer.go: 320 lines of a file, at most 305")
	assert.Contains(t, out.String(), "file internal/text/new.go 330")
	assert.NotContains(t, out.String(), "file internal/text/long.go 310")

	out.Reset()
	require.NoError(t, run(dir, false, true, &out))
	assert.Contains(t, out.String(), "file internal/text/long.go 310", "known, and asked for")
}

func TestKnownIsRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "known.txt")
	require.NoError(t, os.WriteFile(name, []byte("file a.go\n"), 0o600))
	_, err := readKnown(name)
	assert.ErrorContains(t, err, "is not: check subject number")
}

func TestSummary(t *testing.T) {
	r := repoOf(t, map[string]string{"orchestrator/a.go": "package orchestrator\nfunc f() {\n}\nfunc g() {}\nfunc h() {\n\n}\n"})
	assert.Contains(t, r.summary(), "median 2 lines (goal 10), nine in ten up to 3 (goal 25), the longest 3\n")
	assert.Contains(t, r.summary(), "lines of the core: 7 (goal 11700)\n")
}

func checkOf(t *testing.T, name string) check {
	t.Helper()
	for _, c := range checks {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("no check %s", name)
	return check{}
}

func repoOf(t *testing.T, files map[string]string) *repo {
	t.Helper()
	r := &repo{testLines: map[string]int{}}
	for name, source := range files {
		require.NoError(t, r.add(name, []byte(source)))
	}
	return r
}

// code is one file of a package that is held.
func code(text string) map[string]string {
	return map[string]string{"internal/text/a.go": "package text\n" + text + "\n"}
}

// lines is a line and so many empty ones.
func lines(first string, empty int) string { return first + strings.Repeat("\n", empty+1) }

func methods(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("\n\tm%d()", i)
	}
	return text + "\n"
}

package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	listedID = regexp.MustCompile(`(?m)^- \*\*([A-Z]{1,2}\d+)\*\* (\*Planned\.\* )?\S`)
	testIDs  = regexp.MustCompile(`^(?:[A-Z]{1,2}\d+ )+`) // at the beginning of a test's name
	anID     = regexp.MustCompile(`\b[A-Z]{1,2}\d+\b`)
)

// Each file of docs/requirements lists requirements, a line each. A test whose name
// begins with an ID names a listed requirement, and each one that is listed has a test
// that make test runs, but for those that are planned.
func TestRequirements(t *testing.T) {
	lists, err := filepath.Glob(filepath.Join(root, "docs", "requirements", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	tests, everywhere := idsOfTests(t), map[string]bool{}
	for _, list := range lists {
		t.Run(filepath.Base(list), func(t *testing.T) {
			text, err := os.ReadFile(list)
			require.NoError(t, err)
			listed := listedID.FindAllStringSubmatch(string(text), -1)
			require.NotEmpty(t, listed)
			for _, m := range listed {
				id, planned := m[1], m[2] != ""
				assert.False(t, everywhere[id], "%s is listed more than once", id)
				everywhere[id] = true
				assert.Equal(t, !planned, tests[id].path != "", "%s: planned: %v, named by a test: %q", id, planned, tests[id].path)
				assert.Equal(t, !planned, tests[id].short, "%s: make test leaves out what %s has of it", id, tests[id].path)
			}
		})
	}
	for id, at := range tests {
		assert.True(t, everywhere[id], "%s: a test is named after %s, which no page lists", at.path, id)
	}
}

// The core's page says which tests hold what has no ID: they exist.
func TestPromises(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "requirements", "core.md"))
	require.NoError(t, err)
	_, promises, found := strings.Cut(string(text), "## Promises without an ID")
	require.True(t, found)
	tests := map[string]bool{}
	for _, f := range files(t) {
		if f.test && strings.HasPrefix(f.dir, "orchestrator") {
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					tests[fn.Name.Name] = true
				}
			}
		}
	}
	named := regexp.MustCompile(`\bTest\w+`).FindAllString(promises, -1)
	assert.Greater(t, len(named), 30)
	for _, name := range named {
		assert.Contains(t, tests, name)
	}
}

// Outside of tests the IDs point at nothing that a reader has.
func TestRequirementsInComments(t *testing.T) {
	families := familiesOf(t)
	for _, f := range files(t) {
		if f.test {
			continue
		}
		for _, group := range f.ast.Comments {
			for _, id := range anID.FindAllString(group.Text(), -1) {
				assert.False(t, families[family(id)], "%s: a comment names %s", f.path, id)
			}
		}
	}
}

func familiesOf(t *testing.T) map[string]bool {
	t.Helper()
	families := map[string]bool{}
	for id := range idsOfTests(t) {
		families[family(id)] = true
	}
	return families
}

// family is an ID without its number.
func family(id string) string { return strings.TrimRight(id, "0123456789") }

// named is where a test is named after an ID.
type named struct {
	path  string
	short bool // one that make test runs
}

// idsOfTests returns where a test is named after each ID, if there are several: one that
// make test runs.
func idsOfTests(t *testing.T) map[string]named {
	t.Helper()
	all := map[string]named{}
	for _, f := range files(t) {
		if !f.test {
			continue
		}
		ast.Walk(visitor{found: func(ids []string, long bool) {
			for _, id := range ids {
				if !all[id].short {
					all[id] = named{f.path, !long}
				}
			}
		}}, f.ast)
	}
	return all
}

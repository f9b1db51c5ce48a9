package arch

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	listedID = regexp.MustCompile(`(?m)^- \*\*([A-Z]{1,2}\d+)\*\* \S`)
	testIDs  = regexp.MustCompile(`^(?:[A-Z]{1,2}\d+ )+`) // at the beginning of a test's name
	anID     = regexp.MustCompile(`\b[A-Z]{1,2}\d+\b`)
)

// Each file of docs/requirements lists the requirements of a package, a line each. A
// test whose name begins with the ID of a listed family names a listed requirement, and
// each one that is listed has a test.
func TestRequirements(t *testing.T) {
	lists, err := filepath.Glob(filepath.Join(root, "docs", "requirements", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	named := idsOfTests(t)
	for _, list := range lists {
		t.Run(filepath.Base(list), func(t *testing.T) {
			text, err := os.ReadFile(list)
			require.NoError(t, err)
			listed, families := map[string]int{}, map[string]bool{}
			for _, m := range listedID.FindAllStringSubmatch(string(text), -1) {
				listed[m[1]]++
				families[family(m[1])] = true
			}
			require.NotEmpty(t, listed)
			for id, times := range listed {
				assert.Equal(t, 1, times, "%s is listed more than once", id)
				assert.Contains(t, named, id, "no test is named after it")
			}
			for id, at := range named {
				if families[family(id)] {
					assert.Contains(t, listed, id, "a test is named after it: %s", at)
				}
			}
		})
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

// idsOfTests returns where a test is named after each ID.
func idsOfTests(t *testing.T) map[string]string {
	t.Helper()
	named := map[string]string{}
	for _, f := range files(t) {
		if !f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			name, err := strconv.Unquote(lit.Value)
			if err != nil {
				return true
			}
			for id := range strings.FieldsSeq(testIDs.FindString(name)) {
				named[id] = f.path
			}
			return true
		})
	}
	return named
}

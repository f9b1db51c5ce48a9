package director

import (
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
)

// The package comment has every end and every input, docs/director.md every template with its fields.
func TestPackageComment(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	doc := string(source)
	// listed are the first words of indented lines, with what is said of them.
	listed := func(word string) map[string]string {
		found := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^//\t(`+word+`) +(.+)$`).FindAllStringSubmatch(doc, -1) {
			assert.NotContains(t, found, m[1])
			found[m[1]] = m[2]
		}
		return found
	}
	page, err := os.ReadFile("../../docs/director.md")
	require.NoError(t, err)
	// rows are the first cells of a table's rows, with the second.
	rows := func(word string) map[string]string {
		found := map[string]string{}
		for _, m := range regexp.MustCompile("(?m)^\\| `("+word+")` \\| ([^|]+) \\|").FindAllStringSubmatch(string(page), -1) {
			found[m[1]] = m[2]
		}
		return found
	}
	fields := rows(`\.\w+`)
	t.Run("templates", func(t *testing.T) {
		files, err := fs.Glob(ownPrompts, "prompts/*.tmpl")
		require.NoError(t, err)
		templates := rows(`\w+\.tmpl`)
		assert.Len(t, templates, len(files))
		for _, path := range files {
			file := strings.TrimPrefix(path, "prompts/")
			assert.Contains(t, templates, file)
			body, err := ownPrompts.ReadFile(path)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`\.([A-Z]\w+)`).FindAllStringSubmatch(string(body), -1) {
				if ofParts(m[1]) {
					continue
				}
				where, ok := fields["."+m[1]]
				assert.True(t, ok, "%s: .%s is not listed", file, m[1])
				if m[1] != "Op" {
					assert.Contains(t, strings.Split(where, ", "), strings.TrimSuffix(file, ".tmpl"), ".%s", m[1])
				}
			}
		}
	})
	t.Run("fields", func(t *testing.T) {
		var want, got []string
		for field := range reflect.TypeFor[promptData]().Fields() {
			want = append(want, "."+field.Name)
		}
		for name := range fields {
			got = append(got, name)
		}
		assert.ElementsMatch(t, want, got)
	})
	t.Run("ends", func(t *testing.T) {
		var want, got []string
		for _, phase := range Phases().States() {
			if Phases().Terminal(phase) {
				want = append(want, string(phase))
			}
		}
		for name := range listed(`[a-z_]+`) {
			got = append(got, name)
		}
		assert.ElementsMatch(t, want, got)
	})
	t.Run("inputs", func(t *testing.T) {
		source, err := os.ReadFile("inputs.go")
		require.NoError(t, err)
		inputs := regexp.MustCompile(`(?m)^type ([A-Z]\w*Input) struct`).FindAllStringSubmatch(string(source), -1)
		assert.Len(t, inputs, 5)
		for _, m := range inputs {
			assert.Contains(t, doc, "["+m[1]+"]")
		}
	})
}

// ofParts says whether a name in a template is that of a field of what a list has.
func ofParts(name string) bool {
	return slices.ContainsFunc([]reflect.Type{reflect.TypeFor[blackboard.CriterionResult](), reflect.TypeFor[blackboard.TestAnalysis](), reflect.TypeFor[blackboard.Insight]()}, func(part reflect.Type) bool {
		_, ok := part.FieldByName(name)
		return ok
	})
}

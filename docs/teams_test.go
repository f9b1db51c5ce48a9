package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// program is a whole program in a page, with what it prints.
var program = regexp.MustCompile("(?s)```go\n(package main\n.*?)```\n\n```text\n(.*?)```\n")

// A page that shows a program and what it prints tells the truth.
func TestPrograms(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	run := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range program.FindAllSubmatch(text, -1) {
			run++
			file := filepath.Join(t.TempDir(), "main.go")
			require.NoError(t, os.WriteFile(file, found[1], 0o600))
			out, err := exec.CommandContext(t.Context(), "go", "run", file).CombinedOutput() //nolint:gosec // of this repository
			require.NoError(t, err, "%s: %s", page, out)
			assert.Equal(t, string(found[2]), string(out), page)
		}
	}
	assert.NotZero(t, run)
}

func TestHierarchyPage(t *testing.T) {
	page, err := os.ReadFile("hierarchy.md")
	require.NoError(t, err)
	for _, machine := range []string{hierarchy.Phases.Mermaid(""), hierarchy.DepartmentPhases.Mermaid(""), hierarchy.SpecialistPhases.Mermaid("")} {
		assert.Contains(t, string(page), machine)
	}
}

func TestDeliveryPage(t *testing.T) {
	page, err := os.ReadFile("delivery.md")
	require.NoError(t, err)
	text := string(page)
	for _, machine := range []string{delivery.Phases.Mermaid(""), delivery.StepPhases.Mermaid(""), delivery.PlanPhases.Mermaid("")} {
		assert.Contains(t, text, machine)
	}
	t.Run("it has every setting", func(t *testing.T) {
		config := reflect.TypeFor[delivery.Config]()
		assert.Equal(t, 7, config.NumField())
		for group := range config.Fields() {
			assert.Contains(t, text, "`"+group.Name)
			if group.Type.Kind() == reflect.Struct {
				for field := range group.Type.Fields() {
					assert.Regexp(t, "`("+group.Name+")?\\."+field.Name+"`", text)
				}
			}
		}
		for _, group := range []reflect.Type{reflect.TypeFor[delivery.Gates](), reflect.TypeFor[delivery.Ladder]()} {
			for field := range group.Fields() {
				assert.Contains(t, text, "`"+field.Name+"`")
			}
		}
	})
	t.Run("it has every event, error and warning", func(t *testing.T) {
		names := 0
		files, err := filepath.Glob("../orchestrator/delivery/*.go")
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^\tEvent\w+ += "([^"]+)"|^\t(Err\w+) |r\.warn\(c, "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
				names++
				if m[3] != "" {
					m[3] = "delivery/" + m[3]
				}
				assert.Contains(t, text, "`"+m[1]+m[2]+m[3]+"`")
			}
		}
		assert.Greater(t, names, 25)
	})
	t.Run("its workspace is that of an example", func(t *testing.T) {
		example, err := os.ReadFile("../orchestrator/delivery/workspace/example_test.go")
		require.NoError(t, err)
		_, snippet, _ := strings.Cut(text, "```go\nspace, err")
		snippet, _, found := strings.Cut(snippet, "```")
		require.True(t, found)
		for line := range strings.Lines(snippet) {
			assert.Contains(t, string(example), strings.TrimSpace(line))
		}
	})
}

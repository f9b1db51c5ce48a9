package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

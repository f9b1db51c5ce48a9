package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
)

// work answers as a team of models would that writes one file.
func work(body string) string {
	switch {
	case strings.Contains(body, "You direct a team"):
		return `{"tasks":[{"id":"page","title":"Write a page","component":"docs","phase":"document","acceptance_criteria":["There is a page"]}]}`
	case strings.Contains(body, "You review work"):
		return `{"passed":true,"criteria":[{"number":1,"passed":true,"reasoning":"It is \u001b[2Jthere."}],"feedback":"Good."}`
	default:
		return `{"status":"complete","result_path":"/docs/page.md","summary":"A page","artifact":"# Tea\n"}`
	}
}

func TestModel(t *testing.T) {
	s, dir := clitest.NewModel(t, work), t.TempDir()
	p, repo := clitest.Program{Name: program, Run: todoboard, Env: s.Env()}, filepath.Join(dir, "repo")
	got := p.Start(t.Context(), slices.Concat(s.Flags(), []string{"-dir", repo, "-db", filepath.Join(dir, "b.db"), "-budget", "1"})...)
	require.Equal(t, 0, got.Code, got.Err)
	assert.Equal(t, int64(3), s.Calls.Load(), "plan, writer, review")
	assert.Regexp(t, `completed: 1 of 1 tasks complete, \d+ calls, 0\.0006 USD, 450 tokens, `, got.Out)
	assert.NotContains(t, strings.ToLower(got.Out), "rehears")
	assert.NotContains(t, got.Out, "\x1b", "texts command no terminal")
	assert.Equal(t, "# Tea", in(t, repo, "git", "show", "main:docs/page.md"))
}

func TestModelOverBudget(t *testing.T) {
	s, dir := clitest.NewModel(t, work), t.TempDir()
	p := clitest.Program{Name: program, Run: todoboard, Env: s.Env()}
	flags := s.Flags()
	flags[len(flags)-1] = "2000,4000" // 0.40 USD a call
	got := p.Start(t.Context(), append(flags, "-dir", filepath.Join(dir, "repo"), "-db", filepath.Join(dir, "b.db"), "-budget", "0.5")...)
	assert.Equal(t, cli.Failed, got.Code)
	assert.Regexp(t, `^todoboard: the run ended out.of.budget: .*budget`, got.Err)
	assert.LessOrEqual(t, s.Calls.Load(), int64(2))
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
)

// more is the rest of a text of 500 words.
var more = strings.Repeat(" Really.", 497)

// work answers as a team of models would.
func work(body string) string {
	switch {
	case strings.Contains(body, "Plan the work"):
		return `{"complexity":0.3,"steps":[{"category":"research","mode":"PARALLEL","workers":["web_search","news_search"]},{"category":"writing","mode":"SEQUENTIAL","workers":["article_writer"]}]}`
	case strings.Contains(body, "Judge the result"):
		return `{"article":0.9,"source":0.9,"factual":0.9,"writing":0.9}`
	case strings.Contains(body, "You are the worker web_search"):
		return `{"sources":[{"title":"On [tea]","url":"https://tea.example/a?b=<c>","kind":"page"},{"title":"Bad","url":"javascript:alert(1)"}]}`
	case strings.Contains(body, "You are the worker news_search"):
		return `{"sources":[]}`
	default:
		return `{"title":"On\ntea","content":"Tea \u001b[2Jis hot.` + more + `"}`
	}
}

func TestModel(t *testing.T) {
	s, dir := clitest.NewModel(t, work), t.TempDir()
	p := clitest.Program{Name: program, Run: article, Env: s.Env()}
	file := filepath.Join(dir, "a.md")
	got := p.Start(t.Context(), slices.Concat(s.Flags(), []string{"-topic", "Tea", "-length", "500", "-min-sources", "2", "-db", filepath.Join(dir, "a.db"), "-o", file})...)
	require.Equal(t, 0, got.Code, got.Err)
	assert.Equal(t, int64(5), s.Calls.Load(), "plan, two workers, writer, marks")
	assert.Contains(t, got.Out, "completed: quality 0.9, wanted 0.8, 5 calls, 0.0010 USD, 750 tokens, ")
	assert.Contains(t, got.Out, "0.0006 USD of 5.0000 USD are spent")
	assert.Contains(t, got.Out, fromMemory)
	assert.NotContains(t, strings.ToLower(got.Out), "rehears")
	assert.NotContains(t, got.Out, "\x1b", "texts command no terminal")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "# On tea\n\nTea [2Jis hot."+more+"\n\n## Sources\n\n*"+fromMemory+"*\n\n"+
		"1. [On \\[tea\\]](<https://tea.example/a?b=%3Cc%3E>), page\n2. Bad\n", string(text))
}

func TestModelOverBudget(t *testing.T) {
	s := clitest.NewModel(t, work)
	p := clitest.Program{Name: program, Run: article, Env: s.Env()}
	flags := s.Flags()
	flags[len(flags)-1] = "2000,4000" // 0.40 USD a call
	got := p.Start(t.Context(), append(flags, "Tea", "-quality", "0.95", "-budget", "2.60", "-db", filepath.Join(t.TempDir(), "a.db"))...)
	assert.Equal(t, cli.Failed, got.Code)
	assert.Regexp(t, `^article: the run ended \S+: `, got.Err)
	assert.Contains(t, strings.ToLower(got.Out+got.Err), "budget")
	assert.LessOrEqual(t, s.Calls.Load(), int64(9))
}

func TestEveryWorkerHasATrade(t *testing.T) {
	roster := cast(nil)
	for name := range rehearse(0) {
		assert.Contains(t, roster, name)
		if name != planner && name != supervisor {
			assert.NotEmpty(t, trades[name], name)
		}
	}
}

// The team asks models that refuse what today's models refuse.
func TestStrictModels(t *testing.T) {
	for _, model := range clitest.StrictModels {
		t.Run(model, func(t *testing.T) {
			s, dir := clitest.NewStrict(t, model, work), t.TempDir()
			p := clitest.Program{Name: program, Run: article, Env: s.Env()}
			file := filepath.Join(dir, "a.md")
			got := p.Start(t.Context(), slices.Concat(s.Flags(), []string{"-topic", "Tea", "-length", "500", "-min-sources", "2", "-db", filepath.Join(dir, "a.db"), "-o", file})...)
			require.Equal(t, 0, got.Code, got.Err)
			assert.Contains(t, got.Out, "completed: quality 0.9, wanted 0.8, 5 calls, ")
			assert.FileExists(t, file)
			assert.Zero(t, s.Refused.Load(), "nothing that is known to be refused was sent")
		})
	}
}

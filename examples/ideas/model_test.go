package main

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
)

// speak answers as a team of models would.
func speak(body string) string {
	switch {
	case strings.Contains(body, "Propose three to five"):
		return `{"ideas":[{"title":"Toll\u001b[2J","description":"Pay."},{"title":"Ferry","description":"Row."},{"title":"Raft","description":"Drift."}]}`
	case strings.Contains(body, "Assess every idea"):
		marks := `{"feasibility":9,"innovation":9,"impact":9,"clarity":9,"completeness":9}`
		return `{"evaluations":[{"idea_id":"idea-1","criteria":` + marks + `},{"idea_id":"idea-2","score":3},{"idea_id":"idea-3","score":4}]}`
	default:
		return "Well."
	}
}

func TestModel(t *testing.T) {
	s, dir := clitest.NewModel(t, speak), t.TempDir()
	p := clitest.Program{Name: program, Run: ideas, Env: s.Env()}
	file := filepath.Join(dir, "o.json")
	args := slices.Concat(s.Flags(), []string{library, "-budget", "1", "-db", filepath.Join(dir, "i.db"), "-json", file})
	got := p.Start(t.Context(), args...)
	require.Equal(t, 0, got.Code, got.Err)
	out := outcome(t, file)
	assert.Equal(t, "idea-1", out.FinalIdea.ID)
	assert.Equal(t, int64(6), out.Spent.Calls, "kickoff, ideas, synthesis, marks, choice, page")
	assert.Equal(t, int64(6*200_000), int64(out.Spent.Cost), "100 tokens at 1 USD and 50 at 2 USD a million")
	assert.Contains(t, got.Out, "agents: acme:m at "+s.URL)
	assert.Contains(t, got.Out, "completed: best score 9.0 of 10, 6 calls, 0.0012 USD, 900 tokens, ")
	assert.NotContains(t, strings.ToLower(got.Out), "rehears")
	assert.NotContains(t, got.Out, "\x1b", "texts command no terminal")
	assert.NotContains(t, got.Out, "sk-")
}

func TestModelOverBudget(t *testing.T) {
	s := clitest.NewModel(t, speak)
	p := clitest.Program{Name: program, Run: ideas, Env: s.Env()}
	got := p.Start(t.Context(), append(s.Flags(), library, "-budget", "0.0005", "-db", filepath.Join(t.TempDir(), "i.db"))...)
	assert.Equal(t, cli.Failed, got.Code)
	assert.Contains(t, got.Err, "budget")
	assert.Equal(t, int64(2), s.Calls.Load(), "a call costs 0.0002 USD: the third would go beyond it")
}

func TestModelRefusesTheKey(t *testing.T) {
	s, dir := clitest.NewModel(t, speak), t.TempDir()
	s.Status.Store(http.StatusUnauthorized)
	p := clitest.Program{Name: program, Run: ideas, Env: s.Env()}
	args := append(s.Flags(), library, "-db", filepath.Join(dir, "i.db"))
	got := p.Start(t.Context(), args...)
	assert.Equal(t, cli.Failed, got.Code)
	assert.Regexp(t, `^ideas: the model does not answer: acme:m: .*wrong key.*: suspended run ideas-\w+ with 0 recorded answers in .*: start ideas with the same request again to continue\n$`, got.Err)
	assert.NotContains(t, got.Out+got.Err, "sk-test")
	assert.Equal(t, int64(1), s.Calls.Load())

	s.Status.Store(0)
	got = p.Start(t.Context(), args...)
	require.Equal(t, 0, got.Code, got.Err)
	assert.Contains(t, got.Out, "resumed run ")
}

// The team asks models that refuse what today's models refuse.
func TestStrictModels(t *testing.T) {
	for _, model := range clitest.StrictModels {
		t.Run(model, func(t *testing.T) {
			s, dir := clitest.NewStrict(t, model, speak), t.TempDir()
			p := clitest.Program{Name: program, Run: ideas, Env: s.Env()}
			file := filepath.Join(dir, "o.json")
			got := p.Start(t.Context(), slices.Concat(s.Flags(), []string{library, "-db", filepath.Join(dir, "i.db"), "-json", file})...)
			require.Equal(t, 0, got.Code, got.Err)
			out := outcome(t, file)
			assert.Equal(t, "idea-1", out.FinalIdea.ID)
			assert.Equal(t, s.Calls.Load(), out.Spent.Calls)
			assert.Zero(t, s.Refused.Load(), "nothing that is known to be refused was sent")
		})
	}
}

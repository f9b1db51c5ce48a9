package research_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/research"
)

func TestEvaluation(t *testing.T) {
	proves(t, []string{"R75 R76 R77 R112 what a supervisor gets, and what is stored", "R77 R88 what a supervisor gets, and what is stored", "R112 what a supervisor gets, and what is stored"}, func(t *testing.T) {
		p := scored(0.9)
		p.cast["supervisor"] = []any{map[string]any{"article": 0.94, "source": 0.89, "factual": 0.92, "writing": 0.88}}
		p.cast["news_search"] = []any{errBoom}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.InDelta(t, 0.9105, got.state.QualityScore, 0)
		assert.InDelta(t, 0.94, got.state.Completeness, 0, "RC31")
		in := input[map[string]any](t, got.asked["supervisor"][0])
		assert.InDelta(t, 0.80, in["threshold"], 0)
		assert.InDelta(t, 1.0, in["iteration"], 0)
		assert.InDelta(t, 3.0, in["max_iterations"], 0)
		assert.Len(t, in["research"], 2)
		assert.Len(t, in["analysis"], 1)
		assert.Len(t, in["writing"], 1)
		assert.Len(t, in["quality"], 3)
		assert.Equal(t, []any{"news_search"}, in["failed_workers"])
		assert.InDelta(t, 3.0, in["word_count"], 0)
		assert.InDelta(t, 2.0, in["source_count"], 0)
		assert.Equal(t, map[string]float64{"overall": 0.9105, "article": 0.94, "source": 0.89, "factual": 0.92, "writing": 0.88}, got.out.Quality, "R88")
	})
	t.Run("RC31 completeness as the supervisor says", func(t *testing.T) {
		p := scored(0.9)
		m := marks(0.9)
		m["completeness"] = 0.5
		p.cast["supervisor"] = []any{m}
		got := p.play(t)
		assert.InDelta(t, 0.5, got.state.Completeness, 0)
		assert.Equal(t, orchestrator.Completed, got.out.Status, "it decides nothing")
	})
	proves(t, []string{"R80 R85 actions of the supervisor", "R85 actions of the supervisor"}, func(t *testing.T) {
		p := scored(0.65, 0.9).play(t)
		var decisions []any
		for _, a := range p.state.Actions {
			if a.Agent == "Supervisor" {
				decisions = append(decisions, a.Action, a.Details["decision"], a.Details["iteration"], a.Details["reason"])
			}
		}
		assert.Equal(t, []any{"evaluate", "CONTINUE", nil, nil, "re_plan", nil, 2.0, "quality_low", "evaluate", "COMPLETE", nil, nil}, decisions)
	})
	proves(t, []string{"R82 R83 RC14 RC28 what re-planning leaves", "R83 what re-planning leaves"}, func(t *testing.T) {
		p := scored(0.65, 0.9)
		got := p.play(t)
		i := 0
		for _, rec := range got.log {
			if rec.Kind == string(research.EventIterationStarted) {
				i++
			}
		}
		assert.Equal(t, 1, i)
		assert.Len(t, got.state.Research, 6, "research of both")
		assert.Len(t, got.state.Analysis, 1, "the others of the last")
		assert.Len(t, got.state.Writing, 1)
		assert.Len(t, got.state.Quality, 3)
		assert.Len(t, got.state.Tasks, 16)
		assert.NotNil(t, got.state.Plan)
	})
	t.Run("R78 R81 feedback when nothing is said", func(t *testing.T) {
		p := scored(0.9)
		p.brief.MinSources = 3
		p.cast["supervisor"] = []any{map[string]any{"article": 0.5, "source": 0.5, "factual": 0.5, "writing": 0.5, "issues": []string{"no conclusion"}}, marks(0.9)}
		got := p.play(t)
		assert.Equal(t, "no conclusion", got.events(t, research.EventIterationStarted)[0].Text)
	})
}

func TestMerging(t *testing.T) {
	proves(t, []string{"R87 R90 R91 R93 R97 R98 RC17 the output", "R90 the output", "R93 the output", "R97 the output", "R98 the output"}, func(t *testing.T) {
		p := scored(0.9)
		p.cast["article_writer"] = []any{research.Draft{Title: "T", Content: strings.Repeat("word ", 2150)}}
		got := p.play(t)
		require.NoError(t, got.err)
		o := got.out
		assert.Equal(t, "req-1", o.RequestID)
		assert.Equal(t, got.state.ExecutionID, o.ExecutionID)
		assert.Equal(t, 2150, o.Article.Words)
		assert.Equal(t, 10, o.Article.ReadMinutes, "RA80")
		assert.Len(t, o.Sources, 3)
		assert.Equal(t, 8, o.Metrics.Tasks)
		assert.Equal(t, 8, o.Metrics.Succeeded)
		require.NotNil(t, got.state.CompletedAt)
		assert.Equal(t, got.state.CompletedAt.Sub(got.state.StartedAt), o.Metrics.Duration)
		last := got.state.Actions[13]
		assert.Equal(t, "Merger", last.Agent)
		assert.Equal(t, "completed", last.Details["status"])
		assert.InDelta(t, 0.9, last.Details["quality"], 0)
	})
	t.Run("R113 RX27 a merger", func(t *testing.T) {
		got := scored(0.9).merged(research.Draft{Content: "Words of both, polished."}).play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "Words of both, polished.", got.out.Article.Content)
		assert.Equal(t, "AI in care", got.out.Article.Title)
		got = scored(0.9).merged(errBoom).play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []string{"research/agent-failed"}, got.codes())
		assert.Equal(t, "Words of article_writer.\n\nWords of second.", got.out.Article.Content)
	})
	t.Run("R92 RC15 success with warnings is completed", func(t *testing.T) {
		p := scored(0.9)
		p.cast["news_search"] = []any{errBoom}
		assert.Equal(t, orchestrator.Completed, p.play(t).out.Status)
	})
}

func TestImprovement(t *testing.T) {
	for _, tt := range []struct {
		name        string
		first, last float64
		want        string
	}{
		{"R96 RA50 points", 0.65, 0.88, "+23% quality (0.65 → 0.88)"},
		{"R96 RA53 a few", 0.78, 0.87, "+9% quality (0.78 → 0.87)"},
		{"RC16 halves away from zero", 0, 0.145, "+15% quality (0.00 → 0.14)"},
		{"RC16 halves of a loss", 0.505, 0.5, "-1% quality (0.51 → 0.50)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := scored(tt.first, tt.last)
			p.brief.MinQuality = new(0.99)
			p.cfg.Policy.Iterations, p.cfg.Rules.Ranker = 2, research.Best{Latest: true}
			assert.Equal(t, tt.want, p.play(t).out.Metrics.Improvement)
		})
	}
}

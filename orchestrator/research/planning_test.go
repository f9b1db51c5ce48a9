package research_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/research"
)

func TestPlanning(t *testing.T) {
	proves(t, []string{"R36 R37 R38 R39 RC24 estimates are computed", "R39 estimates are computed"}, func(t *testing.T) {
		p := scored(0.9).play(t)
		first := p.events(t, planCreated)[0].Plan
		assert.Equal(t, 17*time.Minute, first.EstTime)
		assert.Equal(t, cents(240), first.EstCost)
		a := p.state.Actions[2]
		assert.InDelta(t, 4.0, a.Details["steps"], 0)
		assert.InDelta(t, 2.40, a.Details["cost"], 1e-9)
	})
	proves(t, []string{"R42 R44 RC40 required workers are added", "R44 required workers are added"}, func(t *testing.T) {
		p := scored(0.9)
		p.brief.PreferredSources, p.brief.Tone = []string{"Academic journals"}, "academic"
		p.cast["planner"] = []any{small()}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []string{"web_search", "academic_search"}, got.state.Plan.Steps[0].Workers)
		assert.Equal(t, []string{"editor", "citation_formatter"}, got.state.Plan.Steps[2].Workers)
	})
	t.Run("RC40 in a step of their own where there is none", func(t *testing.T) {
		p := scored(0.9)
		p.brief.PreferredSources, p.brief.Tone = []string{"academic"}, "academic"
		p.cast["planner"] = []any{plan(0.3, sequential("writing", "article_writer"))}
		got := p.play(t)
		require.NoError(t, got.err)
		var steps [][]string
		for _, s := range got.state.Plan.Steps {
			steps = append(steps, s.Workers)
		}
		assert.Equal(t, [][]string{{"academic_search"}, {"article_writer"}, {"citation_formatter"}}, steps)
	})
	t.Run("R43 RC8 too few research workers", func(t *testing.T) {
		p := scored(0.9)
		p.brief.MinSources = 15
		p.cast["planner"] = []any{small()}
		got := p.play(t)
		assert.Contains(t, got.warned(), "research workers: 1, want 3 for 15 sources")
	})
	t.Run("RX8 an unknown worker is sent back, then left out", func(t *testing.T) {
		bad := plan(0.3, sequential("research", "web_search", "oracle"), sequential("writing", "article_writer"), sequential("quality", "editor"))
		p := scored(0.9)
		p.cast["planner"] = []any{bad, small()}
		got := p.play(t)
		require.NoError(t, got.err)
		require.Len(t, got.asked["planner"], 2)
		assert.Contains(t, got.asked["planner"][1].Prompt, `"oracle"`)
		assert.Contains(t, got.asked["planner"][1].Prompt, `"web_search"`)
		assert.Empty(t, got.out.Warnings)

		p.cast["planner"] = []any{bad}
		got = p.play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.asked["planner"], 3)
		assert.Equal(t, []string{"research/unknown-worker"}, got.codes())
	})
	for _, tt := range []struct{ name, plan string }{
		{"RX9 no writer", plan(0.3, sequential("research", "web_search"))},
		{"RX9 no steps", plan(0.3)},
		{"RX9 no critical worker among known ones", plan(0.3, sequential("writing", "ghost_writer"))},
		{"RX10 a later step", plan(0.3, step{Category: "research", Mode: "PARALLEL", Workers: []string{"web_search"}, DependsOn: []string{"writing"}}, sequential("writing", "article_writer"))},
		{"RX10 no such step", plan(0.3, step{Category: "writing", Mode: "PARALLEL", Workers: []string{"article_writer"}, DependsOn: []string{"x"}})},
		{"R41 RC7 complexity", strings.Replace(small(), "0.3", "1.0001", 1)},
		{"R37 mode", plan(0.3, step{Category: "writing", Mode: "SOMEHOW", Workers: []string{"article_writer"}})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := scored(0.9)
			p.cast["planner"] = []any{tt.plan}
			got := p.play(t)
			require.Error(t, got.err)
			assert.Contains(t, []string{"InvalidPlanError", "OutputError"}, got.out.Failure.Type)
			assert.Equal(t, "PLANNING", got.out.Failure.Phase)
			assert.Len(t, got.asked["planner"], 3)
		})
	}
	t.Run("RX9 empty steps and duplicates go", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{plan(0.3, parallel("research", "web_search", "web_search"), step{Category: "analysis", Mode: "PARALLEL", Workers: []string{}}, sequential("writing", "article_writer"), sequential("quality", "editor"))}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.state.Tasks, 3)
		assert.Len(t, got.state.Plan.Steps, 3)
	})
	t.Run("R110 what a planner gets", func(t *testing.T) {
		p := scored(0.65, 0.9)
		p.brief.MinSources = 5
		p.cast["news_search"] = []any{errBoom}
		got := p.play(t)
		type planned struct {
			Brief   research.Brief `json:"brief"`
			Bands   []string       `json:"complexity_bands"`
			Workers []struct {
				ID string `json:"id"`
			} `json:"workers"`
			Feedback  string         `json:"feedback"`
			Previous  *research.Plan `json:"previous_plan"`
			Missed    []string       `json:"failed_workers"`
			Score     *float64       `json:"previous_score"`
			Threshold *float64       `json:"threshold"`
		}
		require.Len(t, got.asked["planner"], 2)
		first, second := input[planned](t, got.asked["planner"][0]), input[planned](t, got.asked["planner"][1])
		assert.Equal(t, "AI in healthcare", first.Brief.Topic)
		assert.Len(t, first.Bands, 3)
		assert.Len(t, first.Workers, 11)
		assert.Nil(t, first.Previous)
		assert.Len(t, second.Previous.Steps, 4)
		assert.Equal(t, []string{"news_search"}, second.Missed)
		assert.InDelta(t, 0.65, *second.Score, 0)
		assert.InDelta(t, 0.80, *second.Threshold, 0)
		for _, part := range []string{"be better", "only 2 of 5 sources", "news_search"} {
			assert.Contains(t, second.Feedback, part, "R81")
		}
	})
	t.Run("R81 a worker that failed in an earlier iteration is told once", func(t *testing.T) {
		p := scored(0.6, 0.7, 0.9)
		p.cast["planner"], p.cast["news_search"] = []any{reference(), small()}, []any{errBoom}
		got := p.play(t)
		require.NoError(t, got.err)
		type told struct {
			Missed   []string `json:"failed_workers"`
			Feedback string   `json:"feedback"`
		}
		require.Len(t, got.asked["planner"], 3)
		second, third := input[told](t, got.asked["planner"][1]), input[told](t, got.asked["planner"][2])
		assert.Equal(t, []string{"news_search"}, second.Missed)
		assert.Contains(t, second.Feedback, "news_search")
		assert.Empty(t, third.Missed)
		assert.NotContains(t, third.Feedback, "news_search")
		assert.Equal(t, []string{"news_search"}, input[told](t, got.asked["supervisor"][0]).Missed)
		assert.Empty(t, input[told](t, got.asked["supervisor"][1]).Missed)
	})
	t.Run("RX27 R68 R69 a planner that fails", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{errBoom, errBoom, small()}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []float64{2, 4}, got.waits(t, "planner"))
		p.cast["planner"] = []any{errBoom}
		got = p.play(t)
		require.ErrorIs(t, got.err, research.ErrAgent)
		assert.Equal(t, "AgentExecutionError", got.out.Failure.Type)
		assert.Equal(t, "PLANNING", got.out.Failure.Phase)
		assert.Contains(t, got.out.Failure.Message, "planner failed after 3 attempts")
	})
}

func TestStrategy(t *testing.T) {
	proves(t, []string{"RA72 RA75 R55 the action's figures", "RA75 the action's figures", "R55 the action's figures"}, func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Cost, p.brief.Limits.Time = cents(250), 20*time.Minute
		p.cast["planner"] = []any{plan(0.6,
			parallel("research", "web_search", "academic_search", "news_search"), step{ID: "extra", Category: "research", Mode: "SEQUENTIAL", Workers: []string{"social_media"}},
			sequential("analysis", "content_synthesizer"), sequential("writing", "article_writer"), sequential("quality", "fact_checker", "editor", "citation_formatter"))}
		got := p.play(t)
		require.NoError(t, got.err)
		a := got.state.Actions[4]
		assert.Equal(t, "optimize_plan", a.Action)
		assert.InDelta(t, 11.0, a.Details["timeSaved"], 0)
		assert.InDelta(t, 1.40, a.Details["costSaved"], 1e-9)
		assert.Equal(t, []string{"Social media unavailable"}, got.warned(), "R72")
	})
	t.Run("RA77 RC36 a plan that cannot fit", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Cost = cents(80)
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrInfeasible)
		assert.Equal(t, "InfeasiblePlanError", got.out.Failure.Type)
		assert.Equal(t, "STRATEGY", got.out.Failure.Phase)
		assert.Empty(t, got.state.Tasks)
		p.cfg.Policy.WarnInfeasible = true
		got = p.play(t)
		require.NoError(t, got.err)
		assert.Contains(t, got.codes(), "research/infeasible-plan")
	})
	t.Run("RC55 what is executed though nothing fits takes the least time", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Time = 8 * time.Minute
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrInfeasible)
		assert.Equal(t, "no plan fits: it takes at least 9 minutes, the limit is 8", got.out.Failure.Message)
		p.cfg.Policy.WarnInfeasible = true
		got = p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "it takes at least 9 minutes, the limit is 8", got.warning(t, "research/infeasible-plan").Message)
		assert.Equal(t, []string{"news_search", "article_writer"}, members(*got.state.Plan))
	})
	t.Run("RC35 fewer workers than the band", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Cost = cents(150)
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Contains(t, got.codes(), "research/below-band")

		p = scored(0.9)
		p.cast["planner"] = []any{strings.Replace(reference(), `"steps"`, `"drop":["news_search","editor"],"steps"`, 1)}
		got = p.play(t)
		assert.Len(t, members(*got.state.Plan), 6)
		assert.NotContains(t, got.codes(), "research/below-band", "as many as the least of the band")
	})
	t.Run("R53 RC34 what planner and strategist find unnecessary goes, but not what must stay", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Agents.Strategist = "strategist"
		p.cast["planner"] = []any{strings.Replace(reference(), `"steps"`, `"drop":["news_search","article_writer"],"steps"`, 1)}
		p.cast["strategist"] = []any{`{"drop":["editor"]}`}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.state.Tasks, 6)
		assert.NotContains(t, got.state.Plan.Steps[0].Workers, "news_search")
		assert.NotContains(t, got.state.Plan.Steps[3].Workers, "editor")
	})
	t.Run("R53 of research workers that are all unnecessary the last one stays", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Agents.Strategist = "strategist"
		p.cast["planner"] = []any{strings.Replace(reference(), `"steps"`, `"drop":["web_search","news_search"],"steps"`, 1)}
		p.cast["strategist"] = []any{`{"drop":["academic_search"]}`}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []string{"news_search"}, got.state.Plan.Steps[0].Workers)
		assert.Len(t, got.asked["news_search"], 1)
	})
	t.Run("RX27 a strategist that fails is done without", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Agents.Strategist = "strategist"
		p.cast["strategist"] = []any{errBoom}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []string{"research/agent-failed"}, got.codes())
	})
}

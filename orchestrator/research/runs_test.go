package research_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/team"
)

var straight = []research.Phase{
	initialized, planning, strategy, executing, evaluating, merging, completed,
}

// scored is the reference run with these scores. Its texts are a few words, which nobody counts.
func scored(scores ...float64) project {
	p := project{brief: brief(), cast: map[string][]any{"planner": {reference()}}}
	p.cfg.Policy.MinShare = orchestrator.None
	for _, s := range scores {
		p.cast["supervisor"] = append(p.cast["supervisor"], marks(s))
	}
	return p
}

func TestWholeRuns(t *testing.T) {
	t.Run("RA48 example 1: a simple run", func(t *testing.T) {
		p := project{brief: brief(), cast: map[string][]any{"planner": {small()}, "supervisor": {marks(0.92)}, "article_writer": {long("one")}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, straight, p.phases())
		assert.Len(t, p.state.Actions, 14)
		assert.Len(t, p.state.Tasks, 3)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Equal(t, 1, p.out.Metrics.Iterations)
		assert.Empty(t, p.out.SystemNotes)
		assert.Empty(t, p.out.Warnings)
		assert.Empty(t, p.out.Metrics.Improvement)
	})
	proves(t, []string{"RA49 R64 R104 R105 RC19 RC33 pattern 1: the fifteen actions", "R104 pattern 1: the fifteen actions", "R105 pattern 1: the fifteen actions"}, func(t *testing.T) {
		p := scored(0.91).full().play(t)
		require.NoError(t, p.err)
		var actions []string
		for _, a := range p.state.Actions {
			actions = append(actions, a.Agent+" "+a.Action)
		}
		assert.Equal(t, []string{
			"Controller initialize",
			"StateManager transition_phase",
			"Planner create_plan", "StateManager transition_phase",
			"Strategy optimize_plan", "StateManager transition_phase",
			"Orchestrator execute_step", "Orchestrator execute_step", "Orchestrator execute_step", "Orchestrator execute_step", "StateManager transition_phase",
			"Supervisor evaluate", "StateManager transition_phase",
			"Merger create_output", "StateManager transition_phase",
		}, actions)
		assert.Len(t, p.state.Phases, 6)
		assert.Len(t, p.state.Tasks, 8)
		assert.Equal(t, 4, p.state.StepIndex, "R64")
		assert.Nil(t, p.state.Feedback, "R78")
		assert.Empty(t, p.out.Warnings)
	})
	proves(t, []string{"RA50 R86 R95 R96 R103 pattern 2: a second iteration", "R86 pattern 2: a second iteration", "R95 pattern 2: a second iteration", "R96 pattern 2: a second iteration", "R103 pattern 2: a second iteration"}, func(t *testing.T) {
		p := scored(0.65, 0.88).full().play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.state.Phases, 11)
		assert.Len(t, p.state.Actions, 28)
		assert.Equal(t, 2, p.out.Metrics.Iterations)
		require.Len(t, p.state.History, 2)
		assert.InDelta(t, 0.65, p.state.History[0].Quality, 0)
		assert.InDelta(t, 0.88, p.state.History[1].Quality, 0)
		assert.Equal(t, []string{"plan-1", "plan-2"}, []string{p.state.History[0].Plan.ID, p.state.History[1].Plan.ID})
		assert.Equal(t, "+23% quality (0.65 → 0.88)", p.out.Metrics.Improvement)
		assert.Equal(t, []string{"Generated after 2 iterations to meet quality threshold."}, p.out.SystemNotes)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
	proves(t, []string{"RA51 R12 R94 RC1 RC18 RC25 RC26 pattern 3: forced", "R12 pattern 3: forced"}, func(t *testing.T) {
		p := scored(0.65, 0.72, 0.78).full().play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.state.Phases, 16)
		assert.Len(t, p.state.Actions, 41)
		assert.Len(t, p.state.History, 3)
		assert.Equal(t, 2, count(p.phases(), rePlanning))
		assert.Equal(t, 1, count(p.phases(), merging))
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"Quality 0.78 below target 0.80, but max iterations reached", "Max iterations reached"}, p.warned())
		assert.Equal(t, []string{"research/below-target", "research/max-iterations"}, p.codes())
		assert.Equal(t, "Max iterations reached", *p.state.Feedback)
		assert.NotNil(t, p.out.Article)
	})
	proves(t, []string{"RA52 RC3 R21 R47 R84 RC27 example 2: the planner adds workers", "R21 example 2: the planner adds workers", "R47 example 2: the planner adds workers", "R84 example 2: the planner adds workers"}, func(t *testing.T) {
		b := brief()
		quality := 0.85
		b.MinQuality, b.MinSources = &quality, 10
		six := plan(0.5, parallel("research", "web_search", "news_search"), sequential("analysis", "content_synthesizer"), sequential("writing", "article_writer"), parallel("quality", "fact_checker", "editor"))
		nine := plan(0.6, parallel("research", "web_search", "news_search", "academic_search", "web_scraper"), sequential("analysis", "content_synthesizer"), sequential("writing", "article_writer"), parallel("quality", "fact_checker", "editor", "citation_formatter"))
		low := marks(0.72)
		low["feedback"] = "add academic sources"
		p := project{brief: b, cast: map[string][]any{"web_search": {many(10)}, "planner": {six, nine}, "supervisor": {low, marks(0.89)}}}.full().play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.state.Tasks, 15)
		require.Len(t, p.asked["planner"], 2)
		assert.Contains(t, string(p.asked["planner"][1].Input), "add academic sources")
		assert.Equal(t, 2, count(p.phases(), strategy), "RC3")
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Equal(t, 2, p.out.Metrics.Iterations)
		assert.Equal(t, "+17% quality (0.72 → 0.89)", p.out.Metrics.Improvement)
	})
	t.Run("RA53 R94 example 3: near the threshold", func(t *testing.T) {
		p := scored(0.78, 0.83, 0.87)
		quality := 0.90
		p.brief.MinQuality = &quality
		got := p.full().play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.Contains(t, got.warned(), "Quality 0.87 below target 0.90, but max iterations reached")
		require.Len(t, got.out.SystemNotes, 1)
		assert.Contains(t, got.out.SystemNotes[0], "threshold")
		assert.Contains(t, got.out.SystemNotes[0], "budget")
		assert.Contains(t, got.out.Metrics.Improvement, "+9%")
	})
	proves(t, []string{"RA54 RA40 RA41 RA42 R72 R74 example 4: failures on the way", "RA40 example 4: failures on the way", "RA41 example 4: failures on the way", "R74 example 4: failures on the way"}, func(t *testing.T) {
		p := scored(0.85)
		p.cast["news_search"] = []any{errBoom}
		p.cast["article_writer"] = []any{errBoom, errBoom, long("done")}
		got := p.full().play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.Equal(t, []string{"News search unavailable"}, got.warned())
		assert.Equal(t, 7, got.out.Metrics.Succeeded)
		assert.Equal(t, 1, got.out.Metrics.Skipped)
		assert.Equal(t, 4, got.out.Metrics.Retries)
		assert.Equal(t, []float64{2, 4}, got.waits(t, "news_search"))
		assert.Equal(t, []float64{2, 4}, got.waits(t, "article_writer"))
	})
	proves(t, []string{"RA55 RA43 RC10 R99 R100 R101 pattern 4: the writer fails", "R99 pattern 4: the writer fails", "R100 pattern 4: the writer fails", "R101 pattern 4: the writer fails"}, func(t *testing.T) {
		p := scored(0.9)
		p.cast["web_search"] = []any{costs(20, sources(research.Source{Title: "x"}))}
		p.cast["content_synthesizer"] = []any{costs(30, map[string]string{"a": "b"})}
		p.cast["article_writer"] = []any{errBoom}
		got := p.full().play(t)
		require.ErrorIs(t, got.err, research.ErrWorker)
		assert.Equal(t, []research.Phase{initialized, planning, strategy, executing, failed}, got.phases())
		f := got.out.Failure
		require.NotNil(t, f)
		assert.Equal(t, "WorkerExecutionError", f.Type)
		assert.Equal(t, "EXECUTING", f.Phase)
		assert.Equal(t, got.out.ExecutionID, f.ExecutionID)
		assert.Contains(t, f.Message, "article_writer failed after 3 attempts: boom")
		assert.Len(t, got.out.Course.Research, 3)
		assert.Len(t, got.out.Course.Analysis, 1)
		assert.Empty(t, got.out.Course.Writing)
		assert.Equal(t, cents(50), got.out.Spent.Cost)
		assert.Nil(t, got.out.Article)
		assert.Equal(t, orchestrator.Failed, got.out.Status)
	})
	for _, tt := range []struct {
		name string
		last bool
		want string
		at   float64

		improved string
	}{
		{"RA56 RC29 RX19 forced: the best iteration", false, "two", 0.78, "+13% quality (0.65 → 0.78)"},
		{"RA57 RC29 forced: the last iteration", true, "three", 0.70, "+5% quality (0.65 → 0.70)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := scored(0.65, 0.78, 0.70)
			p.cfg.Rules.Ranker = research.Best{Latest: tt.last}
			p.cast["article_writer"] = []any{long("one"), long("two"), long("three")}
			got := p.full().play(t)
			require.NoError(t, got.err)
			assert.Equal(t, orchestrator.Partial, got.out.Status)
			assert.Equal(t, fmt.Sprintf("> Partial result: quality %.2f, wanted 0.80; max iterations reached.\n\n%s", tt.at, long(tt.want).Content), got.out.Article.Content, "RC51")
			assert.Equal(t, 2000, got.out.Article.Words)
			assert.Equal(t, tt.improved, got.out.Metrics.Improvement)
			assert.InDelta(t, tt.at, *got.out.Score, 0)
			assert.InDelta(t, tt.at, got.out.Quality["overall"], 0)
			assert.InDelta(t, tt.at, got.state.QualityScore, 0)
			assert.Len(t, got.state.History, 3)
		})
	}
	t.Run("RA58 RA22 one iteration", func(t *testing.T) {
		p := scored(0.5)
		p.cfg.Policy.Iterations = 1
		got := p.full().play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.NotContains(t, got.phases(), rePlanning)
	})
	t.Run("RA59 RC12 all research fails", func(t *testing.T) {
		p := scored(0.9)
		for _, w := range []string{"web_search", "academic_search", "news_search"} {
			p.cast[w] = []any{errBoom}
		}
		got := p.full().play(t)
		require.ErrorIs(t, got.err, research.ErrStep)
		assert.Equal(t, "StepFailedError", got.out.Failure.Type)
		assert.Equal(t, "EXECUTING", got.out.Failure.Phase)
		assert.Empty(t, got.asked["content_synthesizer"])
	})
	t.Run("RA60 R73 an optional worker fails", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), sequential("writing", "article_writer"), sequential("quality", "seo_optimizer"))}
		p.cast["seo_optimizer"] = []any{errBoom}
		got := p.full().play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.Contains(t, got.warned(), "SEO optimization unavailable")
	})
	proves(t, []string{"RA61 RX6 R65 RC9 a planner that answers in prose, twice", "R65 a planner that answers in prose, twice"}, func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{costs(10, "{broken"), costs(10, "prose"), costs(10, reference())}
		got := p.full().play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.asked["planner"], 3)
		assert.Equal(t, cents(30), got.out.Spent.Cost)
		assert.Equal(t, 1, count(kinds(got), planCreated))
	})
	t.Run("RA62 RX6 a planner that answers in prose", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{"{broken"}
		got := p.full().play(t)
		require.ErrorIs(t, got.err, research.ErrOutput)
		assert.Equal(t, "OutputError", got.out.Failure.Type)
		assert.Equal(t, "PLANNING", got.out.Failure.Phase)
		assert.Len(t, got.asked["planner"], 3)
		assert.Empty(t, got.state.Tasks)
	})
	t.Run("RA63 RX7 a supervisor on another scale", func(t *testing.T) {
		p := scored(0.9)
		p.cast["supervisor"] = []any{marks(88), map[string]any{"article": "0.88", "source": 0.88, "factual": 0.88, "writing": 0.88}}
		got := p.full().play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.asked["supervisor"], 2)
		assert.InDelta(t, 0.88, *got.out.Score, 0)
	})
	proves(t, []string{"RA64 R31 R32 a brief that is refused", "R32 a brief that is refused"}, func(t *testing.T) {
		p := scored(0.9)
		quality := 1.2
		p.brief = research.Input{MinQuality: &quality, MinSources: 51}
		got := p.full().play(t)
		require.ErrorIs(t, got.err, research.ErrRejected)
		for _, problem := range []string{"Topic is empty", "MinQuality is 1.2, want 0 to 1", "MinSources is 51, want 1 to 50"} {
			assert.ErrorContains(t, got.err, problem)
		}
		assert.Equal(t, []team.Kind{runStarted, runFinished}, kinds(got))
		assert.Contains(t, got.events(t, runFinished)[0].Text, "Topic is empty")
		assert.NotNil(t, got.out.Sources)
		assert.Empty(t, got.asked)
		assert.Empty(t, got.out.ExecutionID)
		assert.Equal(t, "ValidationError", got.out.Failure.Type)
	})
}

package research_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/team"
)

func TestLimits(t *testing.T) {
	t.Run("RA68 RX4 the budget is used up before a critical worker", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Cost = cents(100)
		p.cast["planner"] = []any{small()}
		p.cfg.Policy.WarnInfeasible = true
		p.cast["web_search"] = []any{costs(105, sources(research.Source{Title: "x"}))}
		got := p.play(t)
		require.ErrorIs(t, got.err, orchestrator.ErrBudget)
		assert.Equal(t, "BudgetExceededError", got.out.Failure.Type)
		assert.Equal(t, orchestrator.OutOfBudget, got.out.Status)
		assert.Len(t, got.out.Course.Research, 1)
		assert.Equal(t, cents(105), got.out.Spent.Cost)
		assert.Empty(t, got.asked["article_writer"])
	})
	t.Run("RA69 RX4 the budget is used up after an iteration", func(t *testing.T) {
		p := scored(0.7)
		p.brief.Limits.Cost = cents(300)
		p.cast["supervisor"] = []any{costs(400, marks(0.7))}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.NotContains(t, got.phases(), rePlanning)
		assert.Contains(t, got.phases(), merging)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.Contains(t, got.codes(), "research/budget")
		assert.Contains(t, got.warned(), "Quality 0.70 below target 0.80, but the budget is used up", "R94")
		assert.NotContains(t, got.codes(), "research/max-iterations")
	})
	t.Run("RX4 RX5 no new optional worker without money", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Cost = cents(300)
		p.cast["article_writer"] = []any{costs(310, "text")}
		got := p.play(t)
		require.NoError(t, got.err)
		for _, w := range []string{"fact_checker", "editor", "citation_formatter"} {
			assert.Equal(t, "SKIPPED", got.task(t, w).Status)
			assert.Empty(t, got.asked[w])
		}
		assert.Equal(t, orchestrator.Partial, got.out.Status, "nor for the supervisor")
		assert.Equal(t, []string{"article"}, got.out.Unverified)
	})
	t.Run("RX5 calls under way beside each other are counted", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Cost = cents(300)
		for _, w := range []string{"web_search", "academic_search", "news_search"} {
			p.cast[w] = []any{costs(200, sources(research.Source{Title: w}))}
		}
		got := p.play(t)
		require.ErrorIs(t, got.err, orchestrator.ErrBudget)
		assert.Len(t, got.out.Course.Research, 3)
		assert.Equal(t, cents(600), got.out.Spent.Cost)
	})
	t.Run("RX3 R94 the time is up", func(t *testing.T) {
		p := scored(0.7)
		p.brief.Limits.Time = 30 * time.Minute
		p.cast["content_synthesizer"] = []any{flowtest.Hang()}
		p.workers = research.Catalogue()
		i := 5
		p.workers[i].Timeout = time.Hour
		p.cast["article_writer"] = []any{flowtest.Delay(10*time.Minute, "text")}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, 1, got.task(t, "content_synthesizer").Attempts, "cut at the deadline, and not tried again")
		assert.Equal(t, "COMPLETED", got.task(t, "article_writer").Status, "critical workers still work")
		assert.Equal(t, "SKIPPED", got.task(t, "editor").Status)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.Equal(t, 1, got.out.Metrics.Iterations, "the last one")
		assert.Contains(t, got.codes(), "research/time")
		assert.Contains(t, got.warned(), "Quality 0.70 below target 0.80, but the time limit was reached")
		assert.Equal(t, 40*time.Minute, got.out.Metrics.Duration.Round(time.Minute))
		assert.Equal(t, []research.Phase{initialized, planning, strategy, executing, evaluating, merging, completed}, got.phases(), "no phase is left out")
	})
	t.Run("RX3 a critical call under way is not cut at the deadline", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Time = 18 * time.Minute
		p.cast["content_synthesizer"] = []any{flowtest.Delay(3*time.Minute, map[string]string{})}
		p.cast["web_search"] = []any{flowtest.Delay(9*time.Minute, sources(research.Source{Title: "x"}))}
		p.cast["article_writer"] = []any{flowtest.Delay(10*time.Minute, "text")}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, 1, got.task(t, "article_writer").Attempts)
		assert.Equal(t, "SKIPPED", got.task(t, "editor").Status)
	})
	t.Run("RX3 critical workers have one attempt when the time is up", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Time = 20 * time.Minute
		p.cast["content_synthesizer"] = []any{flowtest.Hang()}
		p.workers = research.Catalogue()
		p.workers[5].Timeout = time.Hour
		p.cast["article_writer"] = []any{errBoom}
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrWorker)
		assert.Equal(t, 1, got.task(t, "article_writer").Attempts)
		assert.Contains(t, got.out.Failure.Message, "after 1 attempt:")
	})
	t.Run("None is no limit", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Cost = orchestrator.None
		p.cast["article_writer"] = []any{costs(6000, "text")}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.Contains(t, string(got.asked["planner"][0].Input), `"left":"money and time are not limited"`)
	})
	t.Run("the input's limits replace those of the team, one by one", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Limits = team.Limits{Cost: cents(300), Time: 30 * time.Minute}
		p.brief.Limits.Cost = cents(400)
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, team.Limits{Cost: cents(400), Time: 30 * time.Minute}, got.state.Input.Limits)
		assert.Contains(t, string(got.asked["planner"][0].Input), `USD 4.00 of 4.00 and 30 of 30 minutes are left`)
	})
	for _, tt := range []struct {
		name, at string
		phase    string
	}{
		{"RA65 RX1 canceled while a step runs", "content_synthesizer", "EXECUTING"},
		{"RX1 canceled while it plans", "planner", "PLANNING"},
		{"RX1 canceled while it evaluates", "supervisor", "EVALUATING"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, asked, err := canceledAt(t, tt.at)
			require.ErrorIs(t, err, orchestrator.ErrCanceled)
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, "Canceled", out.Failure.Type)
			assert.Equal(t, tt.phase, out.Failure.Phase)
			assert.Equal(t, orchestrator.Canceled, out.Status)
			if tt.at == "content_synthesizer" {
				assert.Len(t, out.Course.Research, 3)
				assert.Empty(t, asked["article_writer"])
			}
		})
	}
}

// canceledAt is the result of the reference run if it is canceled while an agent works.
func canceledAt(t *testing.T, at string) (out research.Outcome, asked map[string][]agent.Request, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		flow, ferr := research.New(research.Config{Workers: research.Catalogue()})
		require.NoError(t, ferr)
		roster, scripts := agent.Roster{}, map[string]*flowtest.Script{}
		for _, name := range flow.Agents {
			w := worker(research.Catalogue(), name)
			answer := lines(w)
			switch name {
			case at:
				answer = flowtest.Hang()
			case "planner":
				answer = reference()
			case "supervisor":
				answer = marks(0.9)
			}
			scripts[name] = flowtest.NewScript(t).Else(answer)
			roster[name] = scripts[name]
		}
		e, eerr := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
		require.NoError(t, eerr)
		defer func() { _ = e.Close(context.WithoutCancel(t.Context())) }()
		r, serr := flow.Start(t.Context(), e, brief(), orchestrator.StartOptions{})
		require.NoError(t, serr)
		synctest.Wait()
		require.NoError(t, r.Cancel(t.Context(), "enough"))
		out, err = flow.Result(t.Context(), r)
		asked = map[string][]agent.Request{}
		for name, s := range scripts {
			asked[name] = s.Requests()
		}
	})
	return out, asked, err
}

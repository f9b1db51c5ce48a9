package research_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/providers"
)

func TestWorkers(t *testing.T) {
	t.Run("R59 R111 RX14 tasks and what workers get", func(t *testing.T) {
		p := scored(0.65, 0.9).play(t)
		require.NoError(t, p.err)
		task := p.task(t, "article_writer")
		assert.Equal(t, "HIGH", task.Priority)
		assert.Equal(t, "MEDIUM", p.task(t, "editor").Priority)
		assert.Equal(t, "COMPLETED", task.Status)
		assert.Equal(t, "plan-1", task.Plan)
		require.Len(t, p.asked["article_writer"], 2)
		first, second := input[research.WorkerInput](t, p.asked["article_writer"][0]), input[research.WorkerInput](t, p.asked["article_writer"][1])
		assert.Equal(t, task.ID, first.TaskID, "R111")
		assert.Equal(t, "article_writer", first.WorkerID)
		assert.Len(t, first.Inputs, 4, "three of research and the analysis")
		assert.Empty(t, first.Feedback)
		assert.Equal(t, 2, second.Iteration)
		assert.Contains(t, second.Feedback, "be better")
		assert.Len(t, second.Inputs, 7, "RC28: research of both iterations")
		assert.Equal(t, 12*time.Minute, p.asked["article_writer"][0].Limits.Timeout)
		assert.Equal(t, 1, p.asked["article_writer"][0].Limits.Attempts)
		assert.Equal(t, 5*providers.USD, p.asked["article_writer"][0].Limits.Cost, "RX5")
	})
	proves(t, []string{"R61 R63 one after another, each with what those before it made", "R63 one after another, each with what those before it made"}, func(t *testing.T) {
		reg := []research.Worker{
			{ID: "a", Category: research.Checking, Produces: []string{"x"}},
			{ID: "b", Category: research.Checking, Needs: []string{"x"}, Produces: []string{"y"}},
			{ID: "w", Category: research.Writing, Critical: true},
		}
		p := project{workers: reg, brief: brief(), cast: map[string][]any{
			"planner": {plan(0.3, sequential("quality", "a", "b"), sequential("writing", "w"))}, "supervisor": {marks(0.9)},
		}}.play(t)
		require.NoError(t, p.err)
		assert.Contains(t, input[research.WorkerInput](t, p.asked["b"][0]).Inputs, "a")
		assert.Len(t, p.state.Quality, 2)
		assert.Equal(t, []string{"a", "b"}, []string{p.state.Quality[0].Worker, p.state.Quality[1].Worker})
	})
	proves(t, []string{"RA67 R60 R66 side by side, results in the order of the plan", "R66 side by side, results in the order of the plan"}, func(t *testing.T) {
		p := scored(0.9)
		p.cast["web_search"] = []any{flowtest.Delay(3*time.Second, sources(research.Source{Title: "w"}))}
		p.cast["academic_search"] = []any{flowtest.Delay(2*time.Second, sources(research.Source{Title: "a"}))}
		p.cast["news_search"] = []any{flowtest.Delay(time.Second, sources(research.Source{Title: "n"}))}
		got := p.play(t)
		require.NoError(t, got.err)
		var order []string
		for _, o := range got.state.Research {
			order = append(order, o.Worker)
		}
		assert.Equal(t, []string{"web_search", "academic_search", "news_search"}, order)
		assert.Less(t, got.out.Metrics.Duration, 4*time.Second)
		again := p.play(t)
		assert.Equal(t, string(agent.JSON(got.out)), string(agent.JSON(again.out)))
	})
	t.Run("R60 a limit on how many work at once", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Bounds.StepLimit = 1
		for _, w := range []string{"web_search", "academic_search", "news_search"} {
			p.cast[w] = []any{flowtest.Delay(time.Second, sources(research.Source{Title: w}))}
		}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.GreaterOrEqual(t, got.out.Metrics.Duration, 3*time.Second)
	})
	scraping := func(last ...any) project {
		p := scored(0.9)
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_scraper"), sequential("writing", "article_writer"), sequential("quality", "editor"))}
		p.cast["web_scraper"] = []any{errBoom}
		if last != nil {
			p.cast["web_search"] = last
		}
		return p
	}
	t.Run("RA44 R71 RC11 RC37 a fallback", func(t *testing.T) {
		got := scraping().play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []string{"research/fallback"}, got.codes())
		assert.Equal(t, 33, *got.events(t, research.EventStepFinished)[0].Percent, "one of three")
		assert.Equal(t, 3, got.task(t, "web_scraper").Attempts)
		assert.Equal(t, "FAILED", got.task(t, "web_scraper").Status)
		assert.Equal(t, 1, got.task(t, "web_search").Attempts)
		assert.Equal(t, "web_scraper", got.task(t, "web_search").FallbackOf)
		require.Len(t, got.state.Research, 1)
		assert.Equal(t, "web_search", got.state.Research[0].Worker)
	})
	t.Run("RA45 RC11 a fallback that has worked already", func(t *testing.T) {
		p := scraping()
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), step{ID: "more", Category: "research", Mode: "SEQUENTIAL", Workers: []string{"web_scraper"}, DependsOn: []string{"research"}}, sequential("writing", "article_writer"))}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.asked["web_search"], 1)
		assert.Equal(t, []string{"research/fallback"}, got.codes())
		assert.Len(t, got.state.Research, 1)
	})
	t.Run("RC11 R70 a fallback that fails, too", func(t *testing.T) {
		got := scraping(errBoom).play(t)
		require.ErrorIs(t, got.err, research.ErrStep, "there is no research at all")
		assert.Equal(t, 3, got.task(t, "web_search").Attempts)
	})
	t.Run("RA46 RC30 RX12 permanent errors are not retried", func(t *testing.T) {
		for _, kind := range []providers.Kind{providers.Permanent, providers.Invalid} {
			p := scored(0.9)
			p.cast["news_search"] = []any{&providers.Error{Kind: kind, Message: "no"}}
			got := p.play(t)
			require.NoError(t, got.err)
			assert.Equal(t, 1, got.task(t, "news_search").Attempts, kind)
			assert.Empty(t, got.waits(t, "news_search"))
		}
	})
	t.Run("RX12 RX25 the host's Retrier decides", func(t *testing.T) {
		for attempts, retryable := range map[int]func(error) bool{
			1: func(error) bool { return false },
			3: func(err error) bool { return errors.Is(err, agent.Code("permanent")) },
		} {
			p := scored(0.9)
			p.cfg.Rules.Retrier = orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
				return orchestrator.Again{Retry: of.ID == "news_search" && len(tries) < 3 && retryable(tries[len(tries)-1].Err)}
			})
			p.cast["news_search"] = []any{&providers.Error{Kind: providers.Permanent}}
			assert.Equal(t, attempts, p.play(t).task(t, "news_search").Attempts)
		}
		p := scored(0.9)
		p.cfg.Rules.Retrier = orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again { panic("oh") })
		p.cast["news_search"] = []any{errBoom}
		assert.Equal(t, 1, p.play(t).task(t, "news_search").Attempts)
	})
	t.Run("RX13 Retry-After", func(t *testing.T) {
		p := scored(0.9)
		p.cast["news_search"] = []any{&providers.Error{Kind: providers.RateLimited, RetryAfter: 7 * time.Second}, sources(research.Source{Title: "x"})}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []float64{7}, got.waits(t, "news_search"))
	})
	proves(t, []string{"RX14 R67 a worker that hangs", "R67 a worker that hangs"}, func(t *testing.T) {
		p := scored(0.9)
		p.cast["news_search"] = []any{flowtest.Hang()}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Contains(t, got.warned(), "News search unavailable")
		assert.Equal(t, 3, got.task(t, "news_search").Attempts)
		assert.GreaterOrEqual(t, got.out.Metrics.Duration, 3*6*time.Minute, "twice its 3 minutes, three times")
	})
	proves(t, []string{"RX25 R102 a worker that panics", "R102 a worker that panics"}, func(t *testing.T) {
		p := scored(0.9)
		p.cast["article_writer"] = []any{agent.Func(func(context.Context, agent.Request) (agent.Response, error) { panic("ink") })}
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrWorker)
		assert.Contains(t, got.out.Failure.Message, "ink")
		assert.NotEmpty(t, got.out.Failure.Stack)
	})
	t.Run("RX6 an answer of a worker that cannot be used", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{small()}
		p.cast["web_search"] = []any{"prose", "prose", "prose", sources(research.Source{Title: "x"})}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.asked["web_search"], 4, "sent back twice, then another attempt")
		assert.Equal(t, 2, got.task(t, "web_search").Attempts)
		assert.Equal(t, []float64{2}, got.waits(t, "web_search"))
		p.cast["web_search"] = []any{"prose", "prose", sources(research.Source{Title: "x"})}
		assert.Equal(t, 1, p.play(t).task(t, "web_search").Attempts)
	})
	t.Run("RX11 a critical worker fails beside others", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), parallel("writing", "article_writer", "editor", "fact_checker"))}
		p.cast["article_writer"] = []any{flowtest.Delay(time.Second, &providers.Error{Kind: providers.Permanent, Message: "no"})}
		p.cast["fact_checker"] = []any{flowtest.Hang()}
		p.workers = research.Catalogue()
		for i := range p.workers {
			p.workers[i].Needs = nil
		}
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrWorker)
		assert.Equal(t, "CANCELED", got.task(t, "fact_checker").Status)
		assert.Equal(t, "COMPLETED", got.task(t, "editor").Status)
		assert.Len(t, got.out.Course.Quality, 1)
		assert.Less(t, got.out.Metrics.Duration, 2*time.Second)
	})
	t.Run("RA47 four attempts", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Rules.Retrier = attempts(4, 0)
		p.cast["news_search"] = []any{errBoom}
		assert.Equal(t, []float64{2, 4, 8}, p.play(t).waits(t, "news_search"))
	})
	t.Run("RX17 R87 several writers", func(t *testing.T) {
		reg := append(research.Catalogue(), research.Worker{ID: "second_writer", Category: research.Writing, Needs: []string{"sources"}, Produces: []string{"appendix"}})
		p := scored(0.9)
		p.workers = reg
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), parallel("writing", "article_writer", "second_writer"))}
		p.cast["article_writer"] = []any{research.Draft{Title: "T", Content: "one two"}}
		p.cast["second_writer"] = []any{"three four five"}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, research.Article{Title: "T", Content: "one two\n\nthree four five", Words: 5, ReadMinutes: 1}, *got.out.Article)
	})
}

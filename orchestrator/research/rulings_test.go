package research_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	"github.com/convene-go/convene/providers"
)

// priced is the reference run in which every worker costs what the catalogue says, the
// planner 5 cents and the supervisor 10.
func priced(scores ...float64) project {
	p := scored(scores...)
	for _, w := range research.Catalogue() {
		p.cast[w.ID] = []any{costs(int(w.EstCost*100/providers.USD), lines(w))}
	}
	p.cast["planner"] = []any{costs(5, reference())}
	p.cast["supervisor"] = nil
	for _, s := range scores {
		p.cast["supervisor"] = append(p.cast["supervisor"], costs(10, marks(s)))
	}
	return p
}

func (p played) warning(t *testing.T, code string) orchestrator.Warning {
	t.Helper()
	for _, w := range p.out.Warnings {
		if w.Code == code {
			return w
		}
	}
	require.Fail(t, "no warning", "%s in %+v", code, p.out.Warnings)
	return orchestrator.Warning{}
}

// What the document gives as examples, with the defaults of the package.
func TestDocumentExamples(t *testing.T) {
	t.Run("R45 RC43 ten minutes: optional workers go", func(t *testing.T) {
		p := priced(0.9)
		p.brief.Limits.Time = 10 * time.Minute
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.Equal(t, []string{"news_search", "article_writer"}, members(*got.state.Plan), "some time has passed since the start")
		assert.Equal(t, "article_writer needs analysis, and no worker that makes it fits money and time", got.warning(t, "research/unmet-need").Message)
		assert.Contains(t, got.warned(), "Web search unavailable")
	})
	t.Run("RC41 RC42 R103 5 USD and three weak iterations", func(t *testing.T) {
		got := priced(0.6, 0.7).play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.InDelta(t, 0.7, *got.out.Score, 0)
		require.NotNil(t, got.out.Article)
		assert.Len(t, got.state.History, 2)
		// 2.40 + 0.15, then 2.45 are left; less 0.05 for the planner and 0.10 for the evaluation
		// they are 2.30: without the last of the checks.
		assert.Equal(t, cents(220), got.state.Plan.EstCost)
		assert.Equal(t, cents(255+235), got.out.Spent.Cost)
		assert.Equal(t, "USD 0.10 of 5.00 are left: too little for another plan", got.warning(t, "research/budget").Message)
		assert.Equal(t, "Quality 0.70 below target 0.80, but the budget is used up", got.warning(t, "research/below-target").Message)
		assert.True(t, strings.HasPrefix(got.out.Article.Content, "> Partial result: quality 0.70, wanted 0.80; the budget is used up.\n\n"), got.out.Article.Content)
		assert.Equal(t, []string{"article"}, got.out.Unverified)
	})
	t.Run("RC41 R51 three weak iterations with money enough", func(t *testing.T) {
		p := priced(0.5, 0.7, 0.6)
		p.brief.Limits.Cost = 20 * providers.USD
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.InDelta(t, 0.7, *got.out.Score, 0, "the best")
		assert.Equal(t, cents(3*255), got.out.Spent.Cost)
		assert.Equal(t, "+20% quality (0.50 → 0.70)", got.out.Metrics.Improvement)
	})
	t.Run("RC41 R-1 more money never gives less", func(t *testing.T) {
		for budget := 150; budget <= 550; budget += 10 {
			p := priced(0.6)
			p.brief.Limits.Cost = cents(budget)
			got := p.play(t)
			require.NoError(t, got.err, "%d cents", budget)
			assert.NotNil(t, got.out.Article, "%d cents", budget)
			assert.LessOrEqual(t, got.out.Spent.Cost, cents(budget+5), "the supervisor is dearer than the planner was")
		}
	})
}

func TestStops(t *testing.T) {
	for _, tt := range []struct {
		name, code, reason string
		change             func(p *project)
	}{
		{"RC41 R-1 the second plan fails", "research/agent-failed", "iteration 2 could not be finished", func(p *project) { p.cast["planner"] = []any{reference(), errBoom} }},
		{"RC41 the second plan is no plan", "research/invalid-output", "iteration 2 could not be finished", func(p *project) { p.cast["planner"] = []any{reference(), "prose"} }},
		{"RC41 the second plan has no writer", "research/invalid-plan", "iteration 2 could not be finished", func(p *project) {
			p.cast["planner"] = []any{reference(), plan(0.3, sequential("research", "web_search"))}
		}},
		{"RC41 R-1 the second writer fails", "research/worker-failed", "iteration 2 could not be finished", func(p *project) { p.cast["article_writer"] = []any{research.Draft{Content: "one"}, errBoom} }},
		{"RC41 the second research fails", "research/step-failed", "iteration 2 could not be finished", func(p *project) {
			p.workers = research.Catalogue()
			p.workers = append(p.workers, research.Worker{ID: "poller", Category: research.Researching, Produces: []string{"polls"}})
			p.workers[5].Needs = append(p.workers[5].Needs, "polls")
			again := plan(0.6, parallel("research", "web_search"), step{ID: "p", Category: "research", Mode: "PARALLEL", Workers: []string{"poller"}, DependsOn: []string{"research"}},
				sequential("analysis", "content_synthesizer"), sequential("writing", "article_writer"))
			p.cast["planner"] = []any{reference(), again}
			p.cast["poller"] = []any{errBoom}
		}},
		{"RC41 RC42 the second plan does not fit", "research/infeasible-plan", "iteration 2 could not be finished", func(p *project) {
			p.brief.Limits.Cost = cents(260) // 1.45 are spent; 0.05 for the planner and 0.10 for the supervisor leave 1.00
			*p = project{cfg: research.Config{Policy: research.Policy{WarnInfeasible: true, MinShare: orchestrator.None}}, brief: p.brief, cast: priced(0.65).cast}
			p.cast["planner"] = []any{costs(5, small())}
		}},
		{"RC41 the money ends before the second writer", "research/budget", "the budget is used up", func(p *project) {
			p.cast["web_search"] = []any{sources(research.Source{Title: "x"}), costs(600, sources(research.Source{Title: "y"}))}
		}},
		{"RC41 R-5 the time ends while the second plan is made", "research/time", "the time limit was reached", func(p *project) {
			p.brief.Limits.Time = 30 * time.Minute
			p.cfg.Bounds.Timeout = time.Hour
			p.cast["planner"] = []any{reference(), flowtest.Hang()}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := scored(0.65, 0.9)
			p.cast["supervisor"] = []any{marks(0.65)}
			tt.change(&p)
			got := p.play(t)
			require.NoError(t, got.err)
			assert.Equal(t, orchestrator.Partial, got.out.Status)
			assert.InDelta(t, 0.65, *got.out.Score, 0)
			i := slices.IndexFunc(got.out.Warnings, func(w orchestrator.Warning) bool { return strings.HasPrefix(w.Message, "iteration 2 was given up: ") })
			require.GreaterOrEqual(t, i, 0, "%q", got.warned())
			assert.Equal(t, tt.code, got.out.Warnings[i].Code)
			assert.Contains(t, got.warned(), "Quality 0.65 below target 0.80, but "+tt.reason)
			require.NotNil(t, got.out.Article)
			assert.Contains(t, got.out.Article.Content, "quality 0.65, wanted 0.80; "+tt.reason)
			assert.Equal(t, []string{"article"}, got.out.Unverified)
			assert.Nil(t, got.out.Failure)
			assert.Equal(t, completed, got.state.Phase)
			assert.Equal(t, merging, got.state.Phases[len(got.state.Phases)-1].From)
		})
	}
	t.Run("RC41 canceled in the second iteration", func(t *testing.T) {
		out, _, err := canceledIn(t, func(cast map[string][]any) {
			cast["supervisor"] = []any{marks(0.65)}
			cast["planner"] = []any{reference(), flowtest.Hang()}
		})
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		assert.Equal(t, orchestrator.Canceled, out.Status)
		require.NotNil(t, out.Article)
		assert.Contains(t, out.Article.Content, "> Partial result: quality 0.65, wanted 0.80; the run was canceled.\n\nWords of")
		assert.InDelta(t, 0.65, *out.Score, 0)
		assert.Equal(t, []string{"article"}, out.Unverified)
		assert.Equal(t, "PLANNING", out.Failure.Phase)
	})
	t.Run("RC41 RX1 canceled in the merger", func(t *testing.T) {
		out, _, err := canceledIn(t, func(cast map[string][]any) { cast["planner"], cast["merger"] = []any{pair()}, []any{flowtest.Hang()} })
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		assert.Equal(t, orchestrator.Canceled, out.Status)
		assert.Equal(t, "MERGING", out.Failure.Phase)
		require.NotNil(t, out.Article)
		assert.Contains(t, out.Article.Content, "Words of article_writer.")
		assert.InDelta(t, 0.9, *out.Score, 0)
	})
	t.Run("RC41 RX1 canceled in the evaluation", func(t *testing.T) {
		out, _, err := canceledIn(t, func(cast map[string][]any) { cast["supervisor"] = []any{flowtest.Hang()} })
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		require.NotNil(t, out.Article, "it is written, and not graded")
		assert.Contains(t, out.Article.Content, "it was not graded; the run was canceled")
		assert.Nil(t, out.Score)
	})
	t.Run("RC41 the merger without money", func(t *testing.T) {
		p := priced(0.9).merged("never")
		p.cast["planner"] = []any{costs(5, pair())}
		p.cast["supervisor"] = []any{costs(370, marks(0.9))}
		c, scripts := p.open(t)
		out, _, err := c.Run(t)
		require.NoError(t, err)
		assert.Empty(t, scripts["merger"].Requests())
		assert.Equal(t, orchestrator.Completed, out.Status)
		assert.Equal(t, []orchestrator.Warning{{
			Code: "research/budget", Who: "merger", Message: "USD 0.15 of 5.00 are left: too little for a merger and its grade: the drafts stay",
		}}, out.Warnings)
		assert.Equal(t, "Words of article_writer.\n\nWords of second.", out.Article.Content)
	})
	t.Run("RC52 the merger is asked if there is money for two of the dearest calls: it and its grade", func(t *testing.T) {
		for cost, asked := range map[int]bool{150: false, 128: true} { // USD 2.35 and 2.57 are left
			p := priced(0.9).merged("never")
			p.cast["planner"] = []any{costs(5, pair())}
			p.cast["supervisor"] = []any{costs(cost, marks(0.9))}
			got := p.play(t)
			require.NoError(t, got.err)
			assert.Equal(t, asked, len(got.asked["merger"]) > 0, cost)
		}
	})
	t.Run("RC42 an optional worker leaves the money for the evaluation", func(t *testing.T) {
		p := priced(0.9)
		p.cast["planner"] = []any{costs(5, plan(0.3, sequential("writing", "article_writer"), sequential("research", "web_search")))}
		p.cast["web_search"] = []any{costs(20, "prose")}
		p.brief.Limits.Cost = cents(5 + 90 + 2*20 + 2) // a second call of web_search would leave 2
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.asked["web_search"], 1)
		require.NotNil(t, got.out.Score, "%+v", got.out.Warnings)
		assert.InDelta(t, 0.9, *got.out.Score, 0)
	})
	t.Run("N1 RX4 what an agent calls a budget is its failure", func(t *testing.T) {
		p := scored(0.9)
		p.cast["news_search"] = []any{fmt.Errorf("mine: %w", orchestrator.ErrBudget)}
		p.cast["planner"] = []any{reference()}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "research/agent-failed", got.warning(t, "research/agent-failed").Code)
		for _, who := range []string{"planner", "article_writer"} { // N16
			for _, code := range []error{orchestrator.ErrBudget, orchestrator.ErrCanceled, orchestrator.ErrFlow, agent.Code("stuck")} {
				p := scored(0.9)
				p.cast[who] = []any{fmt.Errorf("mine: %w", code)}
				got := p.play(t)
				require.Error(t, got.err)
				require.NotErrorIs(t, got.err, code, who)
				assert.Equal(t, orchestrator.Failed, got.out.Status)
				assert.ErrorContains(t, got.err, "mine")
			}
		}
		p.cast["article_writer"] = []any{context.Canceled}
		got = p.play(t)
		require.ErrorIs(t, got.err, research.ErrWorker)
		assert.Equal(t, orchestrator.Failed, got.out.Status)
		assert.Equal(t, "WorkerExecutionError", got.out.Failure.Type)
	})
	t.Run("R-2 RX4 an optional worker that does not fit is skipped", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Cost = cents(250)
		p.cast["web_search"] = []any{costs(50, sources(research.Source{Title: "x"}))} // 30 more than planned
		p.cast["content_synthesizer"] = []any{costs(30, map[string]string{})}
		p.cast["article_writer"] = []any{costs(90, "text")}
		p.cast["fact_checker"] = []any{costs(30, map[string]string{})}
		p.cast["editor"] = []any{costs(20, map[string]string{})}
		p.cfg.Limits.Estimate = cents(1)
		p.cast["citation_formatter"] = []any{costs(20, map[string]string{})}
		p.workers = research.Catalogue()
		p.workers[9].EstCost = cents(65) // 2.85 are too much: who comes last is refused
		p.workers[9].Critical = false
		p.cast["planner"] = []any{plan(0.6, parallel("research", "web_search"), sequential("analysis", "content_synthesizer"), sequential("writing", "article_writer"), parallel("quality", "fact_checker", "editor", "citation_formatter"))}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.Contains(t, got.codes(), "research/removed")
	})
	t.Run("R-2 RX4 an optional worker that the money does not reach", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Cost = cents(170)
		p.cfg.Limits.Estimate = cents(1)
		p.cast["planner"] = []any{plan(0.6, sequential("research", "web_search"), sequential("writing", "article_writer"), sequential("quality", "editor"))}
		p.cast["article_writer"] = []any{costs(155, "text")} // 15 are left, and an editor is said to cost 20
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.Equal(t, "editor", got.warning(t, "research/budget").Who)
		assert.Equal(t, "SKIPPED", got.task(t, "editor").Status)
		assert.Empty(t, got.asked["editor"])
	})
}

// canceledIn is the result of the reference run, with a merger, if it is canceled while all
// its branches wait.
func canceledIn(t *testing.T, change func(cast map[string][]any)) (out research.Outcome, state research.State, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Agents.Merger = "merger"
		p.cast["merger"] = []any{research.Draft{Content: "merged"}}
		change(p.cast)
		p.cfg.Workers = writers()
		flow, ferr := research.New(p.cfg)
		require.NoError(t, ferr)
		roster := agent.Roster{}
		for _, name := range flow.Agents {
			answers := p.cast[name]
			if answers == nil {
				answers = []any{lines(worker(p.cfg.Workers, name))}
			}
			last := len(answers) - 1
			roster[name] = flowtest.NewScript(t, answers[:last]...).Else(answers[last])
		}
		e, eerr := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
		require.NoError(t, eerr)
		defer func() { _ = e.Close(context.WithoutCancel(t.Context())) }()
		r, serr := flow.Start(t.Context(), e, brief(), orchestrator.StartOptions{})
		require.NoError(t, serr)
		synctest.Wait()
		require.NoError(t, r.State(t.Context(), &state))
		require.NoError(t, r.Cancel(t.Context(), "enough"))
		out, err = flow.Result(t.Context(), r)
	})
	return out, state, err
}

func TestGrades(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []any
		calls   int
		graded  bool
	}{
		{"N2 RC41 malformed twice, then a grade", []any{"prose", "prose", marks(0.9)}, 3, true},
		{"N2 malformed four times", []any{"prose"}, 4, false},
		{"N2 out of scale four times", []any{marks(90)}, 4, false},
		{"N2 a completeness out of scale", []any{map[string]any{"article": 0.9, "source": 0.9, "factual": 0.9, "writing": 0.9, "completeness": 90}}, 4, false},
		{"RX18 N2 an error twice", []any{errBoom}, 2, false},
		{"N2 an error once", []any{errBoom, marks(0.9)}, 2, true},
		{"N2 refused by the model", []any{fmt.Errorf("%w: no", agent.ErrRefused)}, 2, false},
		{"N2 no answer in time", []any{flowtest.Hang()}, 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := scored(0.9)
			p.cast["supervisor"] = tt.answers
			got := p.play(t)
			require.NoError(t, got.err)
			assert.Len(t, got.asked["supervisor"], tt.calls)
			if tt.graded {
				assert.Equal(t, orchestrator.Completed, got.out.Status)
				return
			}
			assert.Equal(t, orchestrator.Partial, got.out.Status)
			assert.Nil(t, got.out.Score)
			assert.Empty(t, got.out.Quality)
			assert.Equal(t, []string{"article"}, got.out.Unverified)
			assert.Contains(t, got.warning(t, "research/ungraded").Message, "iteration 1 was not graded: ")
			assert.True(t, strings.HasPrefix(got.out.Article.Content, "> Partial result: it was not graded; the grade of iteration 1 did not come.\n\n"), got.out.Article.Content)
			assert.Len(t, got.asked["planner"], 1, "it is not made again for want of a grade")
			assert.True(t, got.state.History[0].Ungraded)
			assert.NotContains(t, got.codes(), "research/below-target")
			assert.Nil(t, got.events(t, research.EventIterationEvaluated)[0].Score)
		})
	}
	t.Run("RC41 the second grade does not come", func(t *testing.T) {
		p := scored(0.65)
		p.cast["supervisor"] = []any{marks(0.65), errBoom}
		p.cast["article_writer"] = []any{research.Draft{Content: "one"}, research.Draft{Content: "two"}}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.InDelta(t, 0.65, *got.out.Score, 0)
		assert.True(t, strings.HasSuffix(got.out.Article.Content, "\n\none"), "the graded one")
		assert.Len(t, got.asked["planner"], 2)
		assert.Contains(t, got.warned(), "Quality 0.65 below target 0.80, but the grade of iteration 2 did not come")
		p.cfg.Rules.Ranker = research.Best{Latest: true}
		got = p.play(t)
		assert.True(t, strings.HasSuffix(got.out.Article.Content, "\n\none"), "the last graded one")
	})
	t.Run("N2 an assumed score", func(t *testing.T) {
		p := scored(0.9)
		p.cast["supervisor"] = []any{errBoom}
		p.cfg.Policy.AssumeScore = new(0.8)
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.InDelta(t, 0.8, *got.out.Score, 0)
		assert.Equal(t, map[string]float64{"overall": 0.8}, got.out.Quality)
		assert.Equal(t, "iteration 1 was not graded: its score is assumed to be 0.80: boom", got.warning(t, "research/assumed-score").Message)
		assert.NotContains(t, got.codes(), "research/ungraded")
		assert.True(t, got.state.History[0].Ungraded)
		p.cfg.Policy.AssumeScore = new(0.5)
		got = p.play(t)
		assert.Len(t, got.state.History, 3, "it is a score like any other")
		assert.Equal(t, orchestrator.Partial, got.out.Status)
	})
	t.Run("N2 RC41 a refusal by the engine is not asked again", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Limits.Calls = 10
		for name := range map[string]bool{"web_search": true, "academic_search": true, "news_search": true, "content_synthesizer": true, "article_writer": true, "fact_checker": true, "editor": true, "citation_formatter": true} {
			p.cast[name] = []any{costs(0, lines(worker(research.Catalogue(), name)))}
		}
		p.cast["planner"] = []any{costs(0, "prose"), costs(0, reference())}
		c, scripts := p.open(t)
		out, _, err := c.Run(t)
		require.NoError(t, err)
		assert.Empty(t, scripts["supervisor"].Requests())
		assert.Equal(t, orchestrator.Partial, out.Status)
		var codes []string
		for _, w := range out.Warnings {
			codes = append(codes, w.Code)
		}
		assert.Equal(t, []string{"research/budget", "research/ungraded"}, codes)
	})
}

func TestMoneyAndTime(t *testing.T) {
	t.Run("RC42 R-14 the planner is told in words what is left", func(t *testing.T) {
		p := priced(0.6, 0.9)
		p.brief.Limits.Time = 30 * time.Minute
		p.cast["article_writer"] = []any{flowtest.Delay(8*time.Minute, costs(90, "text"))}
		got := p.play(t)
		require.NoError(t, got.err)
		first, second := got.asked["planner"][0], got.asked["planner"][1]
		assert.Contains(t, string(first.Input), `"left":"USD 5.00 of 5.00 and 30 of 30 minutes are left"`)
		assert.Contains(t, string(second.Input), `"left":"USD 2.45 of 5.00 and 22 of 30 minutes are left"`)
		assert.Contains(t, string(first.Input), `"cost":"USD 0.90","time":"6 minutes"`)
		for _, req := range got.asked["planner"] {
			for _, raw := range []string{"max_budget", "max_time", "est_cost", "est_time", "000000000"} {
				assert.NotContains(t, string(req.Input), raw)
			}
		}
		assert.NotContains(t, string(got.asked["article_writer"][0].Input), "max_budget")
		assert.NotContains(t, string(got.asked["supervisor"][0].Input), "max_budget")
	})
	t.Run("RC42 R-5 the rest of the money goes with every call", func(t *testing.T) {
		p := priced(0.6, 0.9).merged(costs(3, research.Draft{Content: "Words of both."}))
		p.brief.Limits.Cost = 6 * providers.USD
		p.cfg.Agents.Strategist = "strategist"
		p.cast["planner"] = []any{costs(5, pair())}
		p.cast["strategist"] = []any{costs(2, `{"drop":[]}`)}
		got := p.play(t)
		require.NoError(t, got.err)
		cost := func(who string, n int) providers.NanoUSD { return got.asked[who][n].Limits.Cost }
		assert.Equal(t, cents(600), cost("planner", 0))
		assert.Equal(t, cents(595), cost("strategist", 0))
		assert.Equal(t, cents(600-5-2-110), cost("supervisor", 0))
		assert.Equal(t, cents(600-127), cost("planner", 1))
		assert.Equal(t, cents(600-127-127), cost("merger", 0))
		assert.Equal(t, cents(600-127-127-3), cost("supervisor", 2))
	})
	t.Run("RC42 RX5 what calls are said to cost is reserved", func(t *testing.T) {
		p := priced(0.9)
		got := p.play(t)
		assert.Equal(t, cents(20), got.asked["web_search"][0].Limits.Estimate)
		assert.Equal(t, cents(5), got.asked["supervisor"][0].Limits.Estimate, "as much as the planner cost")
		p.cfg.Limits.Estimate = cents(7)
		got = p.play(t)
		assert.Equal(t, cents(7), got.asked["supervisor"][0].Limits.Estimate)
		p.brief.Limits.Cost = cents(245)
		got = p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, cents(220), got.state.Plan.EstCost, "2.40 are left, and 0.07 kept")
		assert.Equal(t, orchestrator.Completed, got.out.Status)
	})
	t.Run("RC42 a critical worker has what there is", func(t *testing.T) {
		p := priced(0.9)
		p.cast["planner"] = []any{small()}
		p.cfg.Limits.Estimate = cents(1)
		p.brief.Limits.Cost = cents(115)
		p.cast["web_search"] = []any{costs(50, sources(research.Source{Title: "x"}))}
		p.cast["article_writer"] = []any{costs(40, "text")}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, cents(65), got.asked["article_writer"][0].Limits.Estimate)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
	})
	t.Run("RC42 R-5 RX3 the time ends for every agent", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Time = 20 * time.Minute
		p.cfg.Bounds.Timeout = time.Hour
		p.cast["planner"] = []any{flowtest.Hang()}
		got := p.play(t)
		require.ErrorIs(t, got.err, orchestrator.ErrBudget)
		assert.Equal(t, orchestrator.OutOfBudget, got.out.Status, "there is no result")
		assert.Equal(t, "BudgetExceededError", got.out.Failure.Type)
		assert.Equal(t, 20*time.Minute, got.out.Elapsed.Round(time.Second))
		p.cast["planner"] = []any{reference()}
		p.cast["supervisor"] = []any{flowtest.Hang()}
		got = p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, 20*time.Minute, got.out.Elapsed.Round(time.Second))
		assert.Equal(t, []string{"research/time", "research/ungraded"}, got.codes())
		p.cfg.Agents.Strategist = "strategist"
		p.cast["strategist"] = []any{flowtest.Hang()}
		p.cast["supervisor"] = []any{marks(0.9)}
		got = p.play(t)
		require.ErrorIs(t, got.err, research.ErrInfeasible, "nothing is left for a worker")
		assert.Equal(t, 20*time.Minute, got.out.Elapsed.Round(time.Second))
	})
	t.Run("RX3 RC42 an evaluation has half a minute, though the time is up", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Time = 20 * time.Minute
		p.workers = research.Catalogue()
		p.workers[6].Timeout = time.Hour
		p.cast["article_writer"] = []any{flowtest.Delay(25*time.Minute, "text")}
		p.cast["supervisor"] = []any{flowtest.Delay(20*time.Second, marks(0.9))}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		p.cast["supervisor"] = []any{flowtest.Delay(31*time.Second, marks(0.9))}
		got = p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.Equal(t, 25*time.Minute+30*time.Second, got.out.Elapsed.Round(time.Second))
	})
	t.Run("RC42 the time of evaluations is kept", func(t *testing.T) {
		p := scored(0.6)
		p.brief.Limits.Time = 18 * time.Minute
		p.cast["supervisor"] = []any{flowtest.Delay(4*time.Minute, marks(0.6))}
		got := p.play(t)
		require.NoError(t, got.err)
		// 14 minutes are left, less 4: academic_search, news_search and the writer take 10.
		assert.Equal(t, 9*time.Minute, got.state.History[1].Plan.EstTime)
		assert.Len(t, got.state.History, 2, "then 10 less 8 are too few for a writer")
		assert.Contains(t, got.codes(), "research/time")
	})
	t.Run("RX13 a wait is no longer than the time", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Time = 20 * time.Minute
		p.cast["article_writer"] = []any{&providers.Error{Kind: providers.RateLimited, RetryAfter: time.Hour}, "text"}
		got := p.play(t)
		require.NoError(t, got.err)
		require.Len(t, got.waits(t, "article_writer"), 1)
		assert.InDelta(t, 20*60, got.waits(t, "article_writer")[0], 1)
		p.cfg.Rules.Retrier = attempts(3, time.Minute)
		got = p.play(t)
		assert.Equal(t, []float64{60}, got.waits(t, "article_writer"))
	})
	t.Run("RC42 the run's own budget counts, too", func(t *testing.T) {
		p := priced(0.9)
		c, _ := p.open(t)
		c.Options.Budget = orchestrator.Budget{Cost: cents(160)}
		out, log, err := c.Run(t)
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Partial, out.Status)
		assert.LessOrEqual(t, out.Spent.Cost, cents(160))
		assert.NotEmpty(t, log)
		c.Options.Budget = orchestrator.Budget{Wall: 30 * time.Second}
		out, _, err = c.Run(t)
		require.ErrorIs(t, err, research.ErrInfeasible, "no writer works in half a minute")
		assert.Equal(t, orchestrator.Failed, out.Status)
	})
	t.Run("RC50 R-3 models without a price", func(t *testing.T) {
		p := scored(0.9)
		p.cast["web_search"] = []any{agent.Response{Data: agent.JSON(sources(research.Source{Title: "x"})), Usage: providers.Usage{Calls: 1, Unpriced: 1}}}
		got := p.play(t)
		require.ErrorIs(t, got.err, orchestrator.ErrBudget)
		p.brief.Limits.AllowUnpriced = true
		got = p.play(t)
		require.NoError(t, got.err)
		assert.True(t, got.asked["editor"][0].Limits.AllowUnpriced)
		p.brief.Limits.AllowUnpriced = false
		c, _ := p.open(t)
		c.Options.Budget = orchestrator.Budget{Cost: providers.USD, AllowUnpriced: true}
		p.brief.Limits.Cost = providers.USD
		c.Options.Budget.Cost = 9 * providers.USD
		out, _, err := c.Run(t)
		require.NoError(t, err, "the run's budget allows it")
		assert.Equal(t, int64(1), out.Spent.Unpriced)
		c.Options.Budget = orchestrator.Budget{AllowUnpriced: true}
		out, _, err = c.Run(t)
		require.NoError(t, err, "RC56: also without a Cost beside it")
		assert.Equal(t, int64(1), out.Spent.Unpriced)
	})
	t.Run("R-10 RC9 what is spent can be watched", func(t *testing.T) {
		_, state, err := canceledIn(t, func(cast map[string][]any) {
			cast["planner"] = []any{costs(5, reference())}
			cast["article_writer"] = []any{flowtest.Hang()}
		})
		require.Error(t, err)
		assert.Equal(t, cents(5), state.Usage.Cost)
	})
}

func TestPlansAsModelsWriteThem(t *testing.T) {
	t.Run("RC44 R-7 estimates and unknown fields are ignored", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{`{"complexity":0.3,"est_cost":0.2,"est_time":"5m","mood":"good","steps":[
			{"category":"research","mode":"parallel","workers":["web_search"],"est_cost":"0.1","est_time":1.5},
			{"category":"writing","mode":"SEQUENTIAL","workers":["article_writer"]},{"category":"quality","mode":"SEQUENTIAL","workers":["editor"]}]}`}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.asked["planner"], 1)
		assert.Equal(t, cents(130), got.state.Plan.EstCost)
	})
	t.Run("RC44 R-9 unknown workers and empty steps on which others depend", func(t *testing.T) {
		p := scored(0.9)
		bad := plan(0.3,
			step{ID: "a", Category: "research", Mode: "PARALLEL", Workers: []string{"web_search"}},
			step{ID: "b", Category: "magic", Mode: "PARALLEL", Workers: []string{"oracle"}, DependsOn: []string{"a"}},
			step{ID: "c", Category: "analysis", Mode: "PARALLEL", Workers: []string{}, DependsOn: []string{"b"}},
			step{ID: "d", Category: "writing", Mode: "SEQUENTIAL", Workers: []string{"article_writer", "ghost"}, DependsOn: []string{"c"}},
			step{ID: "e", Category: "quality", Mode: "SEQUENTIAL", Workers: []string{"editor"}, DependsOn: []string{"d"}},
		)
		p.cast["planner"] = []any{bad}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []string{"web_search", "article_writer", "editor"}, members(*got.state.Plan))
		assert.Equal(t, []string{"a"}, got.state.Plan.Steps[1].DependsOn)
		assert.Equal(t, []string{
			`steps[1] names "oracle", which is no worker: it is left out`, `steps[3] names "ghost", which is no worker: it is left out`,
			"steps[2] of the plan names no worker",
		}, got.warned(), "steps count as the planner wrote them")
		assert.Contains(t, got.asked["planner"][1].Prompt, `steps[3] names "ghost"`)
	})
	t.Run("RC44 messages count steps as the planner wrote them", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{
			plan(0.3, step{Category: "research", Mode: "PARALLEL", Workers: []string{}}, step{Category: "art", Mode: "SOMEHOW", Workers: []string{"web_search"}},
				step{ID: "w", Category: "writing", Mode: "SEQUENTIAL", Workers: []string{"article_writer"}, DependsOn: []string{"x"}},
				step{ID: "w", Category: "quality", Mode: "SEQUENTIAL", Workers: []string{"editor"}}),
			small(),
		}
		got := p.play(t)
		require.NoError(t, got.err)
		for _, fault := range []string{"steps[1].mode is", "steps[1].category is", `steps[2].depends_on names "x"`, `steps[3].id is "w"`} {
			assert.Contains(t, got.asked["planner"][1].Prompt, fault)
		}
	})
	t.Run("N20 an ID of the planner has letters, digits and few signs, at most 128", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{
			plan(0.3, step{ID: "a\nb", Category: "writing", Mode: "SEQUENTIAL", Workers: []string{"article_writer"}}),
			plan(0.3, step{ID: strings.Repeat("x", 129), Category: "writing", Mode: "SEQUENTIAL", Workers: []string{"article_writer"}}),
			small(),
		}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Contains(t, got.asked["planner"][1].Prompt, `steps[0].id has '\n' at character 2, want letters, digits and -_.:/ only`)
		assert.Contains(t, got.asked["planner"][2].Prompt, "steps[0].id has 129 characters, want at most 128")
	})
	t.Run("RC56 an ID that code gives is no other step's", func(t *testing.T) {
		p := scored(0.9)
		p.brief.PreferredSources, p.brief.Tone = []string{"academic"}, "academic"
		p.cast["planner"] = []any{plan(0.3,
			step{ID: "step-2", Category: "analysis", Mode: "SEQUENTIAL", Workers: []string{"content_synthesizer"}},
			step{Category: "writing", Mode: "SEQUENTIAL", Workers: []string{"article_writer"}},
			step{ID: "added-academic_search", Category: "quality", Mode: "SEQUENTIAL", Workers: []string{"editor"}})}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.asked["planner"], 1, "it is no fault of the planner")
		var ids []string
		for _, s := range got.state.Plan.Steps {
			ids = append(ids, s.ID)
		}
		assert.Equal(t, []string{"added-academic_search-2", "step-2", "step-2-2", "added-academic_search"}, ids)
	})
	t.Run("RC43 a plan that is too large is sent back", func(t *testing.T) {
		many := make([]step, 65)
		for i := range many {
			many[i] = step{Category: "writing", Mode: "SEQUENTIAL", Workers: []string{"article_writer"}}
		}
		p := scored(0.9)
		p.cast["planner"] = []any{plan(0.9, many...), small()}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Contains(t, got.asked["planner"][1].Prompt, "65 steps and 65 workers, want at most 64 and 256")
	})
	t.Run("R-8 R46 a parallel step whose workers need each other", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{plan(0.3, parallel("research", "web_search", "content_synthesizer", "article_writer", "editor"))}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "SEQUENTIAL", got.state.Plan.Steps[0].Mode)
		assert.Contains(t, input[research.WorkerInput](t, got.asked["article_writer"][0]).Inputs, "content_synthesizer")
		assert.Contains(t, input[research.WorkerInput](t, got.asked["editor"][0]).Inputs, "article_writer")
	})
	t.Run("RC47 R-12 workers say what they are for", func(t *testing.T) {
		p := scored(0.9)
		p.workers = research.Catalogue()
		p.workers[1].ID, p.workers[9].ID = "papers", "footnotes"
		p.brief.PreferredSources, p.brief.Tone = []string{"ACADEMIC journals"}, "academic"
		p.cast["planner"] = []any{small()}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []string{"web_search", "papers", "article_writer", "editor", "footnotes"}, members(*got.state.Plan))
		p.workers[1].For, p.workers[9].For = research.For{}, research.For{}
		got = p.play(t)
		assert.Equal(t, []string{"web_search", "article_writer", "editor"}, members(*got.state.Plan))
	})
}

func TestAnswersOfWorkers(t *testing.T) {
	t.Run("RC45 R-6 a worker that found nothing", func(t *testing.T) {
		p := scored(0.9)
		p.cast["news_search"] = []any{research.Findings{}}
		p.cast["supervisor"] = []any{`{"article":0.9,"source":0.9,"factual":0.9,"writing":0.9,"issues":null}`}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "COMPLETED", got.task(t, "news_search").Status)
		assert.JSONEq(t, `{"sources":[]}`, string(input[research.WorkerInput](t, got.asked["article_writer"][0]).Inputs["news_search"]))
	})
	const object = `{"title":"T","content":"The text."}`
	example := "Configure it like this:\n\n```json\n" + object + "\n```\n\nThen start it."
	for _, tt := range []struct{ name, answer, want string }{
		{"RC46 an object", object, "The text."},
		{"RC46 white space", "\n \n" + object + "\n", "The text."},
		{"RC46 a fence", "```json\n" + object + "\n```", "The text."},
		{"RC46 a line that leads in", "Here is the article:\n" + object, "The text."},
		{"RC46 a line and a fence", "Here is the article:\n\n```\n" + object + "\n```\n", "The text."},
		{"RC46 R-11 an example in a text", example, example},
		{"RC46 two lines before it", "One.\nTwo:\n" + object, "One.\nTwo:\n" + object},
		{"RC46 a word behind it", object + "\nDone.", object + "\nDone."},
		{"RC46 no draft", `{"note":"x"}`, `{"note":"x"}`},
		{"RC46 mended", `{title: "T", "content": "The text.",}`, "The text."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := scored(0.9)
			p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), sequential("writing", "article_writer"))}
			p.cast["article_writer"] = []any{tt.answer}
			got := p.play(t)
			require.NoError(t, got.err)
			assert.Equal(t, strings.TrimSpace(tt.want), got.out.Article.Content)
		})
	}
	t.Run("RC46 an empty draft is none", func(t *testing.T) {
		p := scored(0.9)
		p.cast["article_writer"] = []any{research.Draft{}, "text"}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.asked["article_writer"], 2)
	})
	t.Run("RC48 R-13 a writer improves its last draft", func(t *testing.T) {
		p := scored(0.6, 0.9)
		p.cast["fact_checker"] = []any{map[string]string{"wrong": "the year"}}
		p.cast["editor"] = []any{map[string]string{"notes": "fine"}}
		got := p.play(t)
		require.NoError(t, got.err)
		first, second := input[research.WorkerInput](t, got.asked["article_writer"][0]), input[research.WorkerInput](t, got.asked["article_writer"][1])
		assert.Nil(t, first.LastDraft)
		assert.Nil(t, first.Checks)
		assert.Equal(t, &research.Draft{Title: "AI in care", Content: "Words of article_writer."}, second.LastDraft)
		assert.JSONEq(t, `{"wrong":"the year"}`, string(second.Checks["fact_checker"]))
		assert.Len(t, second.Checks, 3)
		assert.Nil(t, input[research.WorkerInput](t, got.asked["web_search"][1]).LastDraft)
		assert.Contains(t, got.asked["article_writer"][1].Prompt, "Improve last_draft")
		assert.NotContains(t, got.asked["article_writer"][0].Prompt, "last_draft")
	})
	t.Run("RC48 each of two writers improves its own last draft", func(t *testing.T) {
		p := scored(0.6, 0.9)
		p.workers = writers()
		p.cast["planner"] = []any{pair()}
		p.cast["article_writer"], p.cast["second"] = []any{words(100, "one")}, []any{words(50, "two")}
		got := p.play(t)
		require.NoError(t, got.err)
		for who, want := range map[string]research.Draft{"article_writer": words(100, "one"), "second": words(50, "two")} {
			in := input[research.WorkerInput](t, got.asked[who][1])
			require.NotNil(t, in.LastDraft, who)
			assert.Equal(t, want.Content, in.LastDraft.Content, who)
		}
	})
	t.Run("RC48 a checker that returns a text", func(t *testing.T) {
		p := scored(0.6, 0.9)
		p.cast["planner"] = []any{small()}
		p.cast["editor"] = []any{research.Draft{Content: "Edited words."}, map[string]string{"notes": "fine"}}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "Edited words.", input[research.WorkerInput](t, got.asked["article_writer"][1]).LastDraft.Content)
		assert.Equal(t, "AI in care", input[research.WorkerInput](t, got.asked["article_writer"][1]).LastDraft.Title)
		assert.Equal(t, "Words of article_writer.", got.out.Article.Content, "the second time it has only notes")
		judged := input[struct {
			Writing []struct {
				Payload   json.RawMessage
				RevisedBy string `json:"revised_by"`
			}
		}](t, got.asked["supervisor"][0])
		assert.JSONEq(t, `{"title":"AI in care","content":"Edited words."}`, string(judged.Writing[0].Payload))
		assert.Equal(t, "editor", judged.Writing[0].RevisedBy)
		assert.Contains(t, got.asked["editor"][0].Prompt, "the whole revised text")
	})
	t.Run("RC48 prose of an editor is no article", func(t *testing.T) {
		p := scored(0.9)
		p.cast["editor"] = []any{"Shorten the introduction."}
		p.cast["fact_checker"] = []any{research.Draft{Content: "All of it is true."}}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "Words of article_writer.", got.out.Article.Content, "nor is the text of one that does not revise")
		assert.JSONEq(t, `{"text":"Shorten the introduction."}`, string(got.state.Quality[1].Payload))
	})
	t.Run("RC48 of two texts side by side the later one, with a warning", func(t *testing.T) {
		p := scored(0.9)
		p.cast["editor"] = []any{flowtest.Delay(time.Second, research.Draft{Content: "Edited words."})}
		p.cast["citation_formatter"] = []any{research.Draft{Content: "Cited words."}}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "Cited words.", got.out.Article.Content)
		assert.Equal(t, "editor and citation_formatter revised the same text: that of citation_formatter is used", got.warning(t, "research/revision-lost").Message)
	})
	t.Run("RC48 one after another nothing is lost", func(t *testing.T) {
		p := scored(0.9)
		p.workers = research.Catalogue()
		p.workers[9].Needs = []string{"article", "edits"}
		p.cast["editor"] = []any{research.Draft{Content: "Edited words."}}
		p.cast["citation_formatter"] = []any{research.Draft{Content: "Edited and cited."}}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "Edited and cited.", got.out.Article.Content)
		assert.Empty(t, got.out.Warnings)
		assert.JSONEq(t, `{"title":"AI in care","content":"Edited words."}`, string(input[research.WorkerInput](t, got.asked["citation_formatter"][0]).Inputs["article_writer"]))
	})
	t.Run("RC48 only the drafts that a checker has read", func(t *testing.T) {
		p := scored(0.9)
		p.workers = append(research.Catalogue(), research.Worker{ID: "boxes", Category: research.Writing, Produces: []string{"boxes"}})
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), parallel("writing", "boxes", "article_writer"), sequential("quality", "editor"))}
		p.cast["editor"] = []any{research.Draft{Content: "Edited words."}}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "Words of boxes.\n\nEdited words.", got.out.Article.Content)
	})
	t.Run("RC49 R-13 too few sources", func(t *testing.T) {
		p := scored(0.6, 0.9)
		p.brief.MinSources = 5
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, "3 distinct sources were found, want 5", got.warning(t, "research/few-sources").Message)
		in := input[map[string]any](t, got.asked["supervisor"][0])
		assert.InDelta(t, 2.0, in["missing_sources"], 0)
		assert.Contains(t, string(got.asked["planner"][1].Input), "only 3 of 5 sources")
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		p.brief.MinSources = 3
		got = p.play(t)
		assert.Empty(t, got.out.Warnings)
		assert.NotContains(t, input[map[string]any](t, got.asked["supervisor"][0]), "missing_sources")
	})
	t.Run("RX7 scores carry their scale", func(t *testing.T) {
		got := scored(0.9).play(t)
		type schema struct {
			Properties map[string]struct{ Minimum, Maximum *float64 }
		}
		var marks, plan schema
		require.NoError(t, json.Unmarshal(got.asked["supervisor"][0].Output, &marks))
		require.NoError(t, json.Unmarshal(got.asked["planner"][0].Output, &plan))
		for name, p := range map[string]struct{ Minimum, Maximum *float64 }{
			"article": marks.Properties["article"], "source": marks.Properties["source"], "factual": marks.Properties["factual"], "writing": marks.Properties["writing"],
			"completeness": marks.Properties["completeness"], "complexity": plan.Properties["complexity"],
		} {
			require.NotNil(t, p.Minimum, name)
			require.NotNil(t, p.Maximum, name)
			assert.InDelta(t, 0, *p.Minimum, 0)
			assert.InDelta(t, 1, *p.Maximum, 0)
		}
		assert.Contains(t, string(got.asked["web_search"][0].Output), `"relevance":{"type":"number","minimum":0,"maximum":1}`)
		for _, name := range []string{"supervisor", "planner", "web_search"} {
			assert.Contains(t, got.asked[name][0].Prompt, "from 0", name)
		}
	})
}

// Each started record has its finished or failed one.
func TestEventsHaveEnds(t *testing.T) {
	p := scored(0.65, 0.9)
	p.cast["news_search"] = []any{errBoom}
	p.cast["planner"] = []any{errBoom, reference()}
	p.cast["supervisor"] = []any{errBoom, marks(0.65), marks(0.9)}
	bad := scored(0.9)
	bad.cast["article_writer"] = []any{errBoom}
	beside := scored(0.9)
	beside.workers = research.Catalogue()
	beside.workers[1].Critical, beside.workers[1].Priority = true, "HIGH"
	beside.cast["academic_search"] = []any{flowtest.Delay(time.Second, &providers.Error{Kind: providers.Permanent})}
	beside.cast["web_search"] = []any{flowtest.Hang()}
	for name, p := range map[string]project{"R106 RX20 DC36 failures on the way": p, "RX20 a run that fails": bad, "RX20 RX11 one that cancels others": beside} {
		t.Run(name, func(t *testing.T) {
			got := p.play(t)
			open, last := map[string]int{}, ""
			for _, rec := range got.log {
				var e research.Event
				if !strings.HasPrefix(rec.Kind, "research.") {
					continue // the engine's: a call that was cut may be settled at the very end
				}
				last = rec.Kind
				require.NoError(t, json.Unmarshal(rec.Data, &e))
				switch team.Kind(rec.Kind) {
				case agentStarted:
					open[e.Who]++
				case agentFinished, agentFailed:
					open[e.Who]--
					require.NotNil(t, e.Usage)
				case stepStarted:
					open["step "+e.Step]++
				case research.EventStepFinished:
					open["step "+e.Step]--
				}
			}
			assert.NotEmpty(t, open)
			for who, n := range open {
				assert.Zero(t, n, who)
			}
			assert.Equal(t, string(runFinished), last)
		})
	}
}

// TestSurvivors has the cases that mutation testing found untested.
func TestSurvivors(t *testing.T) {
	t.Run("RC11 a fallback that has worked in an earlier iteration works again", func(t *testing.T) {
		p := scored(0.6, 0.9)
		again := plan(0.3, sequential("research", "web_scraper"), sequential("writing", "article_writer"))
		p.cast["planner"] = []any{small(), again}
		p.cast["web_scraper"] = []any{errBoom}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Len(t, got.asked["web_search"], 2)
		assert.Len(t, got.state.Research, 2)
	})
	t.Run("RC11 RX4 no fallback when the money is used up", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Cost = cents(150)
		p.workers = append(research.Catalogue(), research.Worker{ID: "second", Category: research.Writing, Critical: true, EstCost: 1})
		p.workers[6].Fallback = "second"
		p.cast["planner"] = []any{small()}
		p.cast["web_search"] = []any{costs(160, sources(research.Source{Title: "x"}))}
		got := p.play(t)
		require.ErrorIs(t, got.err, orchestrator.ErrBudget)
		assert.Empty(t, got.events(t, research.EventWorkerReplaced))
		assert.Equal(t, "BudgetExceededError", got.out.Failure.Type)
	})
	t.Run("RX5 RC42 the calls end behind an iteration", func(t *testing.T) {
		p := scored(0.6)
		p.cfg.Limits.Calls = 5
		p.cast["planner"] = []any{costs(0, small())}
		for _, w := range []string{"web_search", "article_writer", "editor"} {
			p.cast[w] = []any{costs(0, lines(worker(research.Catalogue(), w)))}
		}
		p.cast["supervisor"] = []any{costs(0, marks(0.6))}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.Equal(t, "no calls are left", got.warning(t, "research/budget").Message)
		assert.NotContains(t, got.phases(), rePlanning)
	})
	t.Run("RC43 R60 a plan is optimised for the limit on workers at once", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Bounds.StepLimit = 2
		p.brief.Limits.Time = 14 * time.Minute
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, []string{"web_search", "academic_search", "content_synthesizer", "article_writer"}, members(*got.state.Plan))
	})
	t.Run("RC29 of equal iterations the later one", func(t *testing.T) {
		p := scored(0.7, 0.7, 0.6)
		p.cast["article_writer"] = []any{research.Draft{Content: "one"}, research.Draft{Content: "two"}, research.Draft{Content: "three"}}
		assert.True(t, strings.HasSuffix(p.play(t).out.Article.Content, "two"))
	})
	t.Run("RX14 how long a call may take", func(t *testing.T) {
		p := scored(0.9)
		p.workers = research.Catalogue()
		p.workers[0].EstTime, p.workers[1].EstTime, p.workers[2].Timeout = time.Second, 0, time.Minute
		got := p.play(t)
		require.NoError(t, got.err)
		for who, limit := range map[string]time.Duration{
			"web_search": 30 * time.Second, "academic_search": 5 * time.Minute, "news_search": time.Minute, "editor": 8 * time.Minute, "planner": 5 * time.Minute,
		} {
			assert.Equal(t, limit, got.asked[who][0].Limits.Timeout, who)
		}
	})
	t.Run("R100 R72 a failed run has its warnings, and what was written", func(t *testing.T) {
		p := scored(0.9)
		p.cast["news_search"] = []any{errBoom}
		p.workers = append(research.Catalogue(), research.Worker{ID: "second", Category: research.Writing, Critical: true, Needs: []string{"article"}})
		p.cast["planner"] = []any{plan(0.6, parallel("research", "web_search", "news_search"), sequential("writing", "article_writer"), step{ID: "b", Category: "writing", Mode: "SEQUENTIAL", Workers: []string{"second"}})}
		p.cast["second"] = []any{errBoom}
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrWorker)
		assert.Contains(t, got.warned(), "News search unavailable")
		require.NotNil(t, got.out.Article)
		assert.Equal(t, "> Partial result: it was not graded; iteration 1 could not be finished.\n\nWords of article_writer.", got.out.Article.Content)
		assert.Equal(t, orchestrator.Failed, got.out.Status)
		assert.Equal(t, []string{"article"}, got.out.Unverified)
	})
	t.Run("R60 RX11 who waits for a place beside one that fails is canceled", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Bounds.StepLimit = 1
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), parallel("writing", "article_writer", "fact_checker"))}
		p.cast["article_writer"] = []any{&providers.Error{Kind: providers.Permanent, Message: "no"}}
		p.workers = research.Catalogue()
		for i := range p.workers {
			p.workers[i].Needs = nil
		}
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrWorker)
		assert.Equal(t, "CANCELED", got.task(t, "fact_checker").Status)
		assert.Empty(t, got.asked["fact_checker"])
	})
	t.Run("R61 in turn each gets what those before it made", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search", "web_scraper", "news_search"), sequential("writing", "article_writer"))}
		got := p.play(t)
		require.NoError(t, got.err)
		inputs := input[research.WorkerInput](t, got.asked["news_search"][0]).Inputs
		assert.Contains(t, inputs, "web_search", "it needs nothing, and sees it")
		assert.Contains(t, inputs, "web_scraper")
	})
	t.Run("RX20 R73 a worker that is skipped is an event", func(t *testing.T) {
		p := scored(0.9)
		p.cast["news_search"] = []any{errBoom}
		skipped := p.play(t).events(t, research.EventWorkerSkipped)
		require.Len(t, skipped, 1)
		assert.Equal(t, research.Event{Event: team.Event{Who: "news_search", Text: "boom"}, Step: "research"}, skipped[0])
	})
	t.Run("RX5 a task tells what all its attempts used", func(t *testing.T) {
		p := scored(0.9)
		failed := &agent.Error{Message: "boom", Usage: providers.Usage{Calls: 1, Cost: cents(3)}}
		p.cast["news_search"] = []any{failed, costs(4, sources(research.Source{Title: "x"}))}
		task := p.play(t).task(t, "news_search")
		assert.Equal(t, 2, task.Attempts)
		assert.Equal(t, cents(3+4), task.Usage.Cost)
	})
	t.Run("RC12 a step that no later one needs and that produced nothing", func(t *testing.T) {
		p := scored(0.9)
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), sequential("writing", "article_writer"), parallel("quality", "editor", "fact_checker"))}
		p.cast["editor"], p.cast["fact_checker"] = []any{errBoom}, []any{errBoom}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, `step "quality" produced nothing (editor, fact_checker)`, got.warning(t, "research/step-failed").Message)
	})
	t.Run("RC43 of equal priority analysis matters more than a second source", func(t *testing.T) {
		w := func(id string, category research.Category) research.Worker {
			return research.Worker{ID: id, Category: category, EstCost: cents(10), Critical: category == research.Writing}
		}
		workers := []research.Worker{w("a", research.Researching), w("b", research.Researching), w("x", research.Analysing), w("w", research.Writing)}
		p := research.Plan{Steps: []research.Step{
			{ID: "r", Category: research.Researching, Mode: "PARALLEL", Workers: []string{"a", "b"}},
			{ID: "x", Category: research.Analysing, Mode: "SEQUENTIAL", Workers: []string{"x"}},
			{ID: "w", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"w"}},
		}}
		q, report, err := research.BestFit{}.Optimise(p, research.Room{Cost: cents(30)}, workers)
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "x", "w"}, members(q))
		assert.Equal(t, []string{"b"}, report.Removed)
	})
	t.Run("RC43 what must stay is there at its least cost where nothing fits", func(t *testing.T) {
		workers := []research.Worker{
			{ID: "dear", Category: research.Writing, Critical: true, Cheaper: "cheap", EstCost: cents(50)},
			{ID: "cheap", Category: research.Writing, Critical: true, EstCost: cents(20)},
		}
		p := research.Plan{Steps: []research.Step{{ID: "w", Category: research.Writing, Mode: "SEQUENTIAL", Workers: []string{"dear"}}}}
		q, report, err := research.BestFit{}.Optimise(p, research.Room{Cost: cents(10)}, workers)
		require.NoError(t, err)
		assert.Equal(t, []string{"cheap"}, members(q))
		assert.Equal(t, []string{"it costs at least 0.20 USD, the limit is 0.10"}, report.Unmet)
	})
	t.Run("R65 a call that failed has what it used in its event", func(t *testing.T) {
		p := scored(0.9)
		p.cast["news_search"] = []any{&agent.Error{Message: "boom", Usage: providers.Usage{Calls: 1, Cost: cents(3)}}}
		for _, e := range p.play(t).events(t, agentFailed) {
			assert.Equal(t, cents(3), e.Usage.Cost, e.Who)
		}
	})
	t.Run("RC42 for the supervisor what the dearest of these agents cost is reserved", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Agents.Strategist = "strategist"
		p.cast["planner"] = []any{costs(9, small())}
		p.cast["strategist"] = []any{costs(2, map[string]any{"drop": []string{}})}
		assert.Equal(t, cents(9), p.play(t).asked["supervisor"][0].Limits.Estimate)
	})
	t.Run("RX8 RC44 what two empty steps depended on is depended on once", func(t *testing.T) {
		p := scored(0.9)
		on := func(s step, ids ...string) step {
			s.DependsOn = ids
			return s
		}
		a, b := on(sequential("analysis"), "research"), on(sequential("quality"), "research")
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), a, b, on(sequential("writing", "article_writer"), "analysis", "quality"))}
		steps := p.play(t).state.Plan.Steps
		assert.Equal(t, []string{"research"}, steps[len(steps)-1].DependsOn)
	})
	t.Run("RC40 a checker that is called for is added to the last step of its category", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Tone = "academic"
		last := step{ID: "last", Category: "quality", Mode: "SEQUENTIAL", Workers: []string{"editor"}, DependsOn: []string{"quality"}}
		p.cast["planner"] = []any{plan(0.3, sequential("research", "web_search"), sequential("writing", "article_writer"), sequential("quality", "fact_checker"), last)}
		steps := p.play(t).events(t, planCreated)[0].Plan.Steps
		assert.Equal(t, []string{"editor", "citation_formatter"}, steps[len(steps)-1].Workers)
	})
	t.Run("RX3 N1 the end of the time comes before a timeout at the same moment", func(t *testing.T) {
		p := scored(0.9)
		p.brief.Limits.Time = 5 * time.Minute // as long as a planner has
		p.cast["planner"] = []any{flowtest.Hang()}
		got := p.play(t)
		require.ErrorIs(t, got.err, orchestrator.ErrBudget)
		require.Len(t, got.asked["planner"], 1)
		assert.Zero(t, got.asked["planner"][0].Limits.Timeout)
	})
}

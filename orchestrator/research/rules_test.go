package research_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/routing"
)

// byIteration answers with the first value in the first iteration, and so on. The last one
// answers all further iterations.
func byIteration(answers ...any) []any {
	return []any{agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
		var in struct{ Iteration int }
		err := json.Unmarshal(req.Input, &in)
		return agent.Response{Data: agent.JSON(answers[min(in.Iteration, len(answers))-1])}, err
	})}
}

// three is a run of three workers with these scores.
func three(scores ...float64) project {
	p := scored()
	p.cast["planner"] = []any{small()}
	p.cast["article_writer"] = byIteration(research.Draft{Content: "one"}, research.Draft{Content: "two"}, research.Draft{Content: "three"})
	var grades []any
	for _, s := range scores {
		grades = append(grades, marks(s))
	}
	p.cast["supervisor"] = byIteration(grades...)
	return p
}

// jury is a Grader behind which an agent stands.
type jury struct{}

func (jury) Grade(c *orchestrator.Context, work research.Work) (research.Grade, error) {
	resp, err := c.Call("juror", agent.Request{Prompt: work.Article.Content})
	if err != nil {
		return research.Grade{}, err
	}
	return research.Grade{Marks: grading.Marks{{Name: "verve", Value: float64(len(resp.Text)) / 10}}}, nil
}

func (jury) Agents() []string { return []string{"juror"} }

// verve is a Scorer for the marks of a jury.
var verve = grading.Weighted{"verve": 1}

// substitute is a Retrier that asks another worker's agent at the second try.
type substitute struct{}

func (substitute) Next(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
	return orchestrator.Again{Retry: len(tries) < 2 && of.Role == "worker", Agent: "stand_in"}
}

func (substitute) Agents() []string { return []string{"stand_in"} }

// onlyWriting is an Optimiser that leaves nothing but the writer.
func onlyWriting(p research.Plan, _ research.Room, _ []research.Worker) (research.Plan, research.Report, error) {
	p.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(s research.Step) bool { return s.Category != research.Writing })
	return p, research.Report{Removed: []string{"all others"}}, nil
}

// leavesOut is a Selector that leaves out a worker.
func leavesOut(id string) routing.Selector {
	return routing.SelectorFunc(func(all []routing.Candidate, need routing.Need) []routing.Candidate {
		return slices.DeleteFunc(research.Everyone{}.Select(all, need), func(c routing.Candidate) bool { return c.ID == id })
	})
}

// least is a Scorer: the article is as good as its worst mark.
func least(marks grading.Marks) (float64, error) {
	score := 1.0
	for _, m := range marks {
		if !(m.Value >= 0 && m.Value <= 1) {
			return 0, errBoom
		}
		score = min(score, m.Value)
	}
	return score, nil
}

// rising accepts a score only if the one before was lower.
func rising(s grading.Standing) grading.Verdict {
	if len(s.Before) > 0 && s.Score > s.Before[len(s.Before)-1] {
		return grading.Complete
	}
	return grading.Continue
}

// firstMade is a Ranker: what was made first is the best.
func firstMade(entries []grading.Ranked) []grading.Ranked { return entries }

// seams has, for each rule, a host's own that changes the outcome.
var seams = []struct {
	name    string
	usual   string // the text without the rule
	project func() project
	set     func(p *project)
	status  orchestrator.Status
	result  string
	tasks   int
}{
	{"Optimiser", "one", func() project { return three(0.9) }, func(p *project) {
		p.cfg.Rules.Optimiser = research.OptimiserFunc(onlyWriting)
	}, orchestrator.Completed, "one", 1},
	{"Selector", "one", func() project { return three(0.9) }, func(p *project) {
		p.cfg.Rules.Selector = leavesOut("editor")
	}, orchestrator.Completed, "one", 2},
	{"Grader", "one", func() project { return three(0.9) }, func(p *project) {
		p.cfg.Rules.Grader, p.cfg.Rules.Scorer = jury{}, verve
		p.cast["juror"] = []any{agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			return agent.Response{Text: map[string]string{"one": "poor", "two": "splendid"}[req.Prompt]}, nil // 0.4, 0.8
		})}
	}, orchestrator.Completed, "two", 6},
	{"Scorer", "one", func() project {
		p := three(0.9)
		p.cast["supervisor"] = byIteration(map[string]any{"article": 0.9, "source": 0.9, "factual": 0.9, "writing": 0.7}, marks(0.9))
		return p
	}, func(p *project) { p.cfg.Rules.Scorer = grading.ScorerFunc(least) }, orchestrator.Completed, "two", 6},
	{"Gate", "one", func() project { return three(0.81, 0.85) }, func(p *project) {
		p.cfg.Rules.Gate = grading.GateWith(rising)
	}, orchestrator.Completed, "two", 6},
	{"Ranker", "> Partial result: quality 0.70, wanted 0.80; max iterations reached.\n\ntwo", func() project {
		p := three(0.6, 0.7)
		p.cfg.Policy.Iterations = 2
		return p
	}, func(p *project) {
		p.cfg.Rules.Ranker = grading.RankerFunc(firstMade)
	}, orchestrator.Partial, "> Partial result: quality 0.60, wanted 0.80; max iterations reached.\n\none", 6},
	{"Retrier", "", func() project {
		p := three(0.9)
		p.cast["article_writer"] = []any{errBoom}
		p.cast["stand_in"] = []any{research.Draft{Content: "of another"}}
		return p
	}, func(p *project) { p.cfg.Rules.Retrier = substitute{} }, orchestrator.Completed, "of another", 3},
	{"Permit", "one", func() project { return three(0.9) }, func(p *project) {
		p.cfg.Rules.Permit = orchestrator.AskFirst{Moves: func(m orchestrator.Move) bool { return m.Event == "optimized" }}
	}, orchestrator.Failed, "", 0},
	{"Admit", "one", func() project { return three(0.9) }, func(p *project) {
		p.cfg.Rules.Admit = func(research.Input) error { return errBoom }
	}, orchestrator.Failed, "", 0},
}

// A host replaces each rule, and its run ends the same wherever it is killed.
func TestSeams(t *testing.T) {
	t.Parallel()
	for _, tt := range seams {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			usual := tt.project().play(t).out
			assert.Equal(t, tt.usual, usual.Result())
			p := tt.project()
			tt.set(&p)
			c, _ := p.open(t)
			c.Answers, c.Quick = map[string]any{"permit/run/optimized": false}, !roundtest.All()
			out, _, err := c.Run(t)
			assert.Equal(t, tt.status, out.Status, "%v", err)
			assert.Equal(t, tt.result, out.Result())
			assert.Len(t, out.Course.Tasks, tt.tasks)
			if tt.name == "Admit" { // a function
				c.Sweep(t)
				return
			}
			flowtest.Rules(t, func() research.Config {
				p := tt.project()
				tt.set(&p)
				p.cfg.Workers = research.Catalogue()
				return p.cfg
			}, research.New, c)
		})
	}
}

// A rule that fails, panics or answers out of its range fails the run, and is a warning.
func TestRulesThatFail(t *testing.T) {
	t.Parallel()
	optimiser := func(change func(p *research.Plan) error) research.Rules {
		return research.Rules{Optimiser: research.OptimiserFunc(func(p research.Plan, _ research.Room, _ []research.Worker) (research.Plan, research.Report, error) {
			p.Steps = slices.Clone(p.Steps)
			return p, research.Report{}, change(&p)
		})}
	}
	selector := func(pick func(all []routing.Candidate) []routing.Candidate) research.Rules {
		return research.Rules{Selector: routing.SelectorFunc(func(all []routing.Candidate, _ routing.Need) []routing.Candidate { return pick(all) })}
	}
	grader := func(g research.Grade, err error) research.Rules {
		return research.Rules{Grader: orchestrator.GradeWith(func(*orchestrator.Context, research.Work) (research.Grade, error) { return g, err })}
	}
	scorer := func(score float64, err error) research.Rules {
		return research.Rules{Scorer: grading.ScorerFunc(func(grading.Marks) (float64, error) { return score, err })}
	}
	gate := func(v grading.Verdict) research.Rules {
		return research.Rules{Gate: grading.GateWith(func(grading.Standing) grading.Verdict { return v })}
	}
	ranker := func(rank func(all []grading.Ranked) []grading.Ranked) research.Rules {
		return research.Rules{Ranker: grading.RankerFunc(rank)}
	}
	retrier := func(again orchestrator.Again) research.Rules {
		return research.Rules{Retrier: orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again { return again })}
	}
	for _, tt := range []struct {
		name, who, phase, says string
		rules                  research.Rules
		article                string // what there is nevertheless
	}{
		{"an Optimiser errs", "planner", "STRATEGY", "Rules.Optimiser: boom", optimiser(func(*research.Plan) error { return errBoom }), ""},
		{"an Optimiser panics", "planner", "STRATEGY", "panicked: oh", optimiser(func(*research.Plan) error { panic("oh") }), ""},
		{"an Optimiser makes up a worker", "planner", "STRATEGY", `"ghost", which is no worker`, optimiser(func(p *research.Plan) error {
			p.Steps[0].Workers = []string{"ghost"}
			return nil
		}), ""},
		{"an Optimiser has no number", "planner", "STRATEGY", "complexity is NaN, want 0 to 1", optimiser(func(p *research.Plan) error {
			p.Complexity = math.NaN()
			return nil
		}), ""},
		{"an Optimiser gives time back", "planner", "STRATEGY", "steps[0].estTime is -1ns, want 0 or more", optimiser(func(p *research.Plan) error {
			p.Steps[0].EstTime = -1
			return nil
		}), ""},
		{"an Optimiser removes the writer", "planner", "STRATEGY", "critical worker", optimiser(func(p *research.Plan) error {
			p.Steps = p.Steps[:1]
			return nil
		}), ""},
		{"a Selector makes up a worker", "planner", "PLANNING", `"ghost" is no active candidate`, selector(func([]routing.Candidate) []routing.Candidate { return []routing.Candidate{{ID: "ghost"}} }), ""},
		{"a Selector chooses twice", "planner", "PLANNING", "chosen twice", selector(func(all []routing.Candidate) []routing.Candidate { return append(all, all[0]) }), ""},
		{"a Selector leaves out the writer", "planner", "PLANNING", "no critical writer", selector(func(all []routing.Candidate) []routing.Candidate { return all[:1] }), ""},
		{"a Grader panics", "supervisor", "EVALUATING", "panicked: oh", research.Rules{Grader: orchestrator.GradeWith(func(*orchestrator.Context, research.Work) (research.Grade, error) { panic("oh") })}, "one"},
		{"RA30 RX7 a Grader marks out of range", "supervisor", "EVALUATING", `the mark "x" is 90, want 0 to 1`, grader(research.Grade{Marks: grading.Marks{{Name: "x", Value: 90}}}, nil), "one"},
		{"a Grader marks the whole", "supervisor", "EVALUATING", `"overall", which the score has`, grader(research.Grade{Marks: grading.Marks{{Name: "overall", Value: 1}}}, nil), "one"},
		{"a Scorer errs", "supervisor", "EVALUATING", "Rules.Scorer: boom", scorer(0, errBoom), "one"},
		{"a Scorer goes too high", "supervisor", "EVALUATING", "it is 1.1, want 0 to 1", scorer(1.1, nil), "one"},
		{"a Scorer returns no number", "supervisor", "EVALUATING", "it is NaN", scorer(math.NaN(), nil), "one"},
		{"a Gate makes up a verdict", "supervisor", "EVALUATING", `it is "MAYBE", want one of`, gate("MAYBE"), "one"},
		{"a Ranker loses an entry", "supervisor", "EVALUATING", "leaves out", ranker(func([]grading.Ranked) []grading.Ranked { return nil }), "one"},
		{"a Ranker repeats an entry", "supervisor", "EVALUATING", "not given, or twice", ranker(func(all []grading.Ranked) []grading.Ranked { return append(all, all...) }), "one"},
		{"a Retrier names nobody", "editor", "EXECUTING", "nobody", retrier(orchestrator.Again{Retry: true, Agent: "nobody"}), "one"},
		{"a Permit panics", "run", "INITIALIZED", "panicked: oh", research.Rules{Permit: orchestrator.PermitFunc(func(*orchestrator.Context, orchestrator.Move) error { panic("oh") })}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := three(0.9)
			p.cast["editor"] = []any{errBoom} // optional: without the fault the run completes
			p.cfg.Rules = tt.rules
			got := p.play(t)
			require.ErrorIs(t, got.err, research.ErrRule)
			require.ErrorContains(t, got.err, tt.says)
			assert.Equal(t, orchestrator.Failed, got.out.Status)
			assert.Equal(t, "RuleError", got.out.Failure.Type)
			assert.Equal(t, tt.phase, got.out.Failure.Phase)
			warning := got.warning(t, string(research.ErrRule))
			assert.Equal(t, tt.who, warning.Who)
			assert.Contains(t, warning.Message, tt.says)
			if tt.article != "" {
				require.NotNil(t, got.out.Article, "what was written is kept")
				assert.Contains(t, got.out.Article.Content, tt.article)
			}
			assert.Equal(t, strings.Contains(tt.name, "a Ranker") || strings.Contains(tt.name, "a Gate"), got.out.Score != nil, "what was graded keeps its grade")
		})
	}
	t.Run("a rule that fails in the second iteration keeps the first", func(t *testing.T) {
		p := three(0.6)
		p.cfg.Rules.Gate = grading.GateWith(func(s grading.Standing) grading.Verdict {
			if s.Try > 1 {
				panic("oh")
			}
			return grading.Continue
		})
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrRule)
		assert.InDelta(t, 0.6, *got.out.Score, 0)
		assert.Len(t, got.out.Course.History, 2)
	})
	t.Run("a worker whose own team has a broken rule is a worker that fails", func(t *testing.T) {
		p := three(0.9)
		p.cast["editor"] = []any{&agent.Error{Message: "their gate", Codes: []agent.Code{research.ErrRule, "permanent"}}}
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Completed, got.out.Status)
		assert.NotContains(t, got.codes(), string(research.ErrRule))
	})
	t.Run("an Optimiser may refuse a plan", func(t *testing.T) {
		p := three(0.9)
		p.cfg.Rules = optimiser(func(*research.Plan) error { return research.ErrInvalidPlan })
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrInvalidPlan)
		require.NotErrorIs(t, got.err, research.ErrRule)
	})
	t.Run("a Grader that fails twice leaves the work ungraded", func(t *testing.T) {
		p := three(0.9)
		asked := 0
		p.cfg.Rules.Grader = orchestrator.GradeWith(func(c *orchestrator.Context, work research.Work) (research.Grade, error) {
			if asked++; asked == 1 {
				return research.Grade{}, errBoom
			}
			return research.BySupervisor{}.Grade(c, work)
		})
		assert.Equal(t, orchestrator.Completed, p.play(t).out.Status)
		p.cfg.Rules = grader(research.Grade{}, errBoom)
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, orchestrator.Partial, got.out.Status)
		assert.Equal(t, "iteration 1 was not graded: boom", got.warning(t, "research/ungraded").Message)
	})
	t.Run("a Grader may find work that cannot be graded", func(t *testing.T) {
		p := three(0.9)
		for feedback, want := range map[string]string{"the file is empty": "the file is empty", "": "the Grader gave no marks"} {
			p.cfg.Rules = grader(research.Grade{Feedback: feedback}, nil)
			got := p.play(t)
			require.NoError(t, got.err)
			assert.Equal(t, orchestrator.Partial, got.out.Status)
			assert.Equal(t, "iteration 1 was not graded: "+want, got.warning(t, "research/ungraded").Message)
		}
	})
	t.Run("a Gate ends the work early, and none goes on after the last iteration", func(t *testing.T) {
		p := three(0.6)
		p.cfg.Rules = gate(grading.ForceComplete)
		got := p.play(t)
		require.NoError(t, got.err)
		assert.Contains(t, got.warned(), "Quality 0.60 below target 0.80, but the gate ended the work after iteration 1")
		p.cfg.Rules = gate(grading.Continue)
		got = p.play(t)
		require.NoError(t, got.err)
		assert.Equal(t, 3, got.out.Metrics.Iterations)
		assert.Contains(t, got.codes(), "research/max-iterations")
	})
	t.Run("a Retrier stops at 100 tries", func(t *testing.T) {
		p := three(0.9)
		p.cfg.Rules = retrier(orchestrator.Again{Retry: true})
		p.cast["editor"] = []any{errBoom}
		assert.Equal(t, orchestrator.MaxTries, p.play(t).task(t, "editor").Attempts)
	})
}

// What rules get is a copy: to write to it changes nothing.
func TestRulesGetCopies(t *testing.T) {
	t.Parallel()
	want := three(0.6, 0.7, 0.5).play(t)
	require.NoError(t, want.err)
	p := three(0.6, 0.7, 0.5)
	p.cfg.Rules = research.Rules{
		Optimiser: research.OptimiserFunc(func(p research.Plan, within research.Room, workers []research.Worker) (research.Plan, research.Report, error) {
			got, report, err := research.BestFit{}.Optimise(p, within, workers)
			p.Steps[0].Workers[0], workers[0].Timeout, workers[0].Produces[0] = "ghost", 1, "dust"
			return got, report, err
		}),
		Selector: routing.SelectorFunc(func(all []routing.Candidate, need routing.Need) []routing.Candidate {
			chosen := research.Everyone{}.Select(all, need)
			all[0].Skills[0], need.Skills[0] = "dust", "dust"
			return chosen
		}),
		Grader: orchestrator.GradeWith(func(c *orchestrator.Context, work research.Work) (research.Grade, error) {
			grade, err := research.BySupervisor{}.Grade(c, work)
			*work.Input.MinQuality, work.Sources[0].Title, work.Results.Writing[0].Worker, work.Results.Writing[0].Payload[2] = 0.01, "dust", "ghost", 'x'
			return grade, err
		}),
		Scorer: grading.ScorerFunc(func(marks grading.Marks) (float64, error) {
			score, err := grading.DefaultFacets.Score(marks)
			marks[0].Value = 0.01
			return score, err
		}),
		Ranker: grading.RankerFunc(func(entries []grading.Ranked) []grading.Ranked {
			ranked := research.Best{}.Rank(entries)
			for i := range entries {
				*entries[i].Score, entries[i].Marks[0].Value = 0.01, 0.01
			}
			return ranked
		}),
		Admit: func(in research.Input) error {
			*in.MinQuality = 0.01
			return nil
		},
	}
	got := p.play(t)
	require.NoError(t, got.err)
	want.out.ExecutionID, want.out.Elapsed, want.out.Metrics.Duration = got.out.ExecutionID, got.out.Elapsed, got.out.Metrics.Duration
	assert.Equal(t, want.out, got.out)
}

// Each move that a Permit is asked about, allowed and refused.
func TestPermits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		event, from, to string
		nth             int
		scores          []float64
		article         string // what there is after a refusal
	}{
		{"start", "initialized", "planning", 1, []float64{0.9}, ""},
		{"planned", "planning", "strategy", 1, []float64{0.9}, ""},
		{"planned", "planning", "strategy", 2, []float64{0.6, 0.9}, "one"},
		{"optimized", "strategy", "executing", 1, []float64{0.9}, ""},
		{"accept", "evaluating", "merging", 1, []float64{0.9}, "one"},
		{"force", "evaluating", "merging", 1, []float64{0.5, 0.6, 0.7}, "three"},
		{"revise", "evaluating", "re_planning", 1, []float64{0.6, 0.9}, "one"},
	} {
		t.Run(tt.event, func(t *testing.T) {
			want := orchestrator.Move{Path: "run", From: tt.from, Event: tt.event, To: tt.to, Nth: tt.nth}
			p := three(tt.scores...)
			p.cfg.Rules.Permit = orchestrator.AskFirst{Moves: func(m orchestrator.Move) bool { return m == want }}
			c, _ := p.open(t)
			c.Answers = map[string]any{want.Key(): true}
			out, _, err := c.Run(t)
			require.NoError(t, err)
			require.NotNil(t, out.Article)

			c.Answers, c.Quick = map[string]any{want.Key(): false}, true
			out, _, err = c.Run(t)
			require.ErrorIs(t, err, research.ErrNotPermitted)
			require.ErrorIs(t, err, orchestrator.ErrNotPermitted)
			assert.Equal(t, orchestrator.Failed, out.Status)
			assert.Equal(t, "NotPermittedError", out.Failure.Type)
			at := slices.IndexFunc(out.Warnings, func(w orchestrator.Warning) bool { return w.Code == string(research.ErrNotPermitted) })
			require.GreaterOrEqual(t, at, 0)
			assert.Equal(t, "run", out.Warnings[at].Who)
			if tt.article == "" {
				assert.Nil(t, out.Article)
			} else {
				assert.Contains(t, out.Result(), tt.article, "what was written is kept")
			}
			c.Sweep(t)
		})
	}
	t.Run("the end of a run that fails is not asked about", func(t *testing.T) {
		p := three(0.9)
		p.cast["article_writer"] = []any{errBoom}
		var asked []string
		p.cfg.Rules.Permit = orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
			asked = append(asked, m.Event)
			return nil
		})
		require.ErrorIs(t, p.play(t).err, research.ErrWorker)
		assert.Equal(t, []string{"start", "planned", "optimized"}, asked)
	})
}

// The rules that a team has without a host's hold what is wanted of rules.
func TestDefaultRules(t *testing.T) {
	t.Parallel()
	c, _ := three(0.9).open(t)
	c.Quick = !roundtest.All()
	flowtest.Rules(t, func() research.Config {
		return research.Config{Workers: research.Catalogue(), Rules: research.DefaultRules()}
	}, research.New, c)
}

// A rule in JSON is the fields of its default, over the default's values.
func TestRulesJSON(t *testing.T) {
	var r research.Rules
	require.NoError(t, json.Unmarshal([]byte(`{"retrier":{"max":5,"wait":"0s"},"ranker":{"latest":true},"scorer":{"verve":1},"gate":{}}`), &r))
	assert.Equal(t, research.Rules{
		Retrier: orchestrator.Attempts{Max: 5, Factor: 2, Final: true}, Ranker: research.Best{Latest: true},
		Scorer: grading.Weighted{"verve": 1}, Gate: grading.Rounds{},
	}, r)
	_, err := json.Marshal(research.Rules{Gate: grading.GateWith(rising)})
	require.ErrorContains(t, err, "Rules.Gate is the program's own")
}

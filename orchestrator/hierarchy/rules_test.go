package hierarchy_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
)

// poets are two departments. The poet needs 65 and gets 58, then 72; the bard needs 60 and
// gets 87. So words has 60 + 0.4 * 79.5 = 91.8, and sums, whose head works alone, 85.
func poets(rules hierarchy.Rules) hierarchy.Config {
	words := hierarchy.NewDepartment("words", "editor", specialist("poet", 65), specialist("bard", 60))
	words.Keywords, words.Priority = map[string]int{"poem": 80}, 1
	sums := hierarchy.NewDepartment("sums", "clerk")
	sums.Keywords, sums.DependsOn = map[string]int{"poem": 40}, []string{"words"}
	return hierarchy.Config{Departments: []hierarchy.Department{words, sums}, Rules: rules}
}

// troupe are the agents of poets: the editor grades by what a work says.
func troupe(testing.TB) agent.Roster {
	says := func(answer func(req agent.Request) string) agent.Agent {
		return agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
			return agent.Response{Text: answer(req)}, nil
		})
	}
	lead := func(req agent.Request) string {
		_, output, _ := strings.Cut(req.Prompt, "Its output")
		figures := map[string]float64{"first": .58, "second": .72, "song": .87, "strong": .95}
		for work, x := range figures {
			switch {
			case req.Output == nil || !strings.Contains(output, work):
			case strings.Contains(string(req.Output), "rhyme"):
				return fmt.Sprintf(`{"rhyme": %v, "metre": %v}`, x, 1-x)
			default:
				return fmt.Sprintf(`{"quality": %v, "relevance": %v, "consistency": %v}`, x, x, x)
			}
		}
		return "the whole"
	}
	return agent.Roster{
		"poet": says(func(req agent.Request) string {
			if strings.Contains(req.Prompt, "earlier work") {
				return "second"
			}
			return "first"
		}),
		"bard":   says(func(agent.Request) string { return "song" }),
		"strong": says(func(req agent.Request) string { return "strong after: " + req.Prompt }),
		"guide":  says(func(agent.Request) string { return `{"relevances": [{"id": "sums", "relevance": 0.9}]}` }),
		"editor": says(lead), "clerk": says(lead),
	}
}

// sum is an outcome in a line.
func sum(out hierarchy.Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", out.Route.Primary)
	for _, r := range out.Reports {
		fmt.Fprintf(&b, " %s %s %g", r.DepartmentID, r.Basis, r.RawQuality)
		for _, s := range r.Specialists {
			fmt.Fprintf(&b, ", %s %s", s.AgentID, s.ReviewStatus)
			for _, a := range s.Attempts {
				fmt.Fprintf(&b, " %s%g", a.Agent, a.Score)
			}
		}
		b.WriteString(";")
	}
	if out.Score != nil {
		fmt.Fprintf(&b, " %g", *out.Score)
	}
	return b.String()
}

func recital(t *testing.T, cfg hierarchy.Config) *flowtest.Case[hierarchy.Input, hierarchy.Outcome] {
	t.Helper()
	flow, err := hierarchy.New(cfg)
	require.NoError(t, err)
	return flowtest.New(flow, hierarchy.Input{Prompt: "a detailed poem", History: map[string][]float64{"poet": {90}}}, troupe)
}

// upgrade has a stronger agent make the second try, on a clean page.
type upgrade struct{}

func (upgrade) Agents() []string { return []string{"strong"} }

func (upgrade) Next(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
	last := tries[len(tries)-1]
	return orchestrator.Again{
		Retry: of.Role == "specialist" && of.Group == "words" && of.Max == 4, After: time.Second, Agent: "strong", Fresh: true,
		Feedback: fmt.Sprintf("%s of %s got %g: %s.", of.ID, last.Agent, *last.Score, last.Decision),
	}
}

// seams replaces each rule by one that changes the outcome.
var seams = map[string]struct {
	rules func(r *hierarchy.Rules)
	want  string
}{
	"Router": {func(r *hierarchy.Rules) {
		r.Router = orchestrator.RouteBy(routing.RouterFunc(func(_ string, targets []routing.Target) (routing.Route, error) {
			return routing.Route{Primary: targets[1].ID}, nil
		}))
	}, "sums: sums head-only 85; 85"},
	"Router by a model": {func(r *hierarchy.Rules) { r.Router = orchestrator.ByAgent{Name: "guide", Cut: 0.3} }, "sums: sums head-only 85; 85"},
	"Analyzer": {func(r *hierarchy.Rules) {
		r.Analyzer = routing.AnalyzerFunc(func(string, []string) routing.Analysis { return routing.Analysis{Complexity: routing.Simple} })
	}, "words: words head-only 85; sums head-only 85; 85"},
	"Selector": {func(r *hierarchy.Rules) {
		r.Selector = routing.SelectorFunc(func(all []routing.Candidate, _ routing.Need) []routing.Candidate { return all[min(1, len(all)):] })
	}, "words: words specialists 94.8, bard approved 87; sums head-only 85; 91.533333"},
	"Threshold": {func(r *hierarchy.Rules) {
		r.Threshold = grading.ThresholdFunc(func(of grading.Subject, history []float64) float64 {
			return *of.Own - 10 + float64(len(history))
		})
	}, "words: words specialists 89, bard approved 87, poet revision-needed 58; sums head-only 85; 87.666667"},
	"Retrier": {
		func(r *hierarchy.Rules) { r.Retrier = upgrade{} },
		"words: words specialists 96.4, bard approved 87, poet approved 58 strong95; sums head-only 85; 92.6",
	},
	"Grader": {func(r *hierarchy.Rules) {
		r.Grader = orchestrator.GradeWith(func(c *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
			g, err := hierarchy.HeadGrader.Grade(c, w)
			return hierarchy.Grade{Score: new(100 * math.Sqrt(g.Marks["quality"]))}, err
		})
	}, "words: words specialists 93.886304, bard approved 93.273791, poet approved 76.157731; sums head-only 85; 90.924203"},
	"Gates.Attempt": {
		func(r *hierarchy.Rules) { r.Gates.Attempt = grading.Hysteresis{Bands: grading.DefaultBands, Extra: 15} },
		"words: words specialists 91.8, bard approved 87, poet revision-needed 58 72 72 72; sums head-only 85; 89.533333",
	},
	"Gates.Review": {func(r *hierarchy.Rules) {
		r.Gates.Review = grading.GateWith(func(s grading.Standing) grading.ReviewStatus {
			if s.Try > 1 && slices.Equal(s.Before, []float64{58}) {
				return grading.Rejected
			}
			return grading.Approved
		})
	}, "words: words specialists 61.8, bard approved 87, poet rejected 58 72; sums head-only 85; 69.533333"},
	"Scores.Output": {
		func(r *hierarchy.Rules) { r.Scores.Output = grading.Weighted{"rhyme": 3, "metre": 1} },
		"words: words specialists 55.9, bard revision-needed 68.5, poet rejected 54 61 61 61; sums head-only 85; 65.6",
	},
	"Scores.Staff": {func(r *hierarchy.Rules) {
		r.Scores.Staff = grading.ScorerFunc(func(m grading.Marks) (float64, error) { return min(m[0].Value, m[1].Value), nil })
	}, "words: words specialists 72, bard approved 87, poet revision-needed 58 72; sums head-only 85; 76.333333"},
	"Scores.Overall": {func(r *hierarchy.Rules) {
		r.Scores.Overall = grading.ScorerFunc(func(m grading.Marks) (float64, error) { return m[1].Value, nil })
	}, "words: words specialists 91.8, bard approved 87, poet revision-needed 58 72; sums head-only 85; 85"},
	"Permit": {func(r *hierarchy.Rules) {
		r.Permit = orchestrator.AskFirst{Moves: func(m orchestrator.Move) bool { return m.Path == "dept/words/spec/poet" && m.Nth == 2 }}
	}, "words: words specialists 59, bard approved 87, poet rejected 58; sums head-only 85; 67.666667"},
}

func TestSeams(t *testing.T) {
	t.Run("the defaults", func(t *testing.T) {
		out, _, err := recital(t, poets(hierarchy.Rules{})).Run(t)
		require.NoError(t, err)
		assert.Equal(t, "words: words specialists 91.8, bard approved 87, poet revision-needed 58 72; sums head-only 85; 89.533333", sum(out))
		same, _, err := recital(t, poets(hierarchy.DefaultRules())).Run(t)
		require.NoError(t, err)
		assert.Equal(t, sum(out), sum(same))
	})
	t.Run("each is in the table", func(t *testing.T) {
		var names func(group reflect.Type, path string)
		names = func(group reflect.Type, path string) {
			for f := range group.Fields() {
				switch {
				case f.Type.Kind() == reflect.Interface:
					assert.Contains(t, seams, path+f.Name)
				case f.Type.Kind() == reflect.Struct && !f.Anonymous:
					names(f.Type, path+f.Name+".")
				}
			}
		}
		names(reflect.TypeFor[hierarchy.Rules](), "")
	})
	t.Run("they stand flowtest's checks", func(t *testing.T) {
		c := recital(t, poets(hierarchy.Rules{}))
		c.Quick = !roundtest.All()
		flowtest.Rules(t, func() hierarchy.Config { return poets(hierarchy.DefaultRules()) }, hierarchy.New, c)
	})
	for name, tt := range seams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rules hierarchy.Rules
			tt.rules(&rules)
			c := recital(t, poets(rules))
			c.Answers = map[string]any{"permit/dept/words/spec/poet/start/2": false}
			out, _, err := c.Run(t)
			require.NoError(t, err)
			assert.Equal(t, tt.want, sum(out))
			if name == "Gates.Review" {
				assert.Equal(t, "the review rejected score 72", out.Reports[0].Specialists[1].ReviewNotes)
			}
			c.Quick = true // TestEnds has all faults
			c.Sweep(t)
			c.Determinism(t)
		})
	}
}

// A rule that fails, panics or answers out of its range has its code up to the error of the
// run and in a warning that says whose work needed it.
func TestRulesThatFail(t *testing.T) {
	no := errors.New("no")
	score := func(float64) grading.Scorer {
		return grading.ScorerFunc(func(grading.Marks) (float64, error) { return math.NaN(), nil })
	}
	for name, tt := range map[string]struct {
		rules func(r *hierarchy.Rules)
		who   string
		says  string
	}{
		"Router": {func(r *hierarchy.Rules) {
			r.Router = orchestrator.RouterFunc(func(*orchestrator.Context, string, []routing.Target) (routing.Route, error) {
				return routing.Route{}, no
			})
		}, "run", "Rules.Router: no"},
		"Router out of range": {func(r *hierarchy.Rules) {
			r.Router = orchestrator.RouterFunc(func(*orchestrator.Context, string, []routing.Target) (routing.Route, error) {
				return routing.Route{Primary: "words", Relevances: []routing.Relevance{{ID: "words", Relevance: 1.5}}}, nil
			})
		}, "run", `Rules.Router: relevance of "words" is 1.5, want 0 to 1`},
		"Router without a number": {func(r *hierarchy.Rules) {
			r.Router = orchestrator.RouterFunc(func(*orchestrator.Context, string, []routing.Target) (routing.Route, error) {
				return routing.Route{Primary: "words", Relevances: []routing.Relevance{{ID: "words", Relevance: math.NaN()}}}, nil
			})
		}, "run", `Rules.Router: relevance of "words" is NaN, want 0 to 1`},
		"Analyzer": {func(r *hierarchy.Rules) {
			r.Analyzer = routing.AnalyzerFunc(func(string, []string) routing.Analysis { return routing.Analysis{Complexity: "odd", Estimate: -1} })
		}, "words", `Rules.Analyzer: its complexity is "odd" and its estimate -1, want simple, moderate or complex, and 0 or more`},
		"Selector": {func(r *hierarchy.Rules) {
			r.Selector = routing.SelectorFunc(func(all []routing.Candidate, _ routing.Need) []routing.Candidate { return append(all, all[0]) })
		}, "words", `Rules.Selector: "poet" is chosen twice`},
		"Selector, too many": {func(r *hierarchy.Rules) {
			r.Analyzer = routing.Rules{Specialists: routing.SpecialistCount{Complex: 1}}
			r.Selector = routing.SelectorFunc(func(all []routing.Candidate, _ routing.Need) []routing.Candidate { return all })
		}, "words", `Rules.Selector: 2 are chosen, want at most 1`},
		"Threshold": {func(r *hierarchy.Rules) {
			r.Threshold = grading.ThresholdFunc(func(grading.Subject, []float64) float64 { return math.Inf(1) })
		}, "poet", "Rules.Threshold: it is +Inf, want 0 to 100"},
		"Retrier": {func(r *hierarchy.Rules) {
			r.Retrier = orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again { panic("ouch") })
		}, "poet", "Rules.Retrier panicked: ouch"},
		"Retrier, an agent that is not declared": {func(r *hierarchy.Rules) {
			r.Retrier = orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again {
				return orchestrator.Again{Retry: true, Agent: "strong"}
			})
		}, "poet", `Rules.Retrier: Agent is "strong", which is no agent of the flow: the rule's method Agents() []string must name it`},
		"Gates.Attempt": {func(r *hierarchy.Rules) {
			r.Gates.Attempt = grading.GateWith(func(grading.Standing) grading.Decision { return "maybe" })
		}, "poet", `Rules.Gates.Attempt: it is "maybe", want one of ["accept" "revise" "discard"]`},
		"Gates.Review": {func(r *hierarchy.Rules) {
			r.Gates.Review = grading.GateWith(func(grading.Standing) grading.ReviewStatus { panic("ouch") })
		}, "poet", "Rules.Gates.Review panicked: ouch"},
		"Scores.Output":  {func(r *hierarchy.Rules) { r.Scores.Output = score(0) }, "poet", "Rules.Scores.Output: it is NaN, want 0 to 100"},
		"Scores.Staff":   {func(r *hierarchy.Rules) { r.Scores.Staff = score(0) }, "words", "Rules.Scores.Staff: it is NaN, want 0 to 100"},
		"Scores.Overall": {func(r *hierarchy.Rules) { r.Scores.Overall = score(0) }, "run", "Rules.Scores.Overall: it is NaN, want 0 to 100"},
		"Permit": {func(r *hierarchy.Rules) {
			r.Permit = orchestrator.PermitFunc(func(*orchestrator.Context, orchestrator.Move) error { panic("ouch") })
		}, "run", "accept of run: Rules.Permit panicked: ouch"},
	} {
		t.Run(name, func(t *testing.T) {
			var rules hierarchy.Rules
			tt.rules(&rules)
			out, _, err := recital(t, poets(rules)).Run(t)
			require.ErrorIs(t, err, hierarchy.ErrRule)
			require.ErrorIs(t, err, hierarchy.ErrUnable)
			assert.Equal(t, orchestrator.Failed, out.Status)
			assert.Contains(t, out.Warnings, orchestrator.Warning{Code: "hierarchy/rule", Who: tt.who, Message: tt.says})
			if name == "Scores.Output" {
				assert.Equal(t, "not graded: "+tt.says+"; stopped: "+tt.says, out.Reports[0].Specialists[0].ReviewNotes, "no gate saw it")
			}
			if len(out.Reports) > 0 && !strings.HasPrefix(name, "Scores.Overall") {
				assert.Equal(t, hierarchy.DepartmentFailed, out.Reports[0].Status, "no head takes over")
			}
		})
	}
	t.Run("beside a specialist that was refused", func(t *testing.T) {
		out, _, err := recital(t, poets(hierarchy.Rules{
			Gates: hierarchy.Gates{Attempt: grading.GateWith(func(grading.Standing) grading.Decision { return "maybe" })},
			Permit: orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
				if m.Path == "dept/words/spec/bard" { // the first one
					return no
				}
				return nil
			}),
		})).Run(t)
		require.ErrorIs(t, err, hierarchy.ErrRule)
		assert.Equal(t, "bard", out.Reports[0].Specialists[0].AgentID)
		assert.Contains(t, out.Reports[0].Specialists[0].ReviewNotes, "is not permitted")
	})
	t.Run("a partial result", func(t *testing.T) {
		cfg := poets(hierarchy.Rules{Analyzer: routing.AnalyzerFunc(func(_ string, skills []string) routing.Analysis {
			if len(skills) > 0 {
				panic("ouch")
			}
			return routing.Analysis{Complexity: routing.Simple}
		})})
		cfg.Departments[0].Agents[0].Skills, cfg.Departments[1].DependsOn, cfg.Policy.FailOnPartial = []string{"rhyme"}, nil, true
		out, _, err := recital(t, cfg).Run(t)
		require.ErrorIs(t, err, hierarchy.ErrPartial)
		require.ErrorIs(t, err, hierarchy.ErrRule)
		assert.Equal(t, orchestrator.Partial, out.Status)
		assert.Equal(t, hierarchy.DepartmentDone, out.Reports[1].Status, "other departments go on")
	})
}

func TestPermits(t *testing.T) {
	refusing := func(t *testing.T, cfg hierarchy.Config, refused string) (asked []string, out hierarchy.Outcome, err error) {
		t.Helper()
		cfg.Rules.Permit = orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
			asked = append(asked, m.Path+"/"+m.Event)
			if asked[len(asked)-1] == refused {
				return errors.New("not today")
			}
			return nil
		})
		out, _, err = recital(t, cfg).Run(t)
		return asked, out, err
	}
	apart := func() hierarchy.Config { // no department waits for another, and none of words passes
		cfg := poets(hierarchy.Rules{})
		cfg.Departments[1].DependsOn, cfg.Departments[0].Agents[0].PassingThreshold, cfg.Departments[0].Agents[1].PassingThreshold = nil, new(99.0), new(99.0)
		return cfg
	}
	t.Run("each move that begins work is asked about, once a move", func(t *testing.T) {
		asked, _, err := refusing(t, poets(hierarchy.Rules{}), "")
		require.NoError(t, err)
		slices.Sort(asked)
		assert.Equal(t, []string{
			"dept/sums/direct", "dept/sums/ready", "dept/words/ready", "dept/words/some_pass", "dept/words/spawn",
			"dept/words/spec/bard/start", "dept/words/spec/poet/start", "dept/words/spec/poet/start",
			"run/accept", "run/checked_all", "run/combined", "run/routed", "run/some_done", "run/wave_done",
		}, asked)
		asked, out, err := refusing(t, apart(), "dept/sums/ready")
		require.NoError(t, err)
		assert.Contains(t, asked, "dept/words/none_pass")
		assert.Contains(t, asked, "run/checked_part")
		assert.Equal(t, orchestrator.Partial, out.Status)
	})
	for refused, status := range map[string]hierarchy.DepartmentPhase{
		"run/accept": "", "run/routed": "", "run/wave_done": "done", "run/some_done": "done", "run/combined": "done", "run/checked_all": "done",
		"dept/words/ready": "failed", "dept/words/spawn": "failed", "dept/words/some_pass": "failed",
	} {
		t.Run("refused: "+refused, func(t *testing.T) {
			_, out, err := refusing(t, poets(hierarchy.Rules{}), refused)
			require.ErrorIs(t, err, hierarchy.ErrNotPermitted)
			require.ErrorIs(t, err, hierarchy.ErrUnable)
			require.ErrorContains(t, err, "not today")
			assert.Equal(t, orchestrator.Failed, out.Status)
			var got hierarchy.DepartmentPhase
			if len(out.Reports) > 0 {
				got = out.Reports[0].Status
			}
			assert.Equal(t, status, got, "what is done is kept")
			path := strings.Split(refused, "/") // its last but one is the part
			assert.True(t, slices.ContainsFunc(out.Warnings, func(w orchestrator.Warning) bool {
				return w.Code == "hierarchy/not-permitted" && w.Who == path[len(path)-2]
			}))
		})
	}
	t.Run("refused: none_pass and direct", func(t *testing.T) {
		_, out, err := refusing(t, apart(), "dept/words/none_pass")
		require.NoError(t, err)
		assert.Equal(t, hierarchy.DepartmentFailed, out.Reports[0].Status)
		assert.Len(t, out.Reports[0].Specialists, 2)
		_, out, err = refusing(t, apart(), "dept/sums/direct")
		require.NoError(t, err)
		assert.Equal(t, hierarchy.DepartmentFailed, out.Reports[1].Status)
	})
	t.Run("refused: all specialists", func(t *testing.T) {
		cfg := poets(hierarchy.Rules{})
		cfg.Departments[0].Agents = cfg.Departments[0].Agents[:1]
		_, out, err := refusing(t, cfg, "dept/words/spec/poet/start")
		require.ErrorIs(t, err, hierarchy.ErrNotPermitted)
		assert.Equal(t, hierarchy.DepartmentFailed, out.Reports[0].Status, "no head takes over")
	})
	t.Run("the last phase waits for a person", func(t *testing.T) {
		for _, allow := range []bool{true, false} {
			c := recital(t, poets(hierarchy.Rules{Permit: orchestrator.AskFirst{Moves: func(m orchestrator.Move) bool { return m.Event == "combined" }}}))
			c.Answers = map[string]any{"permit/run/combined": allow}
			c.Sweep(t)
			c.Determinism(t)
			out, _, err := c.Run(t)
			assert.Equal(t, allow, err == nil)
			assert.Equal(t, "the whole", hierarchy.Text(out.Output["words"]))
		}
	})
	t.Run("the time is up while a person is asked", func(t *testing.T) {
		cfg := poets(hierarchy.Rules{Permit: orchestrator.PermitFunc(func(c *orchestrator.Context, m orchestrator.Move) error {
			if m.Event == "combined" {
				return c.Sleep(2 * time.Hour)
			}
			return nil
		})})
		cfg.Limits.Time = time.Hour
		out, _, err := recital(t, cfg).Run(t)
		require.ErrorIs(t, err, orchestrator.ErrBudget)
		require.NotErrorIs(t, err, hierarchy.ErrNotPermitted)
		assert.Equal(t, orchestrator.OutOfBudget, out.Status)
		assert.Len(t, out.Output, 2, "what was made is kept")
		assert.Contains(t, out.Warnings, orchestrator.Warning{Code: "hierarchy/budget", Message: "Rules.Permit: budget: the time limit of 1h0m0s is reached"})
	})
}

// retryWith has an agent make two further tries, and keeps the tries that it was told last.
type retryWith struct {
	agent string
	seen  *[]orchestrator.Try
}

func (r retryWith) Agents() []string { return []string{r.agent} }

func (r retryWith) Next(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
	if of.Role == "specialist" {
		*r.seen = slices.Clone(tries)
	}
	return orchestrator.Again{Retry: len(tries) < 3, Agent: r.agent}
}

func TestRetrier(t *testing.T) {
	t.Run("no work is tried more than 100 times", func(t *testing.T) {
		cfg := one(specialist("s", 60))
		cfg.Rules.Retrier = orchestrator.RetrierFunc(func(of orchestrator.Working, _ []orchestrator.Try) orchestrator.Again {
			assert.Equal(t, "specialist", of.Role)
			return orchestrator.Again{Retry: true, Fresh: true}
		})
		p := theater{cfg: cfg, in: request(), cast: cast{"s": {on{"", said("x", 1)}}, "head": {"y"}}}.play(t)
		assert.Len(t, p.asked["s"], orchestrator.MaxTries)
		assert.Equal(t, p.prompt("s", 0), p.prompt("s", 99), "a fresh try is told nothing")
	})
	t.Run("another agent on a clean page, after a wait", func(t *testing.T) {
		c := recital(t, poets(hierarchy.Rules{Retrier: upgrade{}}))
		out, _, err := c.Run(t)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, out.Elapsed, time.Second)
		second := out.Reports[0].Specialists[1].Attempts[1]
		assert.Equal(t, "strong", second.Agent)
		assert.Contains(t, hierarchy.Text(second.Output), "a detailed poem")
		assert.Contains(t, hierarchy.Text(second.Output), "poet of poet got 58: revise.")
		assert.NotContains(t, hierarchy.Text(second.Output), "first")
		assert.NotContains(t, hierarchy.Text(second.Output), "Attempt 1")
	})
	t.Run("a Retrier sees who made each try, and what came of it", func(t *testing.T) {
		cfg := one(specialist("s", 60))
		var seen []orchestrator.Try
		cfg.Rules.Retrier = retryWith{"other", &seen}
		p := theater{cfg: cfg, in: request(), cast: cast{"s": {said("weak", 45)}, "other": {errBoom, said("poor", 10)}, "head": {"whole"}}}.play(t)
		require.NoError(t, p.err)
		require.Len(t, seen, 3)
		require.EqualError(t, seen[1].Err, "boom")
		seen[1].Err = nil
		assert.Equal(t, []orchestrator.Try{
			{Agent: "s", Score: new(45.0), Decision: "revise", Feedback: "Attempt 1 scored 45 of 100, below the threshold of 60. Improve quality, relevance, consistency."},
			{Agent: "other"},
			{Agent: "other", Score: new(10.0), Decision: "discard", Feedback: "Attempt 3 scored 10 of 100, below the threshold of 60. Improve quality, relevance, consistency."},
		}, seen)
	})
	t.Run("advice in place of all feedback", func(t *testing.T) {
		cfg := one(specialist("s", 60))
		cfg.Rules.Retrier = orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
			return orchestrator.Again{Retry: len(tries) < of.Max, Feedback: "Be brief."}
		})
		p := theater{cfg: cfg, in: request(), cast: cast{"s": {said("weak", 50), said("x", 90)}, "head": {"y"}}}.play(t)
		assert.Contains(t, p.prompt("s", 1), "<data name=\"feedback\">\nBe brief.\n</data>")
		assert.Contains(t, p.prompt("s", 1), "weak")
		assert.Equal(t, "Be brief.", p.events(t, hierarchy.EventAttemptStarted)[1].Feedback)
	})
}

func TestGatesAreToldAll(t *testing.T) {
	var tries, reviews []grading.Standing
	th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("a", 30), errBoom, said("b", 70), said("c", 55), said("d", 55)}, "head": {"whole"}}}
	th.cfg.Departments[0].Agents[0].Attempts = 5
	th.cfg.Rules.Gates = hierarchy.Gates{
		Attempt: grading.GateWith(func(s grading.Standing) grading.Decision {
			tries = append(tries, s)
			return grading.Revise
		}),
		Review: grading.GateWith(func(s grading.Standing) grading.ReviewStatus {
			reviews = append(reviews, s)
			return grading.Approved
		}),
	}
	require.NoError(t, th.play(t).err)
	standing := func(score float64, try int, before ...float64) grading.Standing {
		return grading.Standing{
			Of: grading.Subject{ID: "s", Group: "d", Own: new(60.0), Shared: new(80.0)}, Score: score, Threshold: 60, Before: before, Try: try, Most: 5,
		}
	}
	assert.Equal(t, []grading.Standing{standing(30, 1), standing(70, 3, 30), standing(55, 4, 30, 70), standing(55, 5, 30, 70, 55)}, tries)
	assert.Equal(t, []grading.Standing{standing(70, 3, 30)}, reviews, "that of the best try")
}

func TestAnalyzerInRange(t *testing.T) {
	for estimate, fails := range map[int]bool{-1: true, 0: false} {
		th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("x", 90)}, "head": {"whole"}}}
		th.cfg.Rules.Analyzer = routing.AnalyzerFunc(func(string, []string) routing.Analysis {
			return routing.Analysis{Complexity: routing.Complex, Estimate: estimate}
		})
		if delete(th.cast, "s"); fails {
			delete(th.cast, "head")
		}
		p := th.play(t)
		require.Equal(t, fails, errors.Is(p.err, hierarchy.ErrRule), "%v", p.err)
		if fails {
			assert.Equal(t, `Rules.Analyzer: its complexity is "complex" and its estimate -1, want simple, moderate or complex, and 0 or more`, p.out.Warnings[0].Message)
		}
	}
}

func TestBrokenGrader(t *testing.T) {
	t.Run("a Grader that fails is one warning of the specialist", func(t *testing.T) {
		for name, grader := range map[string]orchestrator.Grader[hierarchy.Work, hierarchy.Grade]{
			"Rules.Grader panicked: ouch": orchestrator.GradeWith(func(*orchestrator.Context, hierarchy.Work) (hierarchy.Grade, error) { panic("ouch") }),
			"Rules.Grader: score is 101, want 0 to 100": orchestrator.GradeWith(func(*orchestrator.Context, hierarchy.Work) (hierarchy.Grade, error) {
				return hierarchy.Grade{Score: new(101.0)}, nil
			}),
		} {
			th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {"x"}}}
			th.cfg.Rules.Grader = grader
			p := th.play(t)
			require.ErrorIs(t, p.err, hierarchy.ErrRule)
			assert.Equal(t, []string{"hierarchy/rule", "hierarchy/department-failed"}, p.codes())
			assert.Equal(t, name, p.out.Warnings[0].Message)
			assert.Equal(t, name, p.report(t, "d").Specialists[0].Ungraded)
		}
	})
	t.Run("an earlier try without a grade keeps its warning", func(t *testing.T) {
		th := theater{cfg: one(specialist("s", 60), specialist("z", 60)), in: request(), cast: cast{"s": {"x"}, "z": {"y"}}}
		th.cfg.Rules.Grader = orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
			if w.Agent.ID == "s" {
				return hierarchy.Grade{}, errors.New("no idea")
			}
			panic("ouch")
		})
		assert.Equal(t, []string{"hierarchy/ungraded", "hierarchy/rule", "hierarchy/department-failed"}, th.play(t).codes())
	})
}

func TestOpenMarks(t *testing.T) {
	c := recital(t, poets(hierarchy.Rules{Scores: hierarchy.Scores{Output: grading.Weighted{"rhyme": 3, "metre": 1}}}))
	out, _, err := c.Run(t)
	require.NoError(t, err)
	first := out.Reports[0].Specialists[1].Attempts[0]
	assert.InDeltaMapValues(t, map[string]float64{"rhyme": .58, "metre": .42}, first.Grade.Marks, 1e-9)
	assert.Contains(t, first.Feedback, "Improve metre, rhyme.")
	p := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {"x"}, "head": {`{"style": 0.9}`, "y"}}}
	p.cfg.Rules = hierarchy.Rules{Scores: hierarchy.Scores{Output: grading.Weighted{"style": 1}}}
	shown := p.play(t)
	require.NoError(t, shown.err)
	graded := shown.asked["head"][slices.IndexFunc(shown.asked["head"], func(r agent.Request) bool { return r.Output != nil })]
	assert.Contains(t, graded.Prompt, "Give figures from 0 to 1: style. Add suggestions")
	assert.Contains(t, graded.Prompt, `Answer with JSON alone: {"style": 0.0, "suggestions": []}`)
	assert.Contains(t, string(graded.Output), `"required":["style"]`)
	assert.Equal(t, 90.0, shown.report(t, "d").Specialists[0].Score)
}

func TestRulesInJSON(t *testing.T) {
	cfg := poets(hierarchy.Rules{Gates: hierarchy.Gates{Attempt: grading.Hysteresis{}}, Retrier: upgrade{}})
	_, err := cfg.MarshalJSON()
	require.ErrorContains(t, err, "Rules.Retrier is the program's own and has no JSON\nRules.Gates.Attempt is the program's own and has no JSON")
	require.EqualError(t, cfg.UnmarshalJSON([]byte(`{"rules": {"permit": {}, "router": {"cut": "x"}, "gates": {"attempt": {"margn": 5}}, "scores": {"output": {"a": "x"}}}}`)),
		"rules.router.cut is a JSON string, want a number\nrules.gates.attempt.margn is unknown\nrules.scores.output.a is a JSON string, want a number\nrules.permit is unknown")
}

func TestLimitsOfTheInput(t *testing.T) {
	th := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go", Limits: team.Limits{Calls: orchestrator.None, Estimate: 7}}, cast: cast{"a-head": {"x"}}}
	th.cfg.Limits = team.Limits{Calls: 1, Estimate: 3}
	p := th.play(t)
	require.NoError(t, p.err)
	assert.EqualValues(t, 7, p.asked["a-head"][0].Limits.Estimate)
	th.in.Limits, th.cfg.Limits.Calls, th.cast = team.Limits{Calls: 1}, 9, cast{"a-head": {errBoom}}
	assert.Equal(t, orchestrator.OutOfBudget, th.play(t).out.Status)
}

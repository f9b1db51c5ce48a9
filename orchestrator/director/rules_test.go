package director_test

import (
	"cmp"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

// ruled is a team of three kinds of workers with one place, and three tasks for each.
func ruled(rules director.Rules) script {
	cfg := director.Config{
		Agents: director.Agents{Director: "director", Strategist: "strategist", Guardian: "guardian"},
		Profiles: []director.Profile{
			{ID: "dear", Estimate: providers.Dollars(5), Does: "everything"},
			{ID: "fair", Estimate: providers.Dollars(2), Does: "most"},
			{ID: "cheap", Estimate: providers.Dollars(1), Does: "some"},
		},
		Policy: director.Policy{NoTestPlaceholders: true, ReturnWhenWaiting: true}, Bounds: director.Bounds{Parallel: 1}, Rules: rules,
	}
	task := func(id, profile string) blackboard.Definition {
		return blackboard.Definition{ID: id, Title: "Task " + id, Component: id, Phase: "build", Profile: profile, Criteria: []string{"it is there", "it is good"}}
	}
	return script{cfg: cfg, in: director.Input{Objective: "three texts", Tasks: []blackboard.Definition{task("a", "dear"), task("b", "fair"), task("c", "cheap")}}, roles: map[string]func(asked) any{}}
}

// role sets what members answer to an op.
func (s script) role(op string, answer func(a asked) any) script {
	s.roles[op] = answer
	return s
}

// tasks are those that events of a kind are about, in their order.
func (p played) tasks(t *testing.T, kind team.Kind) (ids []string) {
	t.Helper()
	for _, e := range p.events(t, kind) {
		ids = append(ids, e.Task)
	}
	return ids
}

// byEstimate orders ready tasks by what they cost.
var byEstimate = routing.SchedulerFunc(func(ready []routing.Node, _ routing.Moment) []routing.Node {
	ready = slices.Clone(ready)
	slices.SortStableFunc(ready, func(a, b routing.Node) int { return cmp.Compare(a.Estimate, b.Estimate) })
	return ready
})

// dearest gives further attempts to the dear worker, an hour later.
var dearest = orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
	again := orchestrator.Attempts{}.Next(of, tries)
	if of.Role == "task" {
		again.Agent, again.After, again.Feedback = "dear", time.Hour, "the host says: begin with the dates"
	}
	return again
})

// half passes work of which half of the criteria are met.
var half = grading.GateWith(func(r director.Reviewed) director.ReviewOutcome {
	if 2*r.Met >= r.Criteria {
		return director.OutcomePass
	}
	return director.OutcomeFail
})

// TestRules replaces each rule by one of the host's, which changes what comes out.
func TestRules(t *testing.T) {
	t.Parallel()
	first := func(a asked) any { // the first attempt at c fails its review
		if a.task == "c" && a.attempt == 1 {
			return fail(a.req)
		}
		return nil
	}
	slow := func(a asked) any { // c works in slices, which are checked
		if a.task == "c" && a.slice < 3 {
			return agent.Response{More: true, Messages: messages(20), Usage: providers.Usage{ToolCalls: 20}}
		}
		return nil
	}
	for name, tt := range map[string]struct {
		s     script
		usual func(t *testing.T, p played) // of the team without the rule
		own   func(t *testing.T, p played)
	}{
		"Scheduler": {
			s: ruled(director.Rules{Scheduler: byEstimate}),
			usual: func(t *testing.T, p played) {
				assert.Equal(t, []string{"a", "b", "c"}, p.tasks(t, director.EventTaskDispatched))
			},
			own: func(t *testing.T, p played) {
				assert.Equal(t, []string{"c", "b", "a"}, p.tasks(t, director.EventTaskDispatched))
			},
		},
		"Router": {
			s: func() script {
				s := ruled(director.Rules{Router: orchestrator.RouterFunc(func(_ *orchestrator.Context, request string, targets []routing.Target) (routing.Route, error) {
					if strings.HasPrefix(request, "Task c") {
						return routing.Route{Primary: targets[2].ID}, nil
					}
					return routing.Route{Primary: targets[1].ID}, nil
				})})
				s.in.Tasks[0].Profile, s.in.Tasks[2].Profile = "", ""
				return s
			}(),
			usual: func(t *testing.T, p played) {
				assert.Equal(t, []string{"dear", "fair", "dear"}, []string{p.task(t, "a").Profile, p.task(t, "b").Profile, p.task(t, "c").Profile})
			},
			own: func(t *testing.T, p played) {
				assert.Equal(t, []string{"fair", "fair", "cheap"}, []string{p.task(t, "a").Profile, p.task(t, "b").Profile, p.task(t, "c").Profile})
			},
		},
		"Retrier": {
			s: ruled(director.Rules{Retrier: dearest}).role("qa", first),
			usual: func(t *testing.T, p played) {
				assert.Equal(t, "cheap", p.of("work")[3].agent)
			},
			own: func(t *testing.T, p played) {
				again := p.of("work")[3]
				assert.Equal(t, "dear", again.agent)
				assert.Equal(t, "dear", p.task(t, "c").Agent)
				assert.Contains(t, again.req.History[0].Text, "the host says: begin with the dates")
				assert.NotContains(t, again.req.History[0].Text, "the rule on dates is missing")
				assert.GreaterOrEqual(t, again.at.Sub(p.of("work")[2].at), time.Hour)
			},
		},
		"Gates.Review": {
			s: ruled(director.Rules{Gates: director.Gates{Review: half}}).role("qa", first),
			usual: func(t *testing.T, p played) {
				assert.Equal(t, 2, p.task(t, "c").Attempt)
			},
			own: func(t *testing.T, p played) {
				assert.Equal(t, 1, p.task(t, "c").Attempt)
			},
		},
		"Gates.Guardian": {
			s: ruled(director.Rules{Gates: director.Gates{Guardian: grading.GateWith(func(k director.Conduct) director.Course {
				return director.Course{Verdict: "STALLED", Ends: true}
			})}}).role("work", slow),
			usual: func(t *testing.T, p played) {
				assert.Equal(t, 1, p.task(t, "c").Attempt)
				assert.Equal(t, "ON_TRACK", p.events(t, director.EventCheckFinished)[0].On)
			},
			own: func(t *testing.T, p played) {
				p.is(t, "c WAITING_HUMAN")
				assert.Equal(t, 4, p.task(t, "c").Attempt)
				assert.Equal(t, "no attempt is left, and the last attempt failed: the guardian ended the attempt with the verdict STALLED; ignored nudges: 0", p.task(t, "c").Reason)
			},
		},
		"Gates.Stagnation": {
			s: ruled(director.Rules{Gates: director.Gates{Stagnation: grading.GateWith(func(s director.Setbacks) bool { return s.Row == 1 && s.Replans == 0 })}}).role("qa", failing("c", 2)),
			usual: func(t *testing.T, p played) {
				assert.Empty(t, p.of("replan"))
			},
			own: func(t *testing.T, p played) {
				assert.Len(t, p.of("replan"), 1)
			},
		},
		"Graders.Work": {
			s: ruled(director.Rules{Graders: director.Graders{Work: orchestrator.GradeWith(func(_ *orchestrator.Context, in director.ReviewInput) (director.Review, error) {
				r := director.Review{Passed: len(in.Summary) > 0}
				for _, c := range in.Criteria {
					r.Criteria = append(r.Criteria, director.CriterionAnswer{Number: c.Number, Passed: in.Attempt > 1})
				}
				return r, nil
			})}}),
			usual: func(t *testing.T, p played) {
				assert.Len(t, p.of("qa"), 3)
			},
			own: func(t *testing.T, p played) {
				assert.Empty(t, p.of("qa"))
				assert.Equal(t, 2, p.task(t, "c").Attempt)
			},
		},
		"Graders.Conduct": {
			s: ruled(director.Rules{Graders: director.Graders{Conduct: orchestrator.GradeWith(func(*orchestrator.Context, director.AssessInput) (director.Assessment, error) {
				return director.Assessment{Alignment: 40, Trajectory: "STABLE"}, nil
			})}}).role("work", slow),
			usual: func(t *testing.T, p played) {
				assert.Len(t, p.of("assess"), 2)
				assert.Empty(t, p.events(t, director.EventWorkerNudged))
			},
			own: func(t *testing.T, p played) {
				assert.Empty(t, p.of("assess"))
				assert.Equal(t, "direct", p.events(t, director.EventWorkerNudged)[0].On)
			},
		},
		"Plan": {
			s: ruled(director.Rules{Plan: func(tasks []blackboard.Definition) ([]blackboard.Definition, error) { return tasks[:1], nil }}),
			usual: func(t *testing.T, p played) {
				assert.Len(t, p.out.Board.Tasks, 3)
			},
			own: func(t *testing.T, p played) {
				assert.Len(t, p.out.Board.Tasks, 1)
			},
		},
	} {
		t.Run("BC1 "+name, func(t *testing.T) {
			t.Parallel()
			usual := tt.s
			usual.cfg.Rules = director.Rules{}
			tt.usual(t, usual.play(t))
			tt.own(t, tt.s.play(t))
			tt.s.sweep(t)
		})
	}
}

// ownPlan is a Plan without an error.
func ownPlan(of func([]blackboard.Definition) []blackboard.Definition) func([]blackboard.Definition) ([]blackboard.Definition, error) {
	return func(tasks []blackboard.Definition) ([]blackboard.Definition, error) { return of(tasks), nil }
}

// TestBrokenRules has rules fail: the part that needed them fails with their code.
func TestBrokenRules(t *testing.T) {
	t.Parallel()
	broken := func() { panic("the host's rule is broken") }
	choosing := func(profile string) script {
		s := ruled(director.Rules{Router: orchestrator.RouterFunc(func(*orchestrator.Context, string, []routing.Target) (routing.Route, error) {
			return routing.Route{Primary: profile}, nil
		})}).only("a", "b")
		s.in.Tasks[0].Profile, s.cfg.Profiles[2].Phases = "", []string{"test"}
		return s
	}
	failing := func(a asked) any { return fail(a.req) }
	slow := func(a asked) any {
		if a.slice < 3 {
			return agent.Response{More: true, Messages: messages(20), Usage: providers.Usage{ToolCalls: 20}}
		}
		return nil
	}
	for name, tt := range map[string]struct {
		s    script
		end  director.Phase
		is   string
		rule string
	}{
		"a Scheduler that panics": {
			ruled(director.Rules{Scheduler: routing.SchedulerFunc(func([]routing.Node, routing.Moment) []routing.Node { broken(); return nil })}),
			director.Failed, "a READY, b READY, c READY", "Rules.Scheduler panicked",
		},
		"a Scheduler that starts a task twice": {
			ruled(director.Rules{Scheduler: routing.SchedulerFunc(func(ready []routing.Node, _ routing.Moment) []routing.Node { return append(ready, ready...) })}),
			director.Failed, "a READY", `"a" is not ready, or is there twice`,
		},
		"a Router that chooses nobody":                     {choosing("moon"), director.Failed, "", `"moon" is no target`},
		"a Router that chooses a profile of another phase": {choosing("cheap"), director.Failed, "", `"cheap" is barred`},
		"a Retrier that panics": {
			ruled(director.Rules{Retrier: orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again {
				broken()
				return orchestrator.Again{}
			})}).role("qa", failing),
			director.Waiting, "a WAITING_HUMAN, c WAITING_HUMAN", "Rules.Retrier panicked",
		},
		"a Retrier that names an agent of nobody": {
			ruled(director.Rules{Retrier: orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again {
				return orchestrator.Again{Retry: true, Agent: "moon"}
			})}).role("qa", failing),
			director.Waiting, "a WAITING_HUMAN", `Agent is "moon"`,
		},
		"a gate of reviews that answers out of range": {
			ruled(director.Rules{Gates: director.Gates{Review: grading.GateWith(func(director.Reviewed) director.ReviewOutcome { return "SO-SO" })}}),
			director.Waiting, "a WAITING_HUMAN, b WAITING_HUMAN", `it is "SO-SO"`,
		},
		"a gate of the guardian that panics": {
			ruled(director.Rules{Gates: director.Gates{Guardian: grading.GateWith(func(director.Conduct) director.Course { broken(); return director.Course{} })}}).role("work", slow),
			director.Waiting, "a WAITING_HUMAN", "Gates.Guardian panicked",
		},
		"a gate of the guardian with a verdict of its own": {
			ruled(director.Rules{Gates: director.Gates{Guardian: grading.GateWith(func(director.Conduct) director.Course { return director.Course{Verdict: "FINE"} })}}).role("work", slow),
			director.Waiting, "a WAITING_HUMAN", `its Verdict is "FINE"`,
		},
		"a Plan that panics": {
			ruled(director.Rules{Plan: ownPlan(func([]blackboard.Definition) []blackboard.Definition { broken(); return nil })}),
			director.Failed, "", "Rules.Plan panicked",
		},
		"a Plan that returns nothing": {
			ruled(director.Rules{Plan: ownPlan(func([]blackboard.Definition) []blackboard.Definition { return nil })}),
			director.Failed, "", "Rules.Plan: it returned no tasks",
		},
		"a Plan with a cycle": {
			ruled(director.Rules{Plan: ownPlan(func(tasks []blackboard.Definition) []blackboard.Definition {
				tasks[0].DependsOn, tasks[1].DependsOn = []string{"b"}, []string{"a"}
				return tasks
			})}),
			director.Failed, "", "Rules.Plan: ",
		},
		"a Plan with a risk that is no number": {
			ruled(director.Rules{Plan: ownPlan(func(tasks []blackboard.Definition) []blackboard.Definition {
				tasks[0].Risk = new(math.NaN())
				return tasks
			})}),
			director.Failed, "", "Rules.Plan: ",
		},
		"a Plan with an unknown profile": {
			planned(ruled(director.Rules{Plan: ownPlan(func(tasks []blackboard.Definition) []blackboard.Definition {
				tasks[1].Profile = "moon"
				return tasks
			})})),
			director.Failed, "", `Rules.Plan: tasks[1] "b": assigned_worker_profile is "moon"`,
		},
		"a Grader that panics": {
			ruled(director.Rules{Graders: director.Graders{Work: orchestrator.GradeWith(func(*orchestrator.Context, director.ReviewInput) (director.Review, error) {
				broken()
				return director.Review{}, nil
			})}}),
			director.Waiting, "a WAITING_HUMAN", "Rules.Graders.Work panicked",
		},
		"a Grader that knows another fault": {
			ruled(director.Rules{Graders: director.Graders{Work: orchestrator.GradeWith(func(*orchestrator.Context, director.ReviewInput) (director.Review, error) {
				return director.Review{Tests: []blackboard.TestAnalysis{{Test: "T", Fault: "moon"}}}, nil
			})}}),
			director.Waiting, "a WAITING_HUMAN", `Rules.Graders.Work: tests[0]: fault is "moon"`,
		},
	} {
		t.Run("BC1 "+name, func(t *testing.T) {
			t.Parallel()
			p := tt.s.play(t)
			require.ErrorIs(t, p.err, director.ErrRule)
			require.ErrorContains(t, p.err, tt.rule)
			assert.Equal(t, tt.end, p.out.End)
			i := slices.IndexFunc(p.out.Warnings, func(w orchestrator.Warning) bool { return w.Code == "director/rule" })
			require.GreaterOrEqual(t, i, 0)
			assert.NotEmpty(t, p.out.Warnings[i].Who)
			assert.Contains(t, p.out.Warnings[i].Message, tt.rule)
			if strings.Contains(tt.rule, "Rules.Plan") {
				assert.Equal(t, "Rules.Plan", p.out.Warnings[i].Who)
				assert.Empty(t, p.out.Board.Tasks)
			}
			if tt.is != "" {
				p.is(t, tt.is)
			}
			for _, a := range p.asked {
				assert.Zero(t, strings.Count(a.req.Prompt, "Rules."), "it is handed to no model")
			}
			assert.LessOrEqual(t, len(p.of("qa")), 3, "nor asked for again")
		})
	}
}

// An agent behind a Grader may fail: then there is no review, and the rule is not at fault.
func TestGraderWithoutAGrade(t *testing.T) {
	t.Parallel()
	calls := 0
	p := ruled(director.Rules{Graders: director.Graders{Work: orchestrator.GradeWith(func(*orchestrator.Context, director.ReviewInput) (director.Review, error) {
		calls++
		return director.Review{}, errors.New("no judge is in")
	})}}).play(t)
	require.ErrorIs(t, p.err, director.ErrWaiting)
	require.NotErrorIs(t, p.err, director.ErrRule)
	require.ErrorContains(t, p.err, "it could not be reviewed: no judge is in")
	assert.True(t, p.warned("ungraded"))
	assert.False(t, p.warned("rule"))
	p.is(t, "a WAITING_HUMAN")
	assert.Equal(t, 6, calls, "twice for each of three tasks")
}

// TestHeldBack has a Scheduler leave tasks out.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	t.Run("BC1 all of them: the run is stuck, and is not planned anew", func(t *testing.T) {
		p := ruled(director.Rules{Scheduler: routing.SchedulerFunc(func([]routing.Node, routing.Moment) []routing.Node { return nil })}).play(t)
		require.ErrorIs(t, p.err, director.ErrStuck)
		require.ErrorContains(t, p.err, "the Scheduler holds back all that is READY: a is READY; b is READY; c is READY")
		assert.Equal(t, director.Stuck, p.out.End)
		assert.Empty(t, p.of("replan"))
	})
	t.Run("BC1 it knows the time, and what is under way", func(t *testing.T) {
		var seen []string
		s := ruled(director.Rules{Scheduler: routing.SchedulerFunc(func(ready []routing.Node, at routing.Moment) []routing.Node {
			seen = append(seen, at.Now.UTC().Format(time.DateTime))
			for _, n := range at.Active {
				seen = append(seen, n.ID)
			}
			return ready
		})}).role("work", func(a asked) any {
			return slow{map[string]time.Duration{"a": time.Minute, "b": time.Hour}[a.task], nil}
		})
		s.cfg.Bounds = director.Bounds{Parallel: 2, TaskTime: orchestrator.None}
		require.NoError(t, s.exactly(t).err)
		assert.Equal(t, []string{"2000-01-01 00:00:00", "2000-01-01 00:00:00", "a", "2000-01-01 00:01:00", "b"}, seen)
	})
	t.Run("BC1 one until others are done", func(t *testing.T) {
		s := ruled(director.Rules{Scheduler: routing.SchedulerFunc(func(ready []routing.Node, _ routing.Moment) []routing.Node {
			if len(ready) > 1 {
				return slices.DeleteFunc(slices.Clone(ready), func(n routing.Node) bool { return n.ID == "a" })
			}
			return ready
		})})
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []string{"b", "c", "a"}, p.tasks(t, director.EventTaskDispatched))
	})
}

// A host can name each type of its rules' arguments and answers, and write a value of it.
func TestTypesOfRules(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var look func(of reflect.Type)
	look = func(of reflect.Type) {
		switch of.Kind() { //nolint:exhaustive // all others are made of nothing else
		case reflect.Pointer, reflect.Slice, reflect.Map:
			look(of.Elem())
			return
		case reflect.Func:
			for in := range of.Ins() {
				look(in)
			}
			for out := range of.Outs() {
				look(out)
			}
			return
		}
		own := strings.HasSuffix(of.PkgPath(), "/director")
		if seen[of] || of.PkgPath() != "" && !own && of.Kind() != reflect.Interface {
			return
		}
		seen[of] = true
		if own {
			first, _ := utf8.DecodeRuneInString(of.Name())
			assert.True(t, unicode.IsUpper(first), "BC1 %s", of)
		}
		if of.Kind() == reflect.Struct {
			for field := range of.Fields() {
				look(field.Type)
			}
		}
		if of.Kind() == reflect.Interface {
			for method := range of.Methods() {
				look(method.Type)
			}
		}
	}
	look(reflect.TypeFor[director.Rules]())
	for _, want := range []reflect.Type{reflect.TypeFor[director.Task](), reflect.TypeFor[director.Decision](), reflect.TypeFor[director.Metrics](), reflect.TypeFor[director.Course]()} {
		assert.Contains(t, seen, want)
	}
}

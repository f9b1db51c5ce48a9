package delivery_test

import (
	"errors"
	"fmt"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/routing"
)

// lastFirst orders steps by number, the last one first.
func lastFirst(ready []routing.Node, _ routing.Moment) []routing.Node {
	return slices.SortedFunc(slices.Values(ready), func(a, b routing.Node) int { return b.Number - a.Number })
}

// substitute has another coder make the third try of everything, after a pause, who is only
// told to begin anew.
type substitute struct{ most int }

func (substitute) Agents() []string { return []string{"senior"} }

func (s substitute) Next(_ orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
	next := orchestrator.Again{Retry: len(tries) < s.most}
	if len(tries) == 2 {
		next.Agent, next.After, next.Feedback, next.Fresh = "senior", time.Minute, "begin anew", true
	}
	return next
}

// asking grades by an agent that the team does not know.
type asking struct{}

func (asking) Agents() []string { return []string{"senior"} }

func (asking) Grade(c *orchestrator.Context, work delivery.VerifyInput) (v delivery.Verdict, err error) {
	if _, err = c.Call("senior", agent.Request{Op: delivery.OpPlan, Prompt: work.Goal}); err == nil {
		v = delivery.Verdict{Approved: true, Score: 71, Evidence: []string{string(work.Gate)}}
	}
	return v, err
}

// grades is a Grader with one score.
func grades(score float64) orchestrator.Grader[delivery.VerifyInput, delivery.Verdict] {
	return orchestrator.GradeWith(func(*orchestrator.Context, delivery.VerifyInput) (delivery.Verdict, error) {
		return delivery.Verdict{Approved: true, Score: score, Evidence: []string{"counted"}}, nil
	})
}

// verdicts are the scores of a gate, in order.
func (p played) verdicts(gate string) (scores []float64) {
	for _, v := range p.out.Report.Verdicts {
		if v.Kind == gate {
			scores = append(scores, v.Score)
		}
	}
	return scores
}

// TestRules replaces each rule by one of the host, which changes the outcome, and kills the
// run after every record.
func TestRules(t *testing.T) {
	hard := grading.GateFunc[grading.Standing, grading.Decision](func(s grading.Standing) grading.Decision {
		return grading.Hysteresis{Extra: 25}.Decide(s)
	})
	for _, tt := range []struct {
		name  string
		rules delivery.Rules
		cast  map[string][]any
		err   error
		then  func(t *testing.T, p played)
	}{
		{"Scheduler", delivery.Rules{Scheduler: routing.SchedulerFunc(lastFirst)}, nil, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, "p1.s2: do part 2 of 2", p.out.Course[1].Title)
		}},
		{
			"Allocator",
			delivery.Rules{Allocator: delivery.AllocatorFunc(func(delivery.Timing) delivery.Allocation { return delivery.Allocation{} })},
			nil, delivery.ErrPlanning, func(t *testing.T, p played) {
				t.Helper()
				assert.EqualError(t, p.err, "delivery: planning: planning budget")
				assert.Empty(t, p.asked)
			},
		},
		{"Graders.Plan", delivery.Rules{Graders: delivery.Graders{Plan: grades(71)}}, nil, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []float64{71}, p.verdicts(delivery.GatePlan))
			assert.Empty(t, p.asked["verify plan"])
		}},
		{"Graders.Code", delivery.Rules{Graders: delivery.Graders{Code: grades(62)}}, nil, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []float64{62, 62}, p.verdicts(delivery.GateCode))
		}},
		{"Graders.Test", delivery.Rules{Graders: delivery.Graders{Test: grades(7)}}, nil, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []float64{7, 7, 7}, p.verdicts(delivery.GateTest))
		}},
		{"Graders.Step, which asks an agent", delivery.Rules{Graders: delivery.Graders{Step: asking{}}}, nil, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []float64{71, 71}, p.verdicts(delivery.GateStep))
			assert.Len(t, p.asked["plan"], 3, "the grader asks twice")
		}},
		{"Graders.Goal", delivery.Rules{Graders: delivery.Graders{Goal: grades(99)}}, nil, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.InDelta(t, 99, *p.out.Score, 0)
		}},
		{"Gates.Plan", delivery.Rules{Gates: delivery.Gates{Plan: grading.AtLeast(95)}}, map[string][]any{"plan": {steps(2), steps(3)}, "verify plan": {marks(94), marks(95)}}, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []float64{94, 95}, p.verdicts(delivery.GatePlan))
		}},
		{"Gates.Code, with hysteresis", delivery.Rules{Gates: delivery.Gates{Code: hard}}, map[string][]any{"verify code": {marks(55), marks(84), marks(85)}}, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 3, p.step(t, "p1.s1").Attempts, "84 is less than 60 and 25")
		}},
		{"Gates.Test", delivery.Rules{Gates: delivery.Gates{Test: grading.AtLeast(90)}}, map[string][]any{"verify test": {marks(89)}}, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 1, p.out.State.Metrics.FixCycles)
		}},
		{"Gates.Step", delivery.Rules{Gates: delivery.Gates{Step: grading.AtLeast(95)}}, map[string][]any{"verify step": {marks(94), marks(95), marks(95)}}, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 2, p.step(t, "p1.s1").Attempts)
			assert.Equal(t, []string{"its score of 94 does not pass the gate"}, input[delivery.CodeInput](t, p.asked["code"][1]).Feedback)
		}},
		{"Gates.Goal", delivery.Rules{Gates: delivery.Gates{Goal: grading.AtLeast(10)}}, map[string][]any{"verify goal": {marks(10)}}, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.InDelta(t, 10, *p.out.Score, 0)
		}},
		{"Ladder", delivery.Rules{Ladder: grading.GateWith(func(e delivery.Escalating) delivery.Level {
			return map[bool]delivery.Level{true: delivery.LevelNone, false: delivery.LevelAbort}[e.Passed]
		})}, map[string][]any{"verify code": {marks(59)}}, delivery.ErrAborted, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, delivery.Aborted, p.out.State.Status)
			assert.Len(t, p.asked["code"], 1)
		}},
		{"Retrier of a step", delivery.Rules{Retrier: substitute{3}}, map[string][]any{"verify code": {marks(59), marks(58)}}, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 3, p.step(t, "p1.s1").Attempts)
			in := input[delivery.CodeInput](t, p.asked["code"][2])
			assert.Equal(t, []string{"begin anew"}, in.Feedback)
			assert.Nil(t, in.Previous)
			assert.GreaterOrEqual(t, p.out.Elapsed, time.Minute)
		}},
		{"Retrier of a fix", delivery.Rules{Retrier: substitute{3}}, map[string][]any{"check": {failed, failed}}, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []string{"begin anew"}, input[delivery.CodeInput](t, p.asked["fix"][1]).Fix.Items)
		}},
		{"Retrier of a call", delivery.Rules{Retrier: substitute{3}}, map[string][]any{"code": {errBoom, errBoom}}, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []float64{0, 60}, p.slept(t))
		}},
		{"Retrier of a plan", delivery.Rules{Retrier: substitute{3}}, map[string][]any{"plan": {steps(2), steps(3), steps(4)}, "verify plan": {marks(60), marks(60)}}, nil, func(t *testing.T, p played) {
			t.Helper()
			assert.Nil(t, input[delivery.PlanInput](t, p.asked["plan"][2]).Rejected)
		}},
		{"Retrier of iterations", delivery.Rules{Retrier: substitute{1}}, map[string][]any{"verify goal": {marks(60)}}, delivery.ErrGoalNotReached, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 1, p.out.State.Iteration)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := project{cfg: delivery.Config{Rules: tt.rules}, cast: tt.cast, more: []string{"senior"}}
			got := p.play(t)
			if tt.err == nil {
				require.NoError(t, got.err)
			} else {
				require.ErrorIs(t, got.err, tt.err)
			}
			assert.Empty(t, got.out.Warnings)
			tt.then(t, got)
			c, _ := p.open(t)
			c.Quick = true
			c.Sweep(t)
		})
	}
}

// unnamed adds the types of the package that are reached from t and that a host cannot name.
func unnamed(t reflect.Type, seen map[reflect.Type]bool, found *[]string) {
	if seen[t] {
		return
	}
	seen[t] = true
	if strings.HasSuffix(t.PkgPath(), "/delivery") && !token.IsExported(t.Name()) {
		*found = append(*found, t.String())
	}
	switch t.Kind() { //nolint:exhaustive // the others are made of no types
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() {
				unnamed(f.Type, seen, found)
			}
		}
	case reflect.Interface:
		for m := range t.Methods() {
			unnamed(m.Type, seen, found)
		}
	case reflect.Func:
		for in := range t.Ins() {
			unnamed(in, seen, found)
		}
		for out := range t.Outs() {
			unnamed(out, seen, found)
		}
	case reflect.Map, reflect.Slice, reflect.Pointer:
		unnamed(t.Elem(), seen, found)
	}
}

// A host can name all that its rules get and return, and what an Outcome has.
func TestRulesNameTheirTypes(t *testing.T) {
	var found []string
	seen := map[reflect.Type]bool{}
	unnamed(reflect.TypeFor[delivery.Rules](), seen, &found)
	unnamed(reflect.TypeFor[delivery.Outcome](), seen, &found)
	assert.Empty(t, found)
	assert.True(t, seen[reflect.TypeFor[delivery.Verdict]()], "rules are looked into")
}

// A rule that panics or answers out of its range fails the part that needed it, and the code
// is that of the run's error and of a warning.
func TestBrokenRules(t *testing.T) {
	panics := func() { panic("oh") }
	for _, tt := range []struct {
		name  string
		rules delivery.Rules
		cast  map[string][]any
		who   string
		want  string
		err   error
	}{
		{
			"a Scheduler holds all back",
			delivery.Rules{Scheduler: routing.SchedulerFunc(func([]routing.Node, routing.Moment) []routing.Node { return nil })},
			nil, "p1", "Rules.Scheduler: it holds all steps back while none is worked on, so the plan is stuck", delivery.ErrGoalNotReached,
		},
		{
			"a Scheduler makes a step up",
			delivery.Rules{Scheduler: routing.SchedulerFunc(func([]routing.Node, routing.Moment) []routing.Node { return []routing.Node{{ID: "x"}} })},
			nil, "p1", `Rules.Scheduler: it returns "x", which is not ready or there twice`, delivery.ErrGoalNotReached,
		},
		{
			"an Allocator",
			delivery.Rules{Allocator: delivery.AllocatorFunc(func(delivery.Timing) delivery.Allocation { return delivery.Allocation{Planning: -1} })},
			nil, "goal", "Rules.Allocator: Planning is -1ns, want 0s to 2h0m0s", nil,
		},
		{"a Grader of plans", delivery.Rules{Graders: delivery.Graders{Plan: grades(101)}}, nil, "p1", "Rules.Graders.plan: its score is 101, want 0 to 100", delivery.ErrPlanning},
		{
			"a Gate of code",
			delivery.Rules{Gates: delivery.Gates{Code: grading.GateWith(func(grading.Standing) grading.Decision { return "well" })}},
			nil, "p1.s1", `Rules.Gates.code: it is "well", want one of ["accept" "revise" "discard"]`, delivery.ErrGoalNotReached,
		},
		{
			"a Gate of the goal",
			delivery.Rules{Gates: delivery.Gates{Goal: grading.GateWith(func(grading.Standing) grading.Decision { panics(); return "" })}},
			nil, "goal", "Rules.Gates.goal panicked: oh", delivery.ErrGoalNotReached,
		},
		{
			"a Ladder",
			delivery.Rules{Ladder: grading.GateWith(func(delivery.Escalating) delivery.Level { return "SHOUT" })},
			nil, "p1", `Rules.Ladder: it is "SHOUT", want one of ["NONE" "REMIND" "CORRECT" "REFOCUS" "CRITICAL" "ABORT"]`, delivery.ErrPlanning,
		},
		{"a Retrier names an agent that it does not declare", delivery.Rules{Retrier: orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again {
			return orchestrator.Again{Retry: true, Agent: "nobody"}
		})}, map[string][]any{"verify code": {marks(10)}}, "p1.s1", `Rules.Retrier: Agent is "nobody", which is no agent of the flow: the rule's method Agents() []string must name it`, delivery.ErrGoalNotReached},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var told []string
			if tt.rules.Retrier == nil {
				tt.rules.Retrier = others{&told}
			}
			p := project{cfg: delivery.Config{Rules: tt.rules}, cast: tt.cast, more: others{}.Agents()}.play(t)
			require.ErrorIs(t, p.err, delivery.ErrRule)
			assert.NotContains(t, strings.Join(told, "\n"), "iteration")
			if tt.err != nil {
				require.ErrorIs(t, p.err, tt.err)
			}
			require.ErrorContains(t, p.err, tt.want)
			assert.Equal(t, 1, strings.Count(p.err.Error(), tt.want), "once, though it failed two steps: %v", p.err)
			require.NotEmpty(t, p.out.Warnings)
			assert.Equal(t, orchestrator.Warning{Code: "delivery/rule", Who: tt.who, Message: tt.want}, p.out.Warnings[0])
			assert.Equal(t, delivery.Failed, p.out.State.Status)
			assert.Equal(t, 1, p.out.State.Iteration, "a broken rule is not tried again")
		})
	}
	t.Run("a Grader that fails leaves work ungraded", func(t *testing.T) {
		fails := orchestrator.GradeWith(func(*orchestrator.Context, delivery.VerifyInput) (delivery.Verdict, error) {
			return delivery.Verdict{}, errBoom
		})
		p := project{cfg: delivery.Config{Rules: delivery.Rules{Graders: delivery.Graders{Step: fails}}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, []string{"p1.s1", "p1.s2"}, p.out.Unverified)
	})
	t.Run("a Grader of steps that gives no evidence has them rejected", func(t *testing.T) {
		scores := orchestrator.GradeWith(func(*orchestrator.Context, delivery.VerifyInput) (delivery.Verdict, error) {
			return delivery.Verdict{Approved: true, Score: 100}, nil
		})
		rules := iterations(1)
		rules.Graders.Step = scores
		p := project{cfg: delivery.Config{Rules: rules, Bounds: delivery.Bounds{Depth: orchestrator.None}}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
		assert.Equal(t, "there is no evidence of completion", p.step(t, "p1.s1").FailReason)
	})
	t.Run("a Retrier that never says no ends at 100 tries", func(t *testing.T) {
		always := orchestrator.RetrierFunc(func(orchestrator.Working, []orchestrator.Try) orchestrator.Again {
			return orchestrator.Again{Retry: true}
		})
		p := project{cfg: delivery.Config{Rules: delivery.Rules{Retrier: always}}, cast: map[string][]any{"plan": times(orchestrator.MaxTries, errBoom)}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrPlanning)
		assert.Len(t, p.asked["plan"], orchestrator.MaxTries)
	})
	t.Run("a step that a broken rule fails does not keep others back", func(t *testing.T) {
		first := grading.GateWith(func(s grading.Standing) grading.Decision {
			return map[bool]grading.Decision{true: "", false: grading.Accept}[s.Of.ID == "p1.s1"]
		})
		p := project{cfg: delivery.Config{Rules: delivery.Rules{Gates: delivery.Gates{Code: first}}, Policy: delivery.Policy{AcceptableFailures: 1}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, delivery.StepFailed, p.step(t, "p1.s1").Status)
		assert.Equal(t, delivery.StepCompleted, p.step(t, "p1.s2").Status)
		assert.Equal(t, "delivery/rule", p.out.Warnings[0].Code)
	})
}

// Two kinds of errors of the host are both in the error of the run.
func TestBothOfTheHost(t *testing.T) {
	rules := delivery.Rules{
		Gates: delivery.Gates{Code: grading.GateWith(func(grading.Standing) grading.Decision { return "" })},
		Permit: orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
			if m.Path == "step/p1.s2" {
				return errBoom
			}
			return nil
		}),
	}
	p := project{cfg: delivery.Config{Rules: rules}}.play(t)
	require.ErrorIs(t, p.err, delivery.ErrRule)
	require.ErrorIs(t, p.err, delivery.ErrNotPermitted)
}

// TestRulesAreTold: what gates, the Ladder and the Scheduler get, in order.
func TestRulesAreTold(t *testing.T) {
	var gates, levels, ready []string
	pass := func(name string) grading.Gate[grading.Standing, grading.Decision] {
		return grading.GateFunc[grading.Standing, grading.Decision](func(s grading.Standing) grading.Decision {
			gates = append(gates, fmt.Sprintf("%s %s %s: %v of %v, try %d, before %v", name, s.Of.ID, s.Of.Group, s.Score, s.Threshold, s.Try, s.Before))
			return delivery.Passing{}.Decide(s)
		})
	}
	p := project{
		cfg: delivery.Config{Rules: delivery.Rules{
			Gates: delivery.Gates{Plan: pass("plan"), Code: pass("code"), Test: pass("test"), Step: pass("step"), Goal: pass("goal")},
			Ladder: ladderFunc(func(e delivery.Escalating) delivery.Level {
				levels = append(levels, fmt.Sprintf("%s %s: %v %v %v, %d, %q", e.Gate, e.Target, e.Score, e.Passed, e.Local, e.Issues, e.Before))
				return map[bool]delivery.Level{true: none, false: remind}[e.Passed]
			}),
			Scheduler: routing.SchedulerFunc(func(nodes []routing.Node, at routing.Moment) []routing.Node {
				assert.False(t, at.Now.IsZero())
				for _, n := range nodes {
					ready = append(ready, fmt.Sprint(n.ID, " ", n.Number, " ", n.Phase, " ", n.State == routing.Ready))
				}
				return nodes
			}),
		}, Bounds: delivery.Bounds{MinSteps: 1}},
		cast: map[string][]any{
			"plan": {steps(16), steps(2), always{steps(1)}}, "verify plan": {marks(69)}, "verify code": {marks(59)}, "verify goal": {marks(79)},
		},
	}.play(t)
	require.NoError(t, p.err)
	assert.Equal(t, []string{"p3.s1 1 medium true", "p4.s1 1 medium true"}, ready)
	assert.Equal(t, []string{
		"plan p2 p2: 69 of 70, try 1, before []", "plan p3 p3: 90 of 70, try 2, before [69]",
		"code p3.s1 p3: 59 of 60, try 1, before []", "code p3.s1 p3: 90 of 60, try 2, before [59]",
		"test p3.s1 p3: 90 of 0, try 1, before []", "step p3.s1 p3: 90 of 70, try 1, before []",
		"test goal p3: 90 of 0, try 1, before []", "goal goal p3: 79 of 80, try 1, before []",
		"plan p4 p4: 90 of 70, try 1, before []", "code p4.s1 p4: 90 of 60, try 1, before []",
		"test p4.s1 p4: 90 of 0, try 1, before []", "step p4.s1 p4: 90 of 70, try 1, before []",
		"test goal p4: 90 of 0, try 2, before [90]", "goal goal p4: 90 of 80, try 2, before [79]",
	}, gates)
	assert.Equal(t, []string{
		`plan p1: 0 false true, 1, ""`, `plan p2: 69 false false, 2, "REMIND"`, `plan p3: 90 true false, 0, "REMIND"`, `code p3.s1: 59 false false, 1, "NONE"`,
	}, levels[:4])
}

// moves are those about which a Permit is asked in a run with a sub-plan and two iterations.
var moves = []string{
	"permit/run/start", "permit/plan/p1/plan_approved", "permit/step/p1.s1/start", "permit/step/p1.s1/subplan_started",
	"permit/plan/p2/plan_approved", "permit/step/p2.s1/start", "permit/step/p1.s2/start", "permit/plan/p1/plan_done", "permit/plan/p1/goal_unmet",
	"permit/plan/p3/plan_approved", "permit/step/p3.s1/start", "permit/step/p3.s2/start", "permit/plan/p3/plan_done",
}

// permitted is a run whose moves a person permits.
func permitted(permit orchestrator.Permit) project {
	return project{cfg: delivery.Config{Rules: delivery.Rules{Permit: permit}}, cast: map[string][]any{"code": {tooMuch}, "verify goal": {marks(75)}}}
}

func TestPermitAllowed(t *testing.T) {
	var asked []string
	p := permitted(orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
		asked = append(asked, m.Key())
		assert.NotEqual(t, m.From, m.To)
		return nil
	})).play(t)
	require.NoError(t, p.err)
	assert.Equal(t, moves, asked, "each once, and about nothing else")
	plain := permitted(nil).play(t)
	assert.Equal(t, plain.asked.total(), p.asked.total())

	c, _ := permitted(orchestrator.AskFirst{}).open(t)
	c.Answers = map[string]any{}
	for _, key := range moves {
		c.Answers[key] = true
	}
	out, _, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, orchestrator.Completed, out.Status)
	c.Quick = true // it is long
	c.Sweep(t)
}

func TestPermitRefused(t *testing.T) {
	for i, tt := range []struct {
		err       error
		status    delivery.Phase
		completed int
		plan      delivery.StepStatus // of p1
	}{
		{nil, delivery.Failed, 0, ""},
		{delivery.ErrPlanning, delivery.Failed, 0, "failed"},
		{delivery.ErrGoalNotReached, delivery.Failed, 2, "failed"}, // the other step, and that of its sub-plan
		{delivery.ErrGoalNotReached, delivery.Failed, 1, "failed"},
		{delivery.ErrGoalNotReached, delivery.Failed, 1, "failed"},
		{delivery.ErrGoalNotReached, delivery.Failed, 1, "failed"},
		{delivery.ErrGoalNotReached, delivery.Failed, 2, "failed"}, // the first step and that of its sub-plan
		{delivery.ErrGoalNotReached, delivery.Failed, 3, "failed"},
		{delivery.ErrGoalNotReached, delivery.Failed, 3, "failed"},
		{delivery.ErrPlanning, delivery.Failed, 3, "failed"},
	} {
		key := moves[i]
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			p := permitted(orchestrator.PermitFunc(func(_ *orchestrator.Context, m orchestrator.Move) error {
				if m.Key() == key {
					return errors.New("not today")
				}
				return nil
			}))
			if i < 8 { // the goal is not judged
				delete(p.cast, "verify goal")
			}
			if i < 2 { // no step begins
				delete(p.cast, "code")
			}
			got := p.play(t)
			require.ErrorIs(t, got.err, delivery.ErrNotPermitted)
			require.ErrorContains(t, got.err, "not today")
			if tt.err != nil {
				require.ErrorIs(t, got.err, tt.err)
			}
			assert.Equal(t, tt.status, got.out.State.Status)
			assert.Equal(t, tt.completed, got.out.State.Metrics.CompletedSteps, "what was made is kept")
			if tt.plan != "" {
				assert.Equal(t, tt.plan, got.out.State.Plans[0].Status)
			}
			require.NotEmpty(t, got.out.Warnings)
			assert.Equal(t, "delivery/not-permitted", got.out.Warnings[0].Code)
			assert.Contains(t, key, got.out.Warnings[0].Who)
			c, _ := p.open(t)
			c.Quick = true
			c.Sweep(t)
		})
	}
}

// The wait for a person counts in the time of the run.
func TestPermitWaits(t *testing.T) {
	cfg := limited(10)
	cfg.Rules.Permit = orchestrator.PermitFunc(func(c *orchestrator.Context, m orchestrator.Move) error {
		if m.Path == "step/p1.s2" {
			return c.Sleep(time.Hour)
		}
		return nil
	})
	p := project{cfg: cfg}.play(t)
	require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
	require.NotErrorIs(t, p.err, delivery.ErrNotPermitted)
	assert.Equal(t, orchestrator.Partial, p.out.Status)
	assert.GreaterOrEqual(t, p.out.Elapsed, time.Hour, fmt.Sprint(p.out.Elapsed))
}

// Result is the code of the completed steps, the later files over the earlier ones.
func TestResult(t *testing.T) {
	other := with(code(), object{"files": []object{{"path": "a.go", "content": "package b\n"}, {"path": "b.go", "content": "package b"}}})
	p := project{cast: map[string][]any{"code": {code(), other}}}.play(t)
	require.NoError(t, p.err)
	assert.Equal(t, "=== a.go\npackage b\n=== b.go\npackage b\n=== a_test.go\npackage a\n", p.out.Result())
	assert.Empty(t, delivery.Outcome{}.Result())
	none := p.out.State.Plans[0].Steps[1].Code.Files
	none[0], none[1].Delete = delivery.File{Path: "a.go", Delete: true}, true
	assert.Equal(t, "=== a_test.go\npackage a\n", p.out.Result(), "what was removed is no part of it")
	p.out.State.Plans[0].Steps[1].Status = delivery.StepFailed
	assert.Equal(t, "=== a.go\npackage a\n=== a_test.go\npackage a\n", p.out.Result(), "nor is the code of a step that failed")
	assert.Equal(t, "a parser of durations", p.out.Asked)
}

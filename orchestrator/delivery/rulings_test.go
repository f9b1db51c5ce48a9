package delivery_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// numbered is a planner's answer whose steps have those numbers; needs are by number.
func numbered(needs map[int][]int, numbers ...int) object {
	list := []object{}
	for _, n := range numbers {
		list = append(list, object{"number": n, "description": fmt.Sprint("part ", n), "complexity": "medium", "dependsOn": needs[n]})
	}
	return object{"steps": list}
}

func TestNumbersOfSteps(t *testing.T) {
	lenient := delivery.Config{Policy: delivery.Policy{AcceptableFailures: 3}}
	for name, tt := range map[string]struct {
		needs   map[int][]int
		numbers []int
		want    []string // "number description needs" of the steps
		skipped string   // step that is not executed, as the first one fails
	}{
		"SC62 from 0":       {map[int][]int{1: {0}}, []int{0, 1}, []string{"1 part 0 []", "2 part 1 [1]"}, "p1.s2"},
		"SC62 below 0":      {map[int][]int{-1: {-2}}, []int{-2, -1}, []string{"1 part -2 []", "2 part -1 [1]"}, "p1.s2"},
		"SC62 from 1":       {map[int][]int{2: {1}}, []int{1, 2}, []string{"1 part 1 []", "2 part 2 [1]"}, "p1.s2"},
		"SC62 with gaps":    {map[int][]int{30: {7}}, []int{30, 7}, []string{"2 part 30 [1]", "1 part 7 []"}, "p1.s2"},
		"SC62 0 needs more": {map[int][]int{5: {0, 0}}, []int{5, 0}, []string{"2 part 5 [1 1]", "1 part 0 []"}, "p1.s2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := project{cfg: lenient, cast: map[string][]any{"plan": {numbered(tt.needs, tt.numbers...)}, "check": times(4, failed)}}.play(t)
			require.NoError(t, p.err)
			var got []string
			for _, s := range p.out.State.Plans[0].Steps {
				got = append(got, fmt.Sprint(s.Number, " ", s.Description, " ", append([]int{}, s.DependsOn...)))
			}
			assert.Equal(t, tt.want, got)
			assert.Equal(t, delivery.StepBlocked, p.step(t, tt.skipped).Status)
			assert.Equal(t, "it needs step 1, which was not completed", p.step(t, tt.skipped).FailReason)
			assert.Equal(t, 1, p.asked.of("code"), "a step whose need failed is never executed")
		})
	}
	for name, plan := range map[string]object{
		"SC62 a number twice":             numbered(nil, 0, 0),
		"SC62 a need that is on no step":  numbered(map[int][]int{0: {2}}, 0, 1),
		"SC62 the renumbered one is none": numbered(map[int][]int{6: {1}}, 5, 6),
	} {
		t.Run(name, func(t *testing.T) {
			p := project{cast: map[string][]any{"plan": {plan}}}.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, 2, p.asked.of("plan"), "the plan gate refuses it")
			assert.Equal(t, 1, p.asked.of("verify plan"))
			assert.Equal(t, 1, p.out.State.Metrics.VerificationsFailed)
		})
	}
	t.Run("SC62 a number that a continued run has", func(t *testing.T) {
		from := delivery.State{PrimaryGoal: "x", Plans: []delivery.Plan{{ID: "p1", Approved: true, Status: "in_progress", Steps: []delivery.Step{
			{ID: "p1.s0", Number: 0, Description: "a", Status: delivery.StepFailed}, {ID: "p1.s1", Number: 1, Description: "b", Status: "pending", DependsOn: []int{0}},
		}}}}
		p := project{cfg: lenient, in: delivery.Input{From: &from}}.play(t)
		require.NoError(t, p.err)
		assert.Empty(t, p.asked["code"])
		assert.Equal(t, "it needs step 0, which was not completed", p.step(t, "p1.s1").FailReason)
	})
}

// TestShareOfPlanning: of 60 minutes, planning has six.
func TestShareOfPlanning(t *testing.T) {
	twenty := map[string][]any{"code": times(2, slow(299, code())), "check": times(2, slow(299, passed)), "verify goal": {marks(75)}}
	second := func(answer any) map[string][]any {
		cast := maps.Clone(twenty) // the first iteration takes 20 minutes, so the second may plan for four
		cast["plan"] = []any{steps(2), answer}
		return cast
	}
	for name, tt := range map[string]struct {
		cast             map[string][]any
		plans, reviews   int
		elapsed          time.Duration
		plansAfterBudget bool
	}{
		"SC63 no try begins after it":          {map[string][]any{"plan": times(2, flowtest.Hang())}, 2, 0, 10*time.Minute + time.Second, false},
		"SC63 no repair begins after it":       {map[string][]any{"plan": {slow(100, errBoom), slow(290, object{"steps": "two"})}}, 2, 0, 391 * time.Second, false},
		"SC63 no review begins after it":       {map[string][]any{"plan": {slow(100, errBoom), slow(290, steps(2))}}, 2, 0, 391 * time.Second, false},
		"SC63 no try of a review after it":     {map[string][]any{"plan": {slow(290, steps(2))}, "verify plan": {slow(80, errBoom)}}, 1, 1, 370 * time.Second, false},
		"SC63 a repair in time":                {map[string][]any{"plan": {slow(290, object{"steps": "two"}), slow(60, steps(2))}}, 2, 1, 350 * time.Second, true},
		"SC63 the review under way runs on":    {map[string][]any{"plan": {slow(290, steps(2))}, "verify plan": {slow(130, marks(90))}}, 1, 1, 420 * time.Second, true},
		"SC63 SC3 the share of a second plan":  {second(slow(250, errBoom)), 2, 1, 0, false},
		"SC63 SC3 a second plan within it":     {second(slow(230, errBoom)), 3, 2, 0, true},
		"SC63 SC3 the second plan's review":    {second(slow(245, steps(2))), 2, 1, 0, false},
		"SC63 SC3 the second review, in time":  {second(slow(235, steps(2))), 2, 2, 0, true},
		"SC63 S29 the share of the first plan": {map[string][]any{"plan": {slow(299, errBoom), slow(58, steps(2))}}, 2, 1, 358 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := project{cfg: limited(60), cast: tt.cast}.play(t)
			assert.Equal(t, tt.plans, p.asked.of("plan"))
			assert.Equal(t, tt.reviews, p.asked.of("verify plan"))
			if tt.plansAfterBudget {
				require.NoError(t, p.err)
				return
			}
			require.EqualError(t, p.err, "delivery: planning: planning budget")
			require.ErrorIs(t, p.err, delivery.ErrPlanning)
			if tt.elapsed > 0 {
				assert.InDelta(t, tt.elapsed.Seconds(), p.out.Elapsed.Seconds(), 0.1)
			}
			for _, plan := range p.out.State.Plans {
				assert.EqualValues(t, "failed", plan.Status)
			}
			over := p.events(t, delivery.EventBudgetExceeded)
			require.Len(t, over, 1)
			assert.Equal(t, "goal planning budget", over[0].Target+" "+over[0].Text)
		})
	}
}

func TestContinuedSubPlan(t *testing.T) {
	first := project{cfg: limited(2), cast: map[string][]any{
		"code": {tooMuch, writes("a", "1"), flowtest.Hang()}, "subplan": {steps(3)},
	}}
	three := []string{"p2.s1", "p2.s2", "p2.s3"}
	for name, tt := range map[string]struct {
		cast     map[string][]any
		subs     []string
		rejected int
	}{
		"SC64 a new sub-plan":          {map[string][]any{"code": {tooMuch, writes("b", "2")}, "subplan": {steps(1)}}, append(slices.Clone(three), "p3.s1"), 0},
		"SC64 an attempt that is good": {map[string][]any{"code": {writes("b", "2")}}, three, 0},
		"SC64 a second attempt":        {map[string][]any{"code": {writes("wrong", "1"), writes("b", "2")}, "verify step": {marks(60)}}, three, 1},
		"SC64 SC9 no tests of its own": {map[string][]any{"code": {with(writes("b", "1"), object{"tests": []object{}}), writes("b", "2")}}, three, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder()
			before := first
			before.space = f
			ended := before.play(t)
			require.ErrorIs(t, ended.err, delivery.ErrTimeExpired)
			require.Empty(t, f.files)

			f.done = map[string]agent.Response{}
			p := project{space: f, in: delivery.Input{From: &ended.out.State}, cast: tt.cast}.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, orchestrator.Completed, p.out.Status)
			step := p.step(t, "p1.s1")
			var paths []string
			for _, file := range step.Code.Files {
				paths = append(paths, file.Path)
				assert.Equal(t, file.Content, f.files[file.Path], "the step's code is that of the workspace")
			}
			assert.Equal(t, []string{"a", "b"}, paths)
			assert.Equal(t, tt.subs, step.SubSteps)
			assert.Equal(t, tt.rejected, p.out.State.Metrics.VerificationsFailed)
			assert.NotContains(t, f.files, "wrong")
			assert.Equal(t, delivery.StepCompleted, p.step(t, "p2.s1").Status, "completed steps are kept")
			assert.Equal(t, delivery.StepFailed, p.step(t, "p2.s2").Status)
			assert.Equal(t, "cut: the run before ended while it was in progress", p.step(t, "p2.s2").FailReason)
			assert.EqualValues(t, "failed", p.out.State.Plans[1].Status)
			needs := input[delivery.CodeInput](t, p.asked["code"][0]).Needs
			require.Len(t, needs, 1, "the coder sees what is there")
			assert.Equal(t, "p2.s1", needs[0].Step.ID)
			if tt.cast["subplan"] != nil {
				in := input[delivery.PlanInput](t, p.asked["subplan"][0])
				require.Len(t, in.Blocked.Done, 1)
				assert.Equal(t, "p2.s1", in.Blocked.Done[0].Step.ID)
			}
		})
	}
	t.Run("SC64 the step fails, and nothing of it is left", func(t *testing.T) {
		f := newFolder()
		before := first
		before.space = f
		ended := before.play(t)
		f.done = map[string]agent.Response{}
		cfg := delivery.Config{Rules: fixes(10, 0), Policy: delivery.Policy{AcceptableFailures: 1}}
		p := project{space: f, cfg: cfg, in: delivery.Input{From: &ended.out.State}, cast: map[string][]any{"code": {writes("b", "BUG"), writes("c", "3")}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, map[string]string{"c": "3", "c_test": "test"}, f.files)
	})
	t.Run("SC64 what an attempt wrote is not in the workspace, nor in the step", func(t *testing.T) {
		f := newFolder()
		ended := project{space: f, cfg: limited(2), cast: map[string][]any{"code": {writes("a", "1")}, "verify step": {flowtest.Hang()}}}.play(t)
		require.ErrorIs(t, ended.err, delivery.ErrTimeExpired)
		require.NotNil(t, ended.step(t, "p1.s1").Code)
		f.done = map[string]agent.Response{}
		p := project{space: f, in: delivery.Input{From: &ended.out.State}, cast: map[string][]any{"code": {writes("b", "2")}}}.play(t)
		require.NoError(t, p.err)
		assert.Nil(t, input[delivery.CodeInput](t, p.asked["code"][0]).Previous)
		assert.Len(t, p.step(t, "p1.s1").Code.Files, 1)
	})
	t.Run("SC64 two levels of sub-plans", func(t *testing.T) {
		f := newFolder()
		ended := project{space: f, cfg: limited(2), cast: map[string][]any{
			"code": {tooMuch, tooMuch, writes("deep", "1"), flowtest.Hang()}, "subplan": {steps(1), steps(2)},
		}}.play(t)
		require.ErrorIs(t, ended.err, delivery.ErrTimeExpired)
		f.done = map[string]agent.Response{}
		p := project{space: f, in: delivery.Input{From: &ended.out.State}, cast: map[string][]any{"code": {writes("b", "2")}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, "1", f.files["deep"])
		assert.Len(t, p.step(t, "p1.s1").Code.Files, 2)
		assert.Equal(t, delivery.StepFailed, p.step(t, "p2.s1").Status)
		assert.Equal(t, delivery.StepCompleted, p.step(t, "p3.s1").Status)
	})
}

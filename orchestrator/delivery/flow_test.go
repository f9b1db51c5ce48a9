package delivery_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
)

const (
	none     = delivery.LevelNone
	remind   = delivery.LevelRemind
	correct  = delivery.LevelCorrect
	refocus  = delivery.LevelRefocus
	critical = delivery.LevelCritical
	abort    = delivery.LevelAbort
)

// ends is how a run is to end.
type ends struct {
	calls     int
	phase     delivery.Phase
	status    orchestrator.Status
	err       error
	iteration int // 0: 1
	metrics   func(m delivery.Metrics) bool
}

func TestRuns(t *testing.T) {
	done := func(calls int) ends {
		return ends{calls: calls, phase: delivery.Completed, status: orchestrator.Completed}
	}
	iterating := func(n int) delivery.Config { return delivery.Config{Rules: iterations(n)} }
	for _, tt := range []struct {
		name string
		project
		want ends
		then func(t *testing.T, p played)
	}{
		{"SA1 S1 S2 S17 S19 S20 all good", project{}, done(15), func(t *testing.T, p played) {
			t.Helper()
			assert.Len(t, p.asked["plan"], 1)
			assert.Len(t, p.asked["code"], 2)
			assert.Len(t, p.asked["check"], 2)
			assert.Len(t, p.asked["integrate"], 1)
			for gate, n := range map[string]int{"plan": 1, "code": 2, "test": 3, "step": 2, "goal": 1} {
				assert.Len(t, p.asked["verify "+gate], n, gate)
			}
			assert.Equal(t, 9, p.out.State.Metrics.VerificationsPassed)
			assert.InDelta(t, 90, *p.out.Score, 0)
			assert.Empty(t, p.out.Warnings)
			assert.Equal(t, 1, p.sent(delivery.GoalComplete))
			assert.Equal(t, "start plan_approved code_approved tests_passed step_approved code_approved tests_passed step_approved "+
				"plan_done integration_passed goal_approved", p.trace(t))
		}},
		{"SA2 three steps", project{cast: map[string][]any{"plan": {steps(3)}}}, done(20), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 12, p.out.State.Metrics.VerificationsPassed)
			assert.Len(t, input[delivery.VerifyInput](t, p.asked["verify goal"][0]).Last, 5, "SX19")
		}},
		{"SA3 SC12 no review of tests", project{cfg: delivery.Config{Policy: delivery.Policy{SkipTestReview: true}}}, done(12), nil},
		{"SA4 S18 SC16 SC35 a plan is revised", project{cast: map[string][]any{"verify plan": {marks(69), marks(70)}, "plan": {steps(3), steps(2)}}}, done(17), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 1, p.out.State.Metrics.ReplanCount)
			assert.Equal(t, []delivery.Level{remind, none}, p.levels()[:2])
			in := input[delivery.PlanInput](t, p.asked["plan"][1])
			assert.Len(t, in.Rejected.Steps, 3, "S54")
			assert.Equal(t, []string{"its score is 69 of 100, and 70 are needed"}, in.Reasons)
			assert.Equal(t, remind, in.Guidance.Level, "SC31")
		}},
		{"SA5 SC16 SC53 no plan is approved", project{cast: map[string][]any{"verify plan": times(3, marks(60)), "plan": {steps(2), steps(3), steps(4)}}}, ends{
			calls: 6, phase: delivery.Failed, status: orchestrator.Failed, err: delivery.ErrPlanning,
		}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []delivery.Level{remind, correct, refocus}, p.levels())
			assert.Equal(t, 3, p.sent(delivery.Correction), "SC43")
			assert.Equal(t, 3, p.sent(delivery.EscalationSent), "SC43")
		}},
		{"SA6 SC17 SC9 plans of 1, 16 and 2 steps", project{cast: map[string][]any{"plan": {steps(1), steps(16), steps(2)}}}, done(17), func(t *testing.T, p played) {
			t.Helper()
			assert.Len(t, p.asked["verify plan"], 1)
			assert.Equal(t, 2, p.out.State.Metrics.ReplanCount)
			assert.Equal(t, 2, p.out.State.Metrics.VerificationsFailed, "SC9")
			assert.Equal(t, []delivery.Level{remind, correct, none}, p.levels()[:3])
		}},
		{"SA7 S8 a plan of 15 steps", project{cast: map[string][]any{"plan": {steps(15)}}}, done(80), nil},
		{"SX6 the rejected plan again", project{cast: map[string][]any{"verify plan": {marks(60)}, "plan": {steps(2), steps(2), steps(3)}}}, done(15 + 5 + 3), func(t *testing.T, p played) {
			t.Helper()
			assert.Len(t, p.asked["verify plan"], 2)
			assert.Equal(t, "the plan is the one that was rejected", p.out.Report.Verdicts[1].Reason)
		}},
		{"SA8 S45 code is rejected once", project{cast: map[string][]any{"verify code": {marks(59), marks(60)}}}, done(17), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 2, p.step(t, "p1.s1").Attempts)
			in := input[delivery.CodeInput](t, p.asked["code"][1])
			assert.NotNil(t, in.Previous, "SC31")
			assert.Equal(t, []string{"its score is 59 of 100, and 60 are needed"}, in.Feedback)
		}},
		{"SA9 SC8 code of 65", project{cast: map[string][]any{"verify code": {marks(65)}}}, done(15), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, remind, p.levels()[1])
			assert.Nil(t, input[delivery.CodeInput](t, p.asked["code"][0]).Guidance)
			in := input[delivery.CodeInput](t, p.asked["code"][1])
			require.NotNil(t, in.Guidance)
			assert.Equal(t, remind, in.Guidance.Level)
			assert.Contains(t, in.Guidance.Text, "name the units")
			assert.Contains(t, p.asked["code"][1].Prompt, "reminder")
		}},
		{"SC31 SC48 of how many rejections an own ladder speaks", project{
			cfg: delivery.Config{Rules: delivery.Rules{Ladder: delivery.Ladder{Remind: 70, AbortAt: 7}}}, cast: map[string][]any{"verify code": {marks(65)}},
		}, done(15), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 7, input[delivery.CodeInput](t, p.asked["code"][1]).Guidance.Of)
		}},
		{"SC31 guidance is given once", project{cast: map[string][]any{"plan": {steps(3)}, "verify code": {marks(65)}}}, done(20), func(t *testing.T, p played) {
			t.Helper()
			assert.NotNil(t, input[delivery.CodeInput](t, p.asked["code"][1]).Guidance)
			assert.Nil(t, input[delivery.CodeInput](t, p.asked["code"][2]).Guidance)
		}},
		{"SA10 S4 SC9 no tests", project{cast: map[string][]any{"code": {with(code(), object{"tests": []object{}})}}}, done(16), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 1, p.out.State.Metrics.VerificationsFailed)
			assert.Equal(t, 2, p.step(t, "p1.s1").Attempts)
		}},
		{"SA11 S42 SC52 a critical security finding", project{cast: map[string][]any{"verify code": {with(marks(90), object{
			"findings": []object{{"severity": "critical", "category": "security", "description": "a shell injection"}},
		})}}}, done(17), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 1, p.out.State.Metrics.VerificationsFailed)
		}},
		{"SA12 S5 S49 SC29 tests fail once", project{cast: map[string][]any{"check": {failed}}}, done(19), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 1, p.out.State.Metrics.FixCycles)
			in := input[delivery.CodeInput](t, p.asked["fix"][0])
			assert.Equal(t, []string{"it adds wrongly"}, in.Fix.Items, "S55")
			assert.Equal(t, 1, p.sent(delivery.FixPlanMessage))
			assert.Equal(t, 0, p.out.State.Metrics.VerificationsFailed, "SC52: failed tests are no issue")
		}},
		{"SA13 S50 SC13 SC14 SC59 tests keep failing", project{cfg: iterating(1), cast: map[string][]any{"check": times(4, failed)}}, ends{
			calls: 23, phase: delivery.Failed, status: orchestrator.Partial, err: delivery.ErrGoalNotReached,
			metrics: func(m delivery.Metrics) bool {
				return m.FixCycles == 3 && m.FailedSteps == 1 && m.CompletedSteps == 1 && m.TotalSteps == 2
			},
		}, func(t *testing.T, p played) {
			t.Helper()
			assert.Empty(t, p.asked["integrate"])
			assert.Equal(t, delivery.StepFailed, p.step(t, "p1.s1").Status)
			assert.Equal(t, []string{"p1.s1"}, p.out.Report.Unfinished)
		}},
		{"SA14 SC25 SC34 SC42 a second iteration", project{cfg: iterating(2), cast: map[string][]any{"check": times(4, failed)}}, ends{
			calls: 38, phase: delivery.Completed, status: orchestrator.Completed, iteration: 2,
			metrics: func(m delivery.Metrics) bool {
				return m.ReplanCount == 1 && m.TotalSteps == 4 && m.CompletedSteps == 3 && m.FailedSteps == 1
			},
		}, func(t *testing.T, p played) {
			t.Helper()
			last := input[delivery.PlanInput](t, p.asked["plan"][1]).Last
			require.NotNil(t, last, "SC25")
			assert.Len(t, last.Completed, 1)
			assert.Len(t, last.Failed, 1)
			assert.Equal(t, "failed or skipped: steps 1; 0 may be", last.Reason)
		}},
		{"SA15 SC33 a fix is rejected", project{cast: map[string][]any{"check": {failed}, "verify code": {marks(90), with(marks(50), object{
			"findings": []object{{"severity": "major", "category": "bug", "description": "it panics"}},
		})}}}, done(21), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 2, p.out.State.Metrics.FixCycles)
			assert.Len(t, p.asked["check"], 3)
			assert.Contains(t, input[delivery.CodeInput](t, p.asked["fix"][1]).Fix.Items, "it panics")
		}},
		{"SA16 S43 a step is rejected once", project{cast: map[string][]any{"verify step": {marks(69), marks(70)}}}, done(20), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 2, p.step(t, "p1.s1").Attempts)
		}},
		{"SA17 S44 the goal is rejected once", project{cfg: iterating(2), cast: map[string][]any{"verify goal": {marks(79), marks(80)}}}, ends{
			calls: 30, phase: delivery.Completed, status: orchestrator.Completed, iteration: 2,
		}, nil},
		{"SA18 SC59 the goal is always rejected", project{cfg: iterating(3), cast: map[string][]any{"verify goal": times(3, marks(75))}}, ends{
			calls: 45, phase: delivery.Failed, status: orchestrator.Partial, err: delivery.ErrGoalNotReached, iteration: 3,
			metrics: func(m delivery.Metrics) bool { return m.ReplanCount == 2 },
		}, func(t *testing.T, p played) {
			t.Helper()
			assert.InDelta(t, 75, *p.out.Score, 0, "SC53")
		}},
		{"SA19 S40 SC30 SC6 five rejections in a row", project{cast: map[string][]any{
			"verify code": times(3, marks(55)), "verify plan": {marks(90), marks(55), marks(55)}, "subplan": {steps(1), steps(2)},
		}}, ends{calls: 12, phase: delivery.Aborted, status: orchestrator.Failed, err: delivery.ErrAborted}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []delivery.Level{none, remind, correct, refocus, critical, abort}, p.levels())
			assert.Equal(t, 1, p.sent(delivery.Abort))
			in := input[delivery.PlanInput](t, p.asked["subplan"][1])
			assert.Equal(t, critical, in.Guidance.Level)
			assert.Nil(t, in.Rejected, "SC31: the plan before is dropped")
			assert.Contains(t, p.asked["subplan"][1].Prompt, "4 of 5")
			assert.NotContains(t, p.asked["subplan"][1].Prompt, `under "rejected"`)
		}},
		{"SA20 S46 SC21 a sub-plan", project{cast: map[string][]any{"code": times(3, blocked), "subplan": {steps(2)}}}, done(28), func(t *testing.T, p played) {
			t.Helper()
			m := p.out.State.Metrics
			assert.Equal(t, 1, m.ReplanCount)
			assert.Equal(t, 4, m.TotalSteps)
			assert.Equal(t, 4, m.CompletedSteps)
			parent := p.step(t, "p1.s1")
			assert.Equal(t, []string{"p2.s1", "p2.s2"}, parent.SubSteps)
			assert.EqualValues(t, "completed", p.out.State.Plans[1].Status)
			assert.Equal(t, "done\ndone", parent.Code.Summary)
			assert.Equal(t, "p1.s1", p.step(t, "p2.s1").ParentStepID)
			assert.NotNil(t, parent.Tests)
			assert.NotNil(t, parent.Verification)
			assert.Equal(t, 0, m.VerificationsFailed, "SC15")
			in := input[delivery.PlanInput](t, p.asked["subplan"][0])
			require.NotNil(t, in.Blocked, "S54")
			assert.Len(t, in.Blocked.Reasons, 3)
			assert.Equal(t, 1, p.sent(delivery.ReplanRequest), "SC43")
			assert.Equal(t, 1, p.sent(delivery.SubPlanResponse), "SC43")
			assert.Equal(t, 1, p.sent(delivery.StepIsBlocked), "SC43")
			assert.Contains(t, p.trace(t), "step_retried step_retried subplan_started plan_approved")
		}},
		{"SA21 SC15 a sub-plan at once", project{cast: map[string][]any{"code": {tooMuch}}}, done(21), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 1, p.step(t, "p1.s1").Attempts)
		}},
		{"SA22 S3 SC22 SC20 S47 no sub-plan below depth 3", project{cfg: iterating(1), cast: map[string][]any{"code": {always{tooMuch}}}}, ends{
			calls: 22, phase: delivery.Failed, status: orchestrator.Failed, err: delivery.ErrGoalNotReached,
			metrics: func(m delivery.Metrics) bool { return m.FailedSteps == 8 && m.TotalSteps == 8 },
		}, func(t *testing.T, p played) {
			t.Helper()
			deepest := 0
			for _, plan := range p.out.State.Plans {
				deepest = max(deepest, plan.Depth)
			}
			assert.Equal(t, 3, deepest)
			assert.Len(t, p.asked["plan"], 1)
			assert.Len(t, p.asked["subplan"], 6)
			assert.Len(t, p.asked["verify plan"], 7)
			assert.Len(t, p.asked["code"], 8)
			assert.Equal(t, []string{"p1.s1", "p1.s2"}, p.out.Report.Unfinished)
		}},
		{"SC53 SC20 steps of sub-plans alone are no result", project{
			cfg:  delivery.Config{Rules: iterations(1), Bounds: delivery.Bounds{Depth: 1}},
			cast: map[string][]any{"code": {tooMuch, code(), always{tooMuch}}, "subplan": {steps(2)}},
		}, ends{calls: 2 + 1 + 2 + 5 + 1 + 1 + 2 + 1, phase: delivery.Failed, status: orchestrator.Failed, err: delivery.ErrGoalNotReached, metrics: func(m delivery.Metrics) bool {
			return m.CompletedSteps == 1
		}}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, "step 2 of its sub-plan: the coder is blocked: it is too much", p.step(t, "p1.s1").FailReason)
		}},
		{"SA23 SC7 the step gate rejects three times", project{cast: map[string][]any{"verify step": times(3, marks(60))}}, done(35), nil},
		{"SA24 S48 SC23 SC59 too many failed steps", project{cfg: iterating(1), cast: map[string][]any{"plan": {steps(5)}, "check": {always{failed}}}}, ends{
			calls: 50, phase: delivery.Failed, status: orchestrator.Failed, err: delivery.ErrGoalNotReached,
		}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 2, p.sent(delivery.EscalationSent))
			assert.Subset(t, p.out.Report.Unfinished, []string{"p1.s4", "p1.s5"})
			assert.EqualValues(t, "pending", p.step(t, "p1.s4").Status)
		}},
		{"SA25 SC19 SC24 SC53 SC59 a step that needs a failed one", project{
			cfg:  delivery.Config{Policy: delivery.Policy{AcceptableFailures: 2}},
			cast: map[string][]any{"plan": {needing(nil, []int{1})}, "check": {always{failed}}},
		}, ends{calls: 21, phase: delivery.Completed, status: orchestrator.Partial, metrics: func(m delivery.Metrics) bool {
			return m.BlockedSteps == 1 && m.FailedSteps == 1
		}}, func(t *testing.T, p played) {
			t.Helper()
			assert.Len(t, p.asked["code"], 1)
			assert.Equal(t, delivery.StepBlocked, p.step(t, "p1.s2").Status)
			assert.Contains(t, p.step(t, "p1.s2").FailReason, "step 1")
		}},
		{"SC19 a step that needs a blocked one", project{
			cfg:  delivery.Config{Policy: delivery.Policy{AcceptableFailures: 3}},
			cast: map[string][]any{"plan": {needing(nil, []int{1}, []int{2})}, "check": {always{failed}}},
		}, ends{calls: 21, phase: delivery.Completed, status: orchestrator.Partial, metrics: func(m delivery.Metrics) bool {
			return m.BlockedSteps == 2 && m.FailedSteps == 1
		}}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, "it needs step 2, which was not completed", p.step(t, "p1.s3").FailReason)
		}},
		{"SA26 SC18 circles and what is not there", project{cast: map[string][]any{
			"plan": {needing([]int{2}, []int{1}), needing([]int{9}, nil), needing(nil, nil)},
		}}, done(17), nil},
		{"SA26 SC18 a step that needs itself", project{cast: map[string][]any{"plan": {needing([]int{1}, nil)}}}, done(16), nil},
		{"SA27 SC45 S10 order by needs", project{cast: map[string][]any{"plan": {needing([]int{3}, nil, nil)}}}, done(20), func(t *testing.T, p played) {
			t.Helper()
			var order []int
			for _, req := range p.asked["code"] {
				order = append(order, input[delivery.CodeInput](t, req).Step.Number)
			}
			assert.Equal(t, []int{2, 3, 1}, order)
			needs := input[delivery.CodeInput](t, p.asked["code"][2]).Needs
			require.Len(t, needs, 1, "S55")
			assert.Equal(t, 3, needs[0].Step.Number)
			assert.NotNil(t, needs[0].Code)
		}},
		{"SA28 SC51 SC28 SC59 the supervisor never answers", project{cast: map[string][]any{
			"verify plan": {always{errBoom}}, "verify code": {always{errBoom}}, "verify test": {always{errBoom}}, "verify step": {always{errBoom}}, "verify goal": {always{errBoom}},
		}}, ends{calls: 42, phase: delivery.Failed, status: orchestrator.Partial, err: delivery.ErrGoalNotReached}, func(t *testing.T, p played) {
			t.Helper()
			slept := p.slept(t)
			assert.Equal(t, []float64{1, 2, 4}, slept[:3])
			assert.InDelta(t, 63, sum(slept), 0)
			assert.Empty(t, p.out.Report.Verdicts)
			assert.Equal(t, delivery.Escalation{}, p.out.State.Escalation)
			assert.Equal(t, []string{"p1", "p1.s1", "p1.s2", "goal"}, p.out.Unverified)
			assert.Nil(t, p.out.Score)
		}},
		{"SA29 SC27 SC59 the tester fails", project{cast: map[string][]any{"check": times(4, errBoom)}}, done(21), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 1, p.out.State.Metrics.FixCycles)
			assert.Equal(t, []float64{1, 2, 4}, p.slept(t))
		}},
		{"SA30 SC27 the planner fails", project{cast: map[string][]any{"plan": times(4, errBoom)}}, ends{
			calls: 4, phase: delivery.Failed, status: orchestrator.Failed, err: delivery.ErrPlanning,
		}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []float64{1, 2, 4}, p.slept(t))
			require.EqualError(t, p.err, "delivery: planning: the planner failed: boom")
		}},
		{"SA31 S51 the coder fails twice", project{cast: map[string][]any{"code": times(2, errBoom)}}, done(17), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []float64{1, 2}, p.slept(t))
			assert.Equal(t, 1, p.step(t, "p1.s1").Attempts)
		}},
		{"SC27 the coder fails for good", project{cast: map[string][]any{"code": times(4, errBoom)}}, done(15 + 4), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, 2, p.step(t, "p1.s1").Attempts)
		}},
		{"SA32 SC11 not approved, with 95", project{cast: map[string][]any{"verify code": {with(marks(95), object{"approved": false})}}}, done(17), nil},
		{"SA32 SC11 approved, with 59", project{cast: map[string][]any{"verify code": {marks(59)}}}, done(17), nil},
		{"SA33 SC12 a report is disapproved", project{cast: map[string][]any{"verify test": {with(marks(90), object{
			"approved": false, "findings": []object{{"severity": "major", "category": "bug", "description": "no test of leap years"}},
		})}}}, done(19), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []string{"no test of leap years"}, input[delivery.CodeInput](t, p.asked["fix"][0]).Fix.Items)
		}},
		{"SC12 a report of failed tests is disapproved", project{cast: map[string][]any{"check": {failed}, "verify test": {with(marks(90), object{
			"approved": false, "findings": []object{{"severity": "major", "category": "bug", "description": "no test of leap years"}},
		})}}}, done(19), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []string{"it adds wrongly", "no test of leap years"}, input[delivery.CodeInput](t, p.asked["fix"][0]).Fix.Items)
		}},
		{"SA34 SC39 no evidence", project{cast: map[string][]any{"verify step": {with(marks(90), object{"evidence": []string{" "}})}}}, done(20), nil},
		{"SA50 SX4 an unusable score is repaired", project{cast: map[string][]any{"verify plan": {with(marks(90), object{"score": "abc"})}}}, done(16), func(t *testing.T, p played) {
			t.Helper()
			assert.Empty(t, p.slept(t))
			assert.Equal(t, 0, p.out.State.Metrics.VerificationsFailed)
		}},
		{"SA50 SX4 a score out of range", project{cast: map[string][]any{"verify plan": {marks(140)}}}, done(16), nil},
		{"SA50 SX4 no score", project{cast: map[string][]any{"verify plan": {object{"approved": true}}}}, done(16), nil},
		{"SX4 a number in quotes", project{cast: map[string][]any{"verify plan": {with(marks(90), object{"score": "90"})}}}, done(15), nil},
		{"SA50 SC51 SC59 never a score", project{cast: map[string][]any{"verify plan": times(5, marks(140))}}, ends{
			calls: 19, phase: delivery.Completed, status: orchestrator.Partial,
		}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []float64{1, 2, 4}, p.slept(t))
			assert.Equal(t, []string{"p1"}, p.out.Unverified)
		}},
		{"SA51 SC60 SC52 integration tests fail once", project{cfg: iterating(2), cast: map[string][]any{"integrate": {failed}}}, ends{
			calls: 29, phase: delivery.Completed, status: orchestrator.Completed, iteration: 2,
			metrics: func(m delivery.Metrics) bool { return m.VerificationsPassed == 17 && m.VerificationsFailed == 1 },
		}, nil},
		{"SA52 SC60 SC51 the goal is never graded", project{cast: map[string][]any{"verify goal": times(4, errBoom)}}, ends{
			calls: 18, phase: delivery.Failed, status: orchestrator.Partial, err: delivery.ErrGoalNotReached,
		}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []float64{1, 2, 4}, p.slept(t))
		}},
		{"SA53 SC60 SC51 a step is never graded", project{cast: map[string][]any{"verify step": times(4, errBoom)}}, ends{
			calls: 18, phase: delivery.Completed, status: orchestrator.Partial,
		}, func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, []string{"p1.s1"}, p.out.Unverified)
		}},
		{"SC51 N2 a score is assumed", project{cfg: delivery.Config{Policy: delivery.Policy{AssumeScore: new(70.0)}}, cast: map[string][]any{"verify step": times(4, errBoom)}}, done(18), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, "delivery/assumed-score", p.out.Warnings[1].Code)
			assert.Equal(t, 8, p.out.State.Metrics.VerificationsPassed)
		}},
		{"SC51 N2 an assumed score below the gate", project{cfg: delivery.Config{Policy: delivery.Policy{AssumeScore: new(69.0)}}, cast: map[string][]any{"verify step": times(4, errBoom)}}, ends{
			calls: 18, phase: delivery.Completed, status: orchestrator.Partial,
		}, nil},
		{"SC25 S54 a sub-plan of a second iteration hears nothing of the first", project{cast: map[string][]any{
			"verify goal": {marks(75)}, "code": {code(), code(), tooMuch},
		}}, ends{calls: 15 + 15 + 6, phase: delivery.Completed, status: orchestrator.Completed, iteration: 2}, func(t *testing.T, p played) {
			t.Helper()
			assert.NotNil(t, input[delivery.PlanInput](t, p.asked["plan"][1]).Last)
			assert.Nil(t, input[delivery.PlanInput](t, p.asked["subplan"][0]).Last)
			assert.NotContains(t, p.asked["subplan"][0].Prompt, `under "last"`)
		}},
		{"SC41 S9 an unknown complexity", project{cast: map[string][]any{"plan": {object{"steps": []object{
			{"number": 1, "description": "a", "complexity": "hard"}, {"number": 2, "description": "b", "complexity": "Simple"},
		}}}}}, done(15), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, "medium", p.step(t, "p1.s1").Complexity)
			assert.Equal(t, "simple", p.step(t, "p1.s2").Complexity)
			require.Len(t, p.out.Warnings, 1)
			assert.Equal(t, "delivery/complexity", p.out.Warnings[0].Code)
		}},
		{"SC13 a sub-plan after tests that fail", project{cfg: delivery.Config{Policy: delivery.Policy{SubPlanOnTestFailure: true}}, cast: map[string][]any{"check": times(4, failed)}}, done(2 + 16 + 2 + 5 + 3 + 5 + 3), nil},
		{"SC56 a refusal is not tried again", project{cast: map[string][]any{"plan": {agent.ErrRefused}}}, ends{
			calls: 1, phase: delivery.Failed, status: orchestrator.Failed, err: delivery.ErrPlanning,
		}, nil},
		{"N22 SC53 a score is that of the last plan that was approved", project{cfg: iterating(2), cast: map[string][]any{
			"verify goal": {marks(75)}, "check": {passed, passed, always{failed}},
		}}, ends{calls: 15 + 2 + 2*16, phase: delivery.Failed, status: orchestrator.Partial, err: delivery.ErrGoalNotReached, iteration: 2}, func(t *testing.T, p played) {
			t.Helper()
			assert.Nil(t, p.out.Score)
		}},
		{"N22 SC53 a score stays without another plan", project{cast: map[string][]any{
			"verify goal": {marks(75)}, "plan": {steps(2), always{errBoom}},
		}}, ends{calls: 15 + 4, phase: delivery.Failed, status: orchestrator.Partial, err: delivery.ErrPlanning, iteration: 2}, func(t *testing.T, p played) {
			t.Helper()
			assert.InDelta(t, 75, *p.out.Score, 0)
		}},
		{"SC15 a fix needs a sub-plan", project{cast: map[string][]any{"check": {failed}, "fix": {tooMuch}}}, done(2 + 5 + 2 + 5 + 3 + 5 + 3), nil},
		{"N20 lines of a goal", project{in: delivery.Input{Goal: "a\r\nb"}}, done(15), func(t *testing.T, p played) {
			t.Helper()
			assert.Equal(t, "a\nb", p.out.State.PrimaryGoal)
		}},
		{"SA48 SX2 a blank goal", project{in: delivery.Input{Goal: " "}}, ends{phase: delivery.Failed, status: orchestrator.Failed, err: delivery.ErrEmptyGoal}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.play(t)
			if tt.want.err == nil {
				require.NoError(t, p.err)
			} else {
				require.ErrorIs(t, p.err, tt.want.err)
			}
			assert.Equal(t, tt.want.calls, p.asked.total())
			assert.Equal(t, tt.want.phase, p.out.State.Status)
			assert.Equal(t, tt.want.status, p.out.Status)
			assert.Equal(t, max(1, tt.want.iteration), p.out.State.Iteration)
			finished := p.events(t, delivery.EventRunFinished)
			require.Len(t, finished, 1)
			last := "goal_approved"
			if p.err != nil {
				last = map[error]string{
					delivery.ErrPlanning: "plan_failed", delivery.ErrGoalNotReached: "goal_failed", delivery.ErrAborted: "abort", delivery.ErrEmptyGoal: "refuse",
				}[tt.want.err]
				assert.Equal(t, p.err.Error(), finished[0].Text)
			}
			assert.Equal(t, last, p.trace(t)[strings.LastIndex(p.trace(t), " ")+1:], "SC54")
			for _, plan := range p.out.State.Plans {
				assert.True(t, tt.want.phase == delivery.Aborted || plan.Status == "completed" || plan.Status == "failed", "SC54 plan %s is %s", plan.ID, plan.Status)
			}
			assert.Len(t, p.events(t, "delivery.fix.finished"), len(p.events(t, "delivery.fix.started")), "each fix ends")
			if tt.want.metrics != nil {
				assert.True(t, tt.want.metrics(p.out.State.Metrics), "%+v", p.out.State.Metrics)
			}
			if tt.then != nil {
				tt.then(t, p)
			}
		})
	}
}

func sum(all []float64) (s float64) {
	for _, x := range all {
		s += x
	}
	return s
}

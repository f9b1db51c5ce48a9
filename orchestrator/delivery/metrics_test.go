package delivery

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/team/page"
)

func TestMetrics(t *testing.T) {
	r := run{state: State{Metrics: Metrics{TotalSteps: 99, ReplanCount: 1, FixCycles: 2, VerificationsPassed: 1, VerificationsFailed: 2}, Plans: []Plan{
		{Approved: true, Steps: []Step{{Status: StepCompleted}, {Status: StepFailed, Attempts: 3}, {Status: StepBlocked}, {Status: stepPending}}},
		{Steps: []Step{{Status: stepPending}, {Status: stepPending}}}, // rejected
		{Approved: true, Status: StepFailed, Depth: 1, Steps: []Step{{Status: StepBlocked, Attempts: 1}, {Status: stepInProgress}}},
	}}}
	r.countSteps()
	t.Run("S25 SC34 SC19 steps are counted anew", func(t *testing.T) {
		assert.Equal(t, Metrics{
			TotalSteps: 6, CompletedSteps: 1, FailedSteps: 1, BlockedSteps: 1,
			ReplanCount: 1, FixCycles: 2, VerificationsPassed: 1, VerificationsFailed: 2,
		}, r.state.Metrics)
	})
}

func TestTold(t *testing.T) {
	t.Run("SC66 what a look is told of", func(t *testing.T) {
		r := run{Config: Config{Policy: Policy{MonitorEvery: 1}}}
		for i := range 25 {
			r.changed("p1.s1: x", page.Turn{Who: "Coder", What: "code", Text: fmt.Sprint(i)})
		}
		r.changed("", page.Turn{Who: "Check"})
		r.changed("", page.Turn{Who: "Supervisor"})
		assert.Len(t, r.changes, 20)
		assert.Equal(t, "p1.s1: x: Coder, code: 5", r.changes[0])
		assert.Equal(t, "p1.s1: x: Coder, code: 24", r.changes[19])
	})
	t.Run("SX12 an outcome has the last 1,000 turns or more", func(t *testing.T) {
		var r run
		for i := range 1310 {
			r.tell(fmt.Sprint("step ", i/300), page.Turn{Who: "Coder"})
		}
		assert.Len(t, r.out.Course, 4)
		assert.Equal(t, "step 1", r.out.Course[0].Title)
		assert.Len(t, r.out.Course[3].Turns, 110)
	})
}

func TestMetricsLaws(t *testing.T) {
	plan := rapid.Custom(func(r *rapid.T) Plan {
		step := rapid.Custom(func(r *rapid.T) Step {
			return Step{Status: rapid.SampledFrom(stepPhases.States()).Draw(r, "status"), Attempts: rapid.IntRange(0, 3).Draw(r, "attempts")}
		})
		return Plan{Approved: rapid.Bool().Draw(r, "approved"), Steps: rapid.SliceOf(step).Draw(r, "steps")}
	})
	rapid.Check(t, func(t *rapid.T) {
		r := run{state: State{Plans: rapid.SliceOf(plan).Draw(t, "plans")}}
		r.countSteps()
		m := r.state.Metrics
		assert.LessOrEqual(t, m.CompletedSteps+m.FailedSteps+m.BlockedSteps, m.TotalSteps, "SC34")
	})
}

package delivery

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
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

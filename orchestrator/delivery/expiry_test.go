package delivery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// TestEndOfAllTime: what the end of a run's time meets.
func TestEndOfAllTime(t *testing.T) {
	t.Run("SC5 S28 a plan that is rejected at it, to the nanosecond", func(t *testing.T) {
		p := project{cfg: limited(2), cast: map[string][]any{"plan": {slow(10, steps(2))}, "verify plan": {slow(110, marks(60))}}}.play(t)
		require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
		require.NotErrorIs(t, p.err, delivery.ErrPlanning)
		assert.Equal(t, delivery.TimeExpired, p.out.State.Status)
		assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
		assert.Equal(t, 2, p.asked.total())
	})
	t.Run("S17 S20 a goal that is rejected after it", func(t *testing.T) {
		p := project{cfg: limited(2), cast: map[string][]any{"integrate": {slow(100, passed)}, "verify goal": {slow(25, marks(75))}}}.play(t)
		require.EqualError(t, p.err, "delivery: time expired")
		require.ErrorIs(t, p.err, delivery.ErrTimeExpired)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Empty(t, p.out.Warnings, "the Allocator is not asked to divide less than nothing")
		assert.InDelta(t, 75, *p.out.Score, 0)
		assert.Len(t, p.asked["plan"], 1)
	})
	t.Run("SC29 tests that fail after it: no fix is chosen", func(t *testing.T) {
		p := tight(map[string][]any{"code": {slow(90, code())}, "check": {slow(172, failed)}})
		p.cfg.Policy.SkipTestReview = true
		got := p.play(t)
		require.ErrorIs(t, got.err, delivery.ErrTimeExpired)
		assert.InDelta(t, 612, got.out.Elapsed.Seconds(), 1)
		assert.Zero(t, got.out.State.Metrics.FixCycles)
		assert.Zero(t, got.sent(delivery.FixPlanMessage))
	})
	t.Run("SC35 a plan that is not asked for is no request", func(t *testing.T) {
		cfg := limited(60)
		cfg.Policy.MonitorEvery, cfg.Rules = time.Minute, iterations(1) // a step has four minutes
		p := project{cfg: cfg, cast: map[string][]any{"plan": {steps(12)}, "code": {slow(230, tooMuch)}, "verify monitor": {slow(20, marks(90))}}}.play(t)
		assert.Equal(t, "planning: step budget", p.step(t, "p1.s1").FailReason)
		assert.Empty(t, p.asked["subplan"])
		assert.Zero(t, p.out.State.Metrics.ReplanCount)
	})
	t.Run("SC35 SC58 a run is continued twice, with a step that was begun and not attempted", func(t *testing.T) {
		from := delivery.State{PrimaryGoal: "x", Plans: []delivery.Plan{{ID: "p1", Approved: true, Status: "in_progress", Steps: []delivery.Step{
			{ID: "p1.s1", Number: 1, Description: "a", Status: "in_progress"},
		}}}, Agents: map[delivery.Role]*delivery.AgentState{delivery.Planner: {Requests: 0}}} // of the second run
		p := project{in: delivery.Input{From: &from}, cast: map[string][]any{"verify goal": {marks(75)}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 1, p.step(t, "p1.s1").Attempts)
		assert.Equal(t, 1, p.out.State.Metrics.ReplanCount)
	})
	t.Run("SC54 SC58 a plan that was not judged when the run ended", func(t *testing.T) {
		ended := project{cfg: limited(2), cast: map[string][]any{"verify plan": {flowtest.Hang()}}}.play(t)
		require.ErrorIs(t, ended.err, delivery.ErrTimeExpired)
		require.EqualValues(t, "pending", ended.out.State.Plans[0].Status)
		p := project{in: delivery.Input{From: &ended.out.State}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, delivery.StepFailed, p.out.State.Plans[0].Status)
	})
	t.Run("SC35 SC58 the first plan of a continued run is a further request", func(t *testing.T) {
		ended := project{cfg: limited(2), cast: map[string][]any{"plan": {flowtest.Hang()}}}.play(t)
		require.ErrorIs(t, ended.err, delivery.ErrTimeExpired)
		require.Empty(t, ended.out.State.Plans)
		p := project{in: delivery.Input{From: &ended.out.State}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 1, p.out.State.Metrics.ReplanCount)
	})
}

func TestStateAfterRevision(t *testing.T) {
	t.Run("SC65 SC34 a host sees the steps of a revised plan", func(t *testing.T) {
		cfg := delivery.Config{Policy: delivery.Policy{Revisions: 1, AcceptableFailures: 1}, Rules: fixes(1, 0)}
		more := object{"steps": []object{
			{"number": 2, "description": "other", "complexity": "simple"}, {"number": 3, "description": "more", "complexity": "simple"},
		}}
		seen := project{cfg: cfg, cast: map[string][]any{"check": {failed}, "revise": {more}}}.stateAt(t, "code", 2)
		assert.Equal(t, 3, seen.Metrics.TotalSteps)
		assert.Equal(t, 1, seen.Metrics.FailedSteps)
	})
}

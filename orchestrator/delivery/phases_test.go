package delivery

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/fsm"
)

// moves lists all that a table allows, a line a state: "event>target" in order.
func moves[S ~string](table *fsm.Table[S, move, string]) map[S]string {
	all := map[S]string{}
	for _, state := range table.States() {
		var options []string
		for _, o := range table.Allowed(state) {
			options = append(options, string(o.Event)+">"+string(o.To))
		}
		slices.Sort(options)
		all[state] = strings.Join(options, " ")
	}
	return all
}

// want sorts the words of each line as moves does.
func want[S ~string](lines map[S]string) map[S]string {
	for state, line := range lines {
		words := strings.Fields(line)
		slices.Sort(words)
		lines[state] = strings.Join(words, " ")
	}
	return lines
}

func TestPhases(t *testing.T) {
	const always = " fail>failed expire>time_expired abort>aborted cancel>aborted overspend>aborted"
	t.Run("SC54 S17 S18 S19 S20 S21 S23 the run", func(t *testing.T) {
		assert.Equal(t, want(map[Phase]string{
			phaseInitializing: "start>planning continue>executing refuse>failed" + always,
			phasePlanning:     "plan_rejected>planning plan_approved>executing plan_unverified>executing subplan_failed>executing plan_failed>failed" + always,
			phaseExecuting: "step_retried>executing step_failed>executing step_skipped>executing fix_rejected>executing subplan_failed>executing " +
				"subplan_started>planning goal_unmet>planning goal_failed>failed " +
				"code_approved>testing code_unverified>testing subplan_done>testing plan_done>testing" + always,
			phaseTesting: "tests_failed>executing step_failed>executing subplan_started>planning goal_unmet>planning goal_failed>failed " +
				"tests_passed>verifying tests_unverified>verifying integration_passed>verifying integration_unverified>verifying" + always,
			phaseVerifying: "step_approved>executing step_unverified>executing step_retried>executing step_failed>executing " +
				"subplan_started>planning goal_unmet>planning goal_failed>failed goal_approved>completed" + always,
			Completed: "", phaseFailed: "", phaseAborted: "", phaseExpired: "",
		}), moves(phases))
	})
	t.Run("SC54 S27 SC19 the step", func(t *testing.T) {
		assert.Equal(t, want(map[StepStatus]string{
			stepPending:    "start>in_progress skip>blocked fail>failed",
			stepInProgress: "retry>in_progress descend>blocked complete>completed fail>failed",
			StepBlocked:    "ascend>in_progress fail>failed",
			StepCompleted:  "", StepFailed: "",
		}), moves(stepPhases))
	})
	t.Run("SC54 S26 the plan", func(t *testing.T) {
		assert.Equal(t, want(map[StepStatus]string{
			stepPending:    "approve>in_progress fail>failed",
			stepInProgress: "complete>completed fail>failed",
			StepCompleted:  "", StepFailed: "",
		}), moves(planPhases))
	})
}

// The page of the team has the machines of runs, steps and plans.
func TestDiagrams(t *testing.T) {
	page, err := os.ReadFile("../../docs/delivery.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), phases.Mermaid(""))
	assert.Contains(t, string(page), stepPhases.Mermaid(""))
	assert.Contains(t, string(page), planPhases.Mermaid(""))
}

// Whatever happens, a run that has not ended can be ended, and only the goal's gate
// completes it.
func TestPhasesLaws(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		state := phaseInitializing
		for range rapid.IntRange(0, 40).Draw(r, "moves") {
			options := phases.Allowed(state)
			if len(options) == 0 {
				break
			}
			o := rapid.SampledFrom(options).Draw(r, "move")
			if o.To == phaseCompleted {
				assert.Equal(t, phaseVerifying, state)
				assert.Equal(t, moveGoalApproved, o.Event)
			}
			state = o.To
		}
		for _, end := range []move{moveFail, moveExpire, moveAbort, moveCancel, moveOverspend} {
			_, ok := phases.Next(state, end)
			assert.Equal(t, !phases.Terminal(state), ok, "S6 S53")
		}
	})
}

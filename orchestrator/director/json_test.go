package director

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/answer"
)

// The names under which agents and programs read and write data are promises.
func TestJSON(t *testing.T) {
	risk := 0.5
	task := TaskPlan{ID: "i", Title: "t", Description: "d", Component: "c", Phase: "p", Profile: "w", Priority: 1, DependsOn: []string{"x"}, Criteria: []string{"k"}, Risk: &risk}
	const taskJSON = `"id":"i","title":"t","description":"d","component":"c","phase":"p","assigned_worker_profile":"w","priority":1,"depends_on":["x"],"acceptance_criteria":["k"],"risk":0.5`
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{"B13 B121 a plan", decomposition{Tasks: []TaskPlan{task}}, `{"tasks":[{` + taskJSON + `}]}`},
		{
			"B52 BC33 a worker's result",
			WorkerResult{
				Status: statusWaiting, ResultPath: "r", Summary: "s", Artifact: "a", Suggested: []Suggestion{{TaskPlan: task, Rationale: "y"}},
				Insights: []InsightPlan{{ID: "i1", Topic: []string{"db"}, Summary: "s"}}, Decisions: []DecisionPlan{{Area: "db", AppliesTo: []string{"t"}, Summary: "s", Reason: "r"}},
				Escalation: &EscalationRequest{Type: "SPEC_MISMATCH", Reason: "r", Needs: "n", Affected: []string{"t"}, NonBlocking: true},
				Checkpoint: &CheckpointPlan{Resume: "r", Partial: json.RawMessage(`1`), Files: []string{"f"}}, Spawn: []Suggestion{{TaskPlan: task, FromParent: true}},
			},
			`{"status":"waiting_subtask","result_path":"r","summary":"s","artifact":"a","suggested_tasks":[{` + taskJSON + `,"rationale":"y"}],
			"insights":[{"id":"i1","topic":["db"],"summary":"s"}],"decisions":[{"area":"db","applies_to":["t"],"summary":"s","reason":"r"}],
			"escalation":{"type":"SPEC_MISMATCH","reason":"r","needs":"n","affected":["t"],"non_blocking":true},
			"checkpoint":{"resume":"r","partial":1,"files":["f"]},"spawn":[{` + taskJSON + `,"from_parent":true}]}`,
		},
		{
			"B69 BC56 a review",
			Review{
				Passed: true, Criteria: []CriterionAnswer{{Number: 1, Passed: true, Reasoning: "r", Suggestions: "s"}}, Tests: []blackboard.TestAnalysis{{Test: "T", Analysis: "a", Fault: blackboard.BothWrong}},
				Feedback: "f", Focus: "o", Notes: []string{"n"}, Refined: []string{"x"}, PlanWrong: true,
			},
			`{"passed":true,"criteria":[{"number":1,"passed":true,"reasoning":"r","suggestions":"s"}],"tests":[{"test":"T","analysis":"a","fault":"both"}],
			"feedback":"f","focus":"o","notes":["n"],"refined_test_criteria":["x"],"plan_wrong":true}`,
		},
		{"B82 B83 an assessment", Assessment{Alignment: 50, Trajectory: "STABLE", Repeating: true, Issue: "i", Nudge: "n"}, `{"alignment":50,"trajectory":"STABLE","repeating":true,"issue":"i","nudge":"n"}`},
		{
			"B45 a resolution",
			resolution{Resolved: true, Clarification: "c", Spec: map[string]json.RawMessage{"ui": json.RawMessage(`1`)}, Abandon: true, Reason: "r"},
			`{"resolved":true,"clarification":"c","spec":{"ui":1},"abandon":true,"reason":"r"}`,
		},
		{
			"B43 a re-plan",
			replanAnswer{Edit: []taskEdit{{ID: "a", AddNeeds: []string{"b"}, DropNeeds: []string{"c"}}}, Abandon: []abandonPlan{{ID: "a", Branch: true, CanProceed: []string{"b"}, Reason: "r"}}, Reason: "r"},
			`{"edit":[{"id":"a","add_depends_on":["b"],"drop_depends_on":["c"]}],"abandon":[{"id":"a","branch":true,"can_proceed":["b"],"reason":"r"}],"reason":"r"}`,
		},
		{"B44 BC43 a review of changes", changeReview{Suggestions: []suggestionVerdict{{Number: 1, Approve: true, Reason: "r"}}, CanProceed: []string{"a"}}, `{"suggestions":[{"number":1,"approve":true,"reason":"r"}],"can_proceed":["a"]}`},
		{"BC63 a conflict", conflictAnswer{DependsOn: []string{"a"}, Reason: "r"}, `{"depends_on":["a"],"reason":"r"}`},
		{"BX26 a person's answer", Answer{Action: ActionEdit, Guidance: "g", Criteria: []string{"c"}, Spec: map[string]json.RawMessage{"ui": json.RawMessage(`1`)}}, `{"action":"edit","guidance":"g","criteria":["c"],"spec":{"ui":1}}`},
		{"BC61 a check", []any{CheckInput{Task: "t", Commit: "c", Command: []string{"go"}}, CheckResult{Failed: []string{"T"}, Ran: 2, Output: "o"}}, `[{"task":"t","commit":"c","command":["go"]},{"passed":false,"failed":["T"],"ran":2,"output":"o"}]`},
		{
			"B13 B52 a worker's input has the names of the documents",
			WorkInput{
				Attempt: 1, Slice: 1, Objective: "o", Task: Task(blackboard.Definition{ID: "i", Component: "c", Phase: "p", Profile: "w", Parent: "x", FromParent: true, Placeholder: true}),
				Decisions: wireDecisions([]blackboard.Decision{{ID: "d1", Area: "db", AppliesTo: []string{"i"}, Summary: "s", At: time.Unix(0, 0).UTC()}}),
				Insights:  wireInsights([]blackboard.Insight{{ID: "i1", Summary: "s", SourceTask: "x", At: time.Unix(0, 0).UTC()}}),
			},
			`{"attempt":1,"slice":1,"objective":"o","profile":{"id":""},"task":{"id":"i","component":"c","phase":"p","assigned_worker_profile":"w","priority":0,
			"depends_on":null,"acceptance_criteria":null,"placeholder":true,"parent":"x","from_parent":true},
			"decisions":[{"id":"d1","area":"db","applies_to":["i"],"summary":"s","timestamp":"1970-01-01T00:00:00Z"}],
			"insights":[{"id":"i1","summary":"s","source_task":"x","timestamp":"1970-01-01T00:00:00Z"}]}`,
		},
		{
			"B44 B45 so have the director's",
			changeInput{Task: "t", Graph: graphInput{Tasks: []taskInput{{Blocked: (*wireBlocked)(&blackboard.BlockedReason{Type: blackboard.ByExternal, WaitingOn: []string{"key"}})}}}, Suggestions: []wireSuggestion{{Task{ID: "i"}, "r"}}},
			`{"graph":{"objective":"","profiles":null,"phases":null,"tasks":[{"id":"","component":"","phase":"","status":"","blocked_reason":{"type":"external","waiting_on":["key"]}}]},"task":"t",
			"suggestions":[{"id":"i","component":"","phase":"","assigned_worker_profile":"","priority":0,"depends_on":null,"acceptance_criteria":null,"rationale":"r"}]}`,
		},
		{"BC40 ends", Phases().States()[4:], `["completed","waiting_human","stuck","budget_exhausted","canceled","failed"]`},
		{"BX26 actions", [][]string{taskOptions, externalOptions, runOptions}, `[["retry","edit","accept","abandon","abandon_branch"],["provided","abandon","abandon_branch"],["retry","stop"]]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := json.Marshal(tt.value)
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(data))
		})
	}
	t.Run("B57 B82 the scale and the types are in the schemas that models get", func(t *testing.T) {
		shape, err := answer.For[Assessment]()
		require.NoError(t, err)
		assert.Contains(t, string(shape.JSON()), `"minimum":0,"maximum":100`)
		result, err := answer.For[WorkerResult]()
		require.NoError(t, err)
		for _, kind := range escalationTypes {
			assert.Contains(t, string(result.JSON()), string(kind))
		}
		people, err := answer.For[Answer]()
		require.NoError(t, err)
		for _, action := range append(taskOptions, append(externalOptions, runOptions...)...) {
			assert.Contains(t, string(people.JSON()), `"`+action+`"`)
		}
	})
}

package delivery

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// enum has the values that a field of an Issue may have.
func enum(field string) []string {
	f, _ := reflect.TypeFor[Issue]().FieldByName(field)
	return strings.Split(f.Tag.Get("enum"), ",")
}

// The names under which data is stored and shown are promises.
func TestJSON(t *testing.T) {
	coverage := 81.5
	code := CodeOutput{
		Summary: "s", Files: []File{{Path: "a.go", Content: "c"}}, Tests: []File{{Path: "b.go", Delete: true}},
		Commands: []string{"go generate"}, Blocked: true, NeedsSubPlan: true, Reason: "r",
	}
	result := TestResult{
		Kind: "run", Passed: true, Reason: "r", Ran: 2, Issues: []Issue{{Severity: "minor", Category: "smell", Description: "d", Location: "l"}},
		Suggestions: []string{"s"}, Coverage: &coverage, Output: "o", FixPlan: &FixPlan{Items: []string{"i"}},
	}
	verdict := Verdict{
		Kind: gateStep, Target: "p1.s1", Approved: true, Score: 90.5, Findings: []Issue{{Severity: "major", Category: "other", Description: "d"}}, Evidence: []string{"e"},
		Progress: "p", GoalAlignment: "g", Reason: "r", Recommendation: "n", Local: true, Level: LevelRemind,
	}
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{
			"S26 a plan",
			Plan{ID: "p1", Goal: "g", Analysis: "a", Steps: []Step{}, Depth: 2, ParentPlanID: "p0", Status: stepInProgress, Approved: true, CurrentStepIndex: 3},
			`{"id":"p1","goal":"g","analysis":"a","steps":[],"depth":2,"parentPlanId":"p0","status":"in_progress","approved":true,"currentStepIndex":3}`,
		},
		{
			"S27 SC49 a step",
			Step{
				ID: "p1.s1", Number: 1, Description: "d", Complexity: "complex", DependsOn: []int{2}, Status: StepBlocked, Depth: 1, ParentStepID: "p0.s1",
				SubSteps: []string{"p2.s1"}, Attempts: 1, MaxAttempts: 3, FailReason: "f", Code: &CodeOutput{}, Tests: &TestResult{}, Verification: &Verdict{},
			},
			`{"id":"p1.s1","number":1,"description":"d","complexity":"complex","dependsOn":[2],"status":"blocked","depth":1,"parentStepId":"p0.s1","subSteps":["p2.s1"],
			"attempts":1,"maxAttempts":3,"failReason":"f","code":{"summary":""},"tests":{"passed":false},"verification":{"kind":"","target":"","approved":false,"score":0}}`,
		},
		{
			"S12 SC49 code", code,
			`{"summary":"s","files":[{"path":"a.go","content":"c"}],"tests":[{"path":"b.go","delete":true}],"commands":["go generate"],"blocked":true,"needsSubPlan":true,"reason":"r"}`,
		},
		{
			"S13 SC49 a result of tests", result,
			`{"kind":"run","passed":true,"reason":"r","ran":2,"issues":[{"severity":"minor","category":"smell","description":"d","location":"l"}],
			"suggestions":["s"],"coverage":81.5,"output":"o","fixPlan":{"items":["i"]}}`,
		},
		{
			"S14 a verdict", verdict,
			`{"kind":"step","target":"p1.s1","approved":true,"score":90.5,"findings":[{"severity":"major","category":"other","description":"d"}],"evidence":["e"],
			"progress":"p","goalAlignment":"g","reason":"r","recommendation":"n","local":true,"level":"REMIND"}`,
		},
		{
			"S25 metrics",
			Metrics{1, 2, 3, 4, 5, 6, 7, 8},
			`{"totalSteps":1,"completedSteps":2,"failedSteps":3,"blockedSteps":4,"replanCount":5,"fixCycles":6,"verificationsPassed":7,"verificationsFailed":8}`,
		},
		{"SC6 escalation", Escalation{Issues: 4, Level: LevelCritical}, `{"issues":4,"level":"CRITICAL"}`},
		{
			"SC48 a ladder",
			Ladder{Remind: 1, Correct: 2, Refocus: 3, CorrectAt: 4, RefocusAt: 5, CriticalAt: 6, AbortAt: 7},
			`{"remind":1,"correct":2,"refocus":3,"correctAt":4,"refocusAt":5,"criticalAt":6,"abortAt":7}`,
		},
		{"SC48 thresholds", Thresholds{Plan: 1, Code: 2, Test: 3, Step: 4, Goal: 5}, `{"plan":1,"code":2,"test":3,"step":4,"goal":5}`},
		{"SC46 an apply", ApplyRequest{Files: []File{}}, `{"files":[]}`},
		{"SC46 a request for a snapshot", SnapshotRequest{Since: "x"}, `{"since":"x"}`},
		{"SC46 a snapshot", Snapshot{ID: "x", Diff: "d"}, `{"id":"x","diff":"d"}`},
		{"S23 phases", phases.States(), `["initializing","planning","executing","testing","verifying","completed","failed","aborted","time_expired"]`},
		{"S27 states of steps", stepPhases.States(), `["pending","in_progress","completed","failed","blocked"]`},
		{"S26 states of plans", planPhases.States(), `["pending","in_progress","completed","failed"]`},
		{"SC49 severities", enum("Severity"), `["critical","major","minor"]`},
		{"SC49 categories", enum("Category"), `["bug","security","smell","other"]`},
		{"S35 S40 levels", levels, `["NONE","REMIND","CORRECT","REFOCUS","CRITICAL","ABORT"]`},
		{"S41 S44 gates", []string{gatePlan, gateCode, gateTest, gateStep, gateGoal}, `["plan","code","test","step","goal"]`},
		{"SC46 operations", []string{OpSnapshot, OpApply, OpTest, OpRestore}, `["snapshot","apply","test","restore"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := json.Marshal(tt.value)
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(data))
		})
	}
}

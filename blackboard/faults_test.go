package blackboard_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/providers"
)

// damaged returns a board with one task, of which damage has changed something by hand.
func damaged(t *testing.T, damage func(b *blackboard.Board, task *blackboard.Task)) *blackboard.Board {
	t.Helper()
	r := newRun(t, task("a"))
	r.do(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: blackboard.Decision{Area: "db", Summary: "SQL"}})
	r.do(blackboard.RoleDirector, "", blackboard.AddInsight{Insight: blackboard.Insight{Summary: "it is slow"}})
	var b blackboard.Board
	require.NoError(t, json.Unmarshal([]byte(r.picture()), &b))
	damage(&b, &b.Tasks[0])
	return &b
}

// Open refuses what no changes can have made. Each line damages one part of a board.
func TestOpenFindsEachFault(t *testing.T) {
	for _, tt := range []struct {
		want   string
		damage func(b *blackboard.Board, task *blackboard.Task)
	}{
		{"runId is empty", func(b *blackboard.Board, _ *blackboard.Task) { b.RunID = " " }},
		{"objective is empty", func(b *blackboard.Board, _ *blackboard.Task) { b.Objective = "" }},
		{`spec[" "]: the area is empty`, func(b *blackboard.Board, _ *blackboard.Task) { b.Spec[" "] = json.RawMessage("1") }},
		{`spec["db"] is no JSON`, func(b *blackboard.Board, _ *blackboard.Task) { b.Spec["db"] = json.RawMessage("{") }},
		{`strategy is "LOST"`, func(b *blackboard.Board, _ *blackboard.Task) { b.Strategy = "LOST" }},
		{"spent or version is below 0", func(b *blackboard.Board, _ *blackboard.Task) { b.Version = -1 }},
		{"spent or version is below 0", func(b *blackboard.Board, _ *blackboard.Task) { b.Spent.Cost = -1 }},
		{`tasks[0] "a": a count is below 0`, func(_ *blackboard.Board, task *blackboard.Task) { task.RetryCount = -1 }},
		{`tasks[0] "a": a count is below 0`, func(_ *blackboard.Board, task *blackboard.Task) { task.ConflictCount = -1 }},
		{`tasks[0] "a": a count is below 0`, func(_ *blackboard.Board, task *blackboard.Task) { task.Attempt = -1 }},
		{`tasks[0] "a": a count is below 0`, func(_ *blackboard.Board, task *blackboard.Task) { task.Spent = providers.Usage{Calls: -1} }},
		{`status is "DONE", which is unknown`, func(_ *blackboard.Board, task *blackboard.Task) { task.Status = "DONE" }},
		{"blocked is for BLOCKED tasks", func(_ *blackboard.Board, task *blackboard.Task) { task.Status = blackboard.Blocked }},
		{"blocked is for BLOCKED tasks", func(_ *blackboard.Board, task *blackboard.Task) {
			task.Blocked = &blackboard.BlockedReason{Type: blackboard.ByExternal}
		}},
		{`blocked: type is "rain"`, func(_ *blackboard.Board, task *blackboard.Task) {
			task.Status, task.Blocked = blackboard.Blocked, &blackboard.BlockedReason{Type: "rain"}
		}},
		{"frozen is missing", func(_ *blackboard.Board, task *blackboard.Task) { task.Status = blackboard.AwaitingQA }},
		{"frozen is missing", func(_ *blackboard.Board, task *blackboard.Task) { task.Accepted = true }},
		{"frozen: branch or commit is empty", func(_ *blackboard.Board, task *blackboard.Task) {
			task.Frozen = &blackboard.Frozen{Path: "x", Branch: "b"}
		}},
		{`frozen: path is "../x"`, func(_ *blackboard.Board, task *blackboard.Task) {
			task.Frozen = &blackboard.Frozen{Path: "../x", Branch: "b", Commit: "c"}
		}},
		{`parent "z": no such task`, func(_ *blackboard.Board, task *blackboard.Task) { task.Parent = "z" }},
		{`parent "a" is not before it`, func(_ *blackboard.Board, task *blackboard.Task) { task.Parent = "a" }},
		{"fromParent is set, but parent is empty", func(_ *blackboard.Board, task *blackboard.Task) { task.FromParent = true }},
		{`component is "\xff"`, func(_ *blackboard.Board, task *blackboard.Task) { task.Component = "\xff" }},
		{`phase is " build"`, func(_ *blackboard.Board, task *blackboard.Task) { task.Phase = " build" }},
		{"risk is NaN, want 0 to 1", func(_ *blackboard.Board, task *blackboard.Task) { task.Risk = new(math.NaN()) }},
		{"risk is 1.5, want 0 to 1", func(_ *blackboard.Board, task *blackboard.Task) { task.Risk = new(1.5) }},
		{"criteria is empty", func(_ *blackboard.Board, task *blackboard.Task) { task.Criteria = nil }},
		{"criteria[0] is empty", func(_ *blackboard.Board, task *blackboard.Task) { task.Criteria = []string{" "} }},
		{`designLog[0]: id "" is empty or taken`, func(b *blackboard.Board, _ *blackboard.Task) { b.DesignLog[0].ID = "" }},
		{`designLog[1]: id "d1" is empty or taken`, func(b *blackboard.Board, _ *blackboard.Task) { b.DesignLog = append(b.DesignLog, b.DesignLog[0]) }},
		{`designLog[0]: appliesTo[0] "z": no such task`, func(b *blackboard.Board, _ *blackboard.Task) { b.DesignLog[0].AppliesTo = []string{"z"} }},
		{`insights[0]: id "" is empty or taken`, func(b *blackboard.Board, _ *blackboard.Task) { b.Insights[0].ID = "" }},
		{`insights[0]: sourceTask "z": no such task`, func(b *blackboard.Board, _ *blackboard.Task) { b.Insights[0].SourceTask = "z" }},
		{`memories["z"]: no such task`, func(b *blackboard.Board, _ *blackboard.Task) {
			b.Memories = map[string][]providers.Message{"z": user("x")}
		}},
		{`guardian: watches["z"]: no such task`, func(b *blackboard.Board, _ *blackboard.Task) {
			b.Guardian.Watches = map[string]blackboard.Watch{"z": {}}
		}},
		{`files: path is "/x"`, func(b *blackboard.Board, _ *blackboard.Task) { b.Files = map[string]blackboard.File{"/x": {}} }},
		{`files: "x": task "z": no such task`, func(b *blackboard.Board, _ *blackboard.Task) { b.Files = map[string]blackboard.File{"x": {Task: "z"}} }},
	} {
		t.Run(tt.want, func(t *testing.T) {
			_, err := blackboard.Open(damaged(t, tt.damage), preference)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := blackboard.Open(damaged(t, func(*blackboard.Board, *blackboard.Task) {}), preference)
	require.NoError(t, err, "the board without damage")
}

func TestOpenNamesAllFaults(t *testing.T) {
	_, err := blackboard.Open(damaged(t, func(b *blackboard.Board, task *blackboard.Task) {
		b.RunID, b.Insights[0].ID, task.Attempt = "", "", -1
	}), preference)
	for _, want := range []string{"runId is empty", "insights[0]: id", "a count is below 0"} {
		require.ErrorContains(t, err, want)
	}
}

func TestWatchIsChecked(t *testing.T) {
	r := newRun(t, task("a"))
	r.evaluate()
	r.dispatch("a")
	for want, w := range map[string]blackboard.Watch{
		"alignments[1] is 101, want 0 to 100": {Alignments: []float64{0, 101}},
		"alignments[0] is NaN, want 0 to 100": {Alignments: []float64{math.NaN()}},
		"alignments[0] is -1, want 0 to 100":  {Alignments: []float64{-1}},
	} {
		r.refuses(blackboard.RoleGuardian, "a", blackboard.SetWatch{Watch: w}, want)
	}
	for _, w := range []blackboard.Watch{{NudgesIgnored: -1}, {Tokens: -1}, {ToolCalls: -1}, {Writes: -1}} {
		r.refuses(blackboard.RoleGuardian, "a", blackboard.SetWatch{Watch: w}, "a count is below 0")
	}
	r.do(blackboard.RoleGuardian, "a", blackboard.SetWatch{Watch: blackboard.Watch{Alignments: []float64{0, 100}}})
}

func TestSuggestedRiskIsANumber(t *testing.T) {
	r := newRun(t, task("a"))
	r.evaluate()
	r.dispatch("a")
	for _, risk := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		s := blackboard.Suggestion{Definition: blackboard.Definition{Risk: new(risk)}}
		before := len(r.task("a").Suggested)
		require.ErrorContains(t, r.try(blackboard.RoleWorker, "a", blackboard.Suggest{Suggestions: []blackboard.Suggestion{s}}), "want a number")
		assert.Len(t, r.task("a").Suggested, before)
	}
	far := blackboard.Suggestion{Definition: blackboard.Definition{Risk: new(7.0)}}
	r.do(blackboard.RoleWorker, "a", blackboard.Suggest{Suggestions: []blackboard.Suggestion{far}})
}

// The spec of a component far below is in the view: c builds on b, which builds on a.
func TestViewHasTheSpecOfAllFoundations(t *testing.T) {
	r := newRun(t, task("db_build"), task("api_build", "db_build"), task("ui_build", "api_build"), task("mail_build"))
	r.do(blackboard.RoleDirector, "", blackboard.SetSpec{Area: "mail", Value: json.RawMessage(`{}`)})
	v, err := r.View("ui_build")
	require.NoError(t, err)
	assert.Contains(t, v.Spec, "ui")
	assert.Contains(t, v.Spec, "api", "ui needs it")
	assert.Contains(t, v.Spec, "db", "what ui needs needs it")
	assert.NotContains(t, v.Spec, "mail", "another component")
}

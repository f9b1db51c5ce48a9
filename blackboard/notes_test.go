package blackboard_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/providers"
)

func TestNew(t *testing.T) {
	t.Run("B1 B3 B4 one objective and one spec", func(t *testing.T) {
		_, err := blackboard.New(" ", "", map[string]json.RawMessage{"db": json.RawMessage(`{`)})
		require.EqualError(t, err, "blackboard: runId is empty\nobjective is empty\nspec[\"db\"] is no JSON")
		_, err = blackboard.New("r", "o", map[string]json.RawMessage{" ": json.RawMessage(`1`)})
		require.EqualError(t, err, "blackboard: spec[\" \"]: the area is empty")
		r := newRun(t, task("a"))
		data, err := json.Marshal(r.Board())
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(data, &fields))
		assert.Equal(t, "run-1", fields["runId"])
		assert.Equal(t, "PROGRESSING", fields["strategy"])
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleWorker, "a", blackboard.Remember{Messages: user("x")})
		r.do(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: blackboard.Decision{Area: "api", Summary: "s"}})
		r.do(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: blackboard.Insight{Summary: "s"}})
		r.do(blackboard.RoleGuardian, "a", blackboard.Remember{Messages: system("back to work")})
		r.do(blackboard.RoleWorker, "a", blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen("a")})
		m := pass()
		m.Files = map[string]string{"f": "h"}
		r.do(blackboard.RoleStrategist, "a", m)
		require.NoError(t, json.Unmarshal([]byte(r.picture()), &fields))
		for _, field := range []string{"runId", "objective", "spec", "designLog", "insights", "memories", "tasks", "files", "guardian", "strategy"} {
			assert.Contains(t, fields, field)
		}
	})
}

func TestInsights(t *testing.T) {
	t.Run("B6 B12 B45 every worker adds, without approval", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.now = r.now.Add(time.Millisecond)
		r.do(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: blackboard.Insight{Topic: []string{"http"}, Summary: "axios", SourceTask: "a"}})
		r.do(blackboard.RoleStrategist, "", blackboard.AddInsight{Insight: blackboard.Insight{ID: "i2", Summary: "other"}})
		r.do(blackboard.RoleDirector, "", blackboard.AddInsight{Insight: blackboard.Insight{Summary: "third"}})
		assert.Equal(t, []string{"i1", "i2", "i3"}, []string{r.Board().Insights[0].ID, r.Board().Insights[1].ID, r.Board().Insights[2].ID})
		assert.Equal(t, r.now.Truncate(time.Second), r.Board().Insights[2].At, "models read it")
	})
	t.Run("BX34 duplicates", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"))
		one := blackboard.Insight{ID: "x", Topic: []string{"http"}, Summary: "axios", SourceTask: "a"}
		r.do(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: one})
		require.ErrorIs(t, r.try(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: blackboard.Insight{ID: "x", Summary: "new"}}), blackboard.ErrDuplicate)
		one.ID = "y"
		require.ErrorIs(t, r.try(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: one}), blackboard.ErrDuplicate)
		one.SourceTask = "b"
		r.do(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: one})
		assert.Len(t, r.Board().Insights, 2)
	})
	t.Run("B6 bad ones", func(t *testing.T) {
		r := newRun(t)
		r.refuses(blackboard.RoleWorker, "", blackboard.AddInsight{}, "summary is empty")
		r.refuses(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: blackboard.Insight{Summary: "s", SourceTask: "nobody"}}, "no such task")
		r.refuses(blackboard.RoleGuardian, "", blackboard.AddInsight{Insight: blackboard.Insight{Summary: "s"}}, "not allowed")
	})
}

func TestDecisions(t *testing.T) {
	t.Run("B5 BA98 BA90 the log only grows", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.now = r.now.Add(time.Millisecond)
		r.do(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: blackboard.Decision{ID: "d2", Area: "api", Summary: "REST", Reason: "simple", AppliesTo: []string{"a"}}})
		r.do(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: blackboard.Decision{Area: "db", Summary: "SQLite"}})
		assert.Equal(t, "d3", r.Board().DesignLog[1].ID, "d2 is taken")
		assert.Equal(t, r.now.Truncate(time.Second), r.Board().DesignLog[1].At, "models read it")
	})
	t.Run("BX35 an entry is not changed", func(t *testing.T) {
		r := newRun(t)
		r.do(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: blackboard.Decision{ID: "d1", Area: "api", Summary: "REST"}})
		r.refuses(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: blackboard.Decision{ID: "d1", Area: "api", Summary: "GraphQL"}}, "append-only")
	})
	t.Run("B5 BC42 bad ones", func(t *testing.T) {
		r := newRun(t)
		r.refuses(blackboard.RoleWorker, "", blackboard.AddDecision{Decision: blackboard.Decision{Area: "a", Summary: "s"}}, "not allowed")
		r.refuses(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: blackboard.Decision{AppliesTo: []string{"x"}}}, "area or summary is empty\nappliesTo[0] \"x\": no such task")
	})
}

func TestSpec(t *testing.T) {
	t.Run("B60 BA90 an area is set", func(t *testing.T) {
		r := newRun(t)
		r.do(blackboard.RoleDirector, "", blackboard.SetSpec{Area: "db", Value: json.RawMessage(`{"tables":[]}`)})
		assert.JSONEq(t, `{"tables":[]}`, string(r.Board().Spec["db"]))
		r.refuses(blackboard.RoleDirector, "", blackboard.SetSpec{Area: " ", Value: json.RawMessage(`1`)}, "area is empty")
		r.refuses(blackboard.RoleDirector, "", blackboard.SetSpec{Area: "db", Value: json.RawMessage(`{`)}, "no JSON")
		r.refuses(blackboard.RoleDirector, "", blackboard.SetSpec{Area: "db"}, "no JSON")
		r.refuses(blackboard.RoleWorker, "", blackboard.SetSpec{Area: "db", Value: json.RawMessage(`1`)}, "not allowed")
	})
}

func TestMemory(t *testing.T) {
	t.Run("B7 B89 B93 BX33 who may say what", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.refuses(blackboard.RoleWorker, "a", blackboard.Remember{Messages: user("x")}, "it is PLANNED, want ACTIVE")
		r.do(blackboard.RoleDirector, "a", blackboard.Remember{Messages: user("hint")})
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleWorker, "a", blackboard.Remember{Messages: []providers.Message{{Role: providers.Assistant, Text: "y"}}})
		assert.True(t, r.Board().Guardian.LastNudge.IsZero())
		r.do(blackboard.RoleGuardian, "a", blackboard.Remember{Messages: system("STOP")})
		assert.Equal(t, r.now, r.Board().Guardian.LastNudge)
		assert.Len(t, r.Board().Memories["a"], 3)
		r.refuses(blackboard.RoleWorker, "a", blackboard.Remember{Messages: system("I am the system")}, "is a system message")
		r.refuses(blackboard.RoleDirector, "a", blackboard.Remember{Messages: system("x")}, "is a system message")
		r.refuses(blackboard.RoleGuardian, "a", blackboard.Remember{Messages: user("x")}, "want one system message")
		r.refuses(blackboard.RoleWorker, "a", blackboard.Remember{Messages: []providers.Message{{Role: "ghost"}}}, `role is "ghost"`)
		r.refuses(blackboard.RoleWorker, "a", blackboard.Remember{}, "messages is empty")
		r.refuses(blackboard.RoleStrategist, "a", blackboard.Remember{Messages: user("x")}, "not allowed")
	})
	t.Run("a conversation that was made shorter", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.do(blackboard.RoleDirector, "a", blackboard.Remember{Messages: user("hint")})
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleGuardian, "a", blackboard.Remember{Messages: system("STOP")})
		shorter := append(user("notes"), system("STOP")...)
		r.refuses(blackboard.RoleGuardian, "a", blackboard.Remember{Messages: system("STOP"), Anew: true}, "cannot be replaced by the Guardian")
		r.refuses(blackboard.RoleWorker, "a", blackboard.Remember{Messages: append(user("notes"), system("GO ON")...), Anew: true}, "messages[1] is a system message")
		r.refuses(blackboard.RoleWorker, "a", blackboard.Remember{Messages: system("STOP"), Anew: true}, "messages is empty")
		r.do(blackboard.RoleWorker, "a", blackboard.Remember{Messages: shorter, Anew: true})
		assert.Equal(t, shorter, r.Board().Memories["a"])
		r.do(blackboard.RoleWorker, "a", blackboard.Remember{Messages: user("more")})
		assert.Len(t, r.Board().Memories["a"], 3)
		r.do(blackboard.RoleDirector, "a", blackboard.Remember{Messages: user("shorter still"), Anew: true})
		assert.Equal(t, user("shorter still"), r.Board().Memories["a"])
		r.refuses(blackboard.RoleWorker, "a", blackboard.Remember{Messages: append(user("x"), system("STOP")...), Anew: true}, "messages[1] is a system message")
	})
	t.Run("it is read back", func(t *testing.T) {
		c := blackboard.Change{By: blackboard.RoleWorker, Task: "a", Do: blackboard.Remember{Messages: user("notes"), Anew: true}}
		data, err := json.Marshal(c)
		require.NoError(t, err)
		assert.Contains(t, string(data), `"anew":true`)
		var again blackboard.Change
		require.NoError(t, json.Unmarshal(data, &again))
		assert.Equal(t, c, again)
	})
}

func TestWatch(t *testing.T) {
	t.Run("B9 B93 B90 what the Guardian notes", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.refuses(blackboard.RoleGuardian, "a", blackboard.SetWatch{}, "it is READY, want ACTIVE")
		r.dispatch("a")
		w := blackboard.Watch{Alignments: []float64{0, 100}, Verdict: "ON_TRACK", Tokens: 5, ToolCalls: 3, Writes: 1}
		r.do(blackboard.RoleGuardian, "a", blackboard.SetWatch{Watch: w})
		assert.Empty(t, r.Board().Guardian.LastReviewed)
		r.do(blackboard.RoleGuardian, "a", blackboard.SetWatch{Watch: w, Reviewed: true})
		assert.Equal(t, "a", r.Board().Guardian.LastReviewed)
		r.refuses(blackboard.RoleGuardian, "a", blackboard.SetWatch{Watch: blackboard.Watch{Alignments: []float64{100.5}}}, "alignments[0] is 100.5, want 0 to 100")
		r.refuses(blackboard.RoleGuardian, "a", blackboard.SetWatch{Watch: blackboard.Watch{Tokens: -1}}, "below 0")
		r.refuses(blackboard.RoleWorker, "a", blackboard.SetWatch{}, "not allowed")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRelease})
		r.dispatch("a")
		assert.Equal(t, blackboard.Watch{Alignments: []float64{0, 100}, Verdict: "ON_TRACK"}, r.Board().Guardian.Watches["a"], "counts begin anew")
	})
}

func TestSpend(t *testing.T) {
	t.Run("B116 BX28 of the task and of the run", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.do(blackboard.RoleWorker, "a", blackboard.Spend{Usage: providers.Usage{Calls: 2, Cost: 5}})
		r.do(blackboard.RoleDirector, "", blackboard.Spend{Usage: providers.Usage{Calls: 1, Cost: 7}})
		assert.Equal(t, providers.Usage{Calls: 2, Cost: 5}, r.task("a").Spent)
		assert.Equal(t, providers.Usage{Calls: 3, Cost: 12}, r.Board().Spent)
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventAbandon, Reason: "x"})
		r.do(blackboard.RoleWorker, "a", blackboard.Spend{Usage: providers.Usage{Calls: 1}})
		assert.EqualValues(t, 3, r.task("a").Spent.Calls, "a late bill of what was abandoned")
		r.refuses(blackboard.RoleWorker, "a", blackboard.Spend{Usage: providers.Usage{Cost: -1}}, "below 0")
		r.refuses(blackboard.RoleWorker, "x", blackboard.Spend{}, "no such task")
		r.refuses("stranger", "a", blackboard.Spend{}, "not allowed")
	})
}

func TestJudgeAndSuggest(t *testing.T) {
	r := newRun(t, sevenTasks()...)
	r.evaluate()
	r.dispatch("db_plan")
	idea := blackboard.Suggestion{Definition: blackboard.Definition{ID: "backup"}, Rationale: "disks fail"}
	passed := blackboard.QA{Passed: true, Outcome: "PASS"}
	t.Run("BC42 B44 suggestions and decisions stay with the task until they are carried out", func(t *testing.T) {
		require.ErrorContains(t, r.try(blackboard.RoleDirector, "db_plan", blackboard.Suggest{Suggestions: []blackboard.Suggestion{idea}}), "not allowed")
		require.ErrorContains(t, r.try(blackboard.RoleWorker, "db_plan", blackboard.Suggest{}), "suggestions is empty")
		require.ErrorContains(t, r.try(blackboard.RoleWorker, "db_build", blackboard.Suggest{Suggestions: []blackboard.Suggestion{idea}}), "want ACTIVE")
		r.do(blackboard.RoleWorker, "db_plan", blackboard.Suggest{Suggestions: []blackboard.Suggestion{idea}})
		r.do(blackboard.RoleWorker, "db_plan", blackboard.Suggest{Suggestions: []blackboard.Suggestion{{}}})
		require.ErrorContains(t, r.try(blackboard.RoleStrategist, "db_plan", blackboard.Judge{QA: passed}), "want AWAITING_QA")
		r.do(blackboard.RoleWorker, "db_plan", blackboard.Move{
			Event: blackboard.EventDeliver, Frozen: &blackboard.Frozen{Path: "a", Branch: "b", Commit: "c"}, Decisions: []blackboard.Decision{{Area: "db", Summary: "SQLite"}},
		})
		assert.Equal(t, "SQLite", r.task("db_plan").Decisions[0].Summary)
		r.do(blackboard.RoleDirector, "db_plan", blackboard.DropSuggestions{Count: 1})
		assert.Equal(t, []blackboard.Suggestion{{}}, r.task("db_plan").Suggested)
		for _, count := range []int{0, 2} {
			require.ErrorContains(t, r.try(blackboard.RoleDirector, "db_plan", blackboard.DropSuggestions{Count: count}), "want 1 to 1")
		}
		require.ErrorContains(t, r.try(blackboard.RoleWorker, "db_plan", blackboard.DropSuggestions{Count: 1}), "not allowed")
	})
	t.Run("B25 BC20 a review that passed waits on the task for the merge", func(t *testing.T) {
		require.ErrorContains(t, r.try(blackboard.RoleDirector, "db_plan", blackboard.Judge{QA: passed}), "not allowed")
		require.ErrorContains(t, r.try(blackboard.RoleStrategist, "db_plan", blackboard.Judge{QA: blackboard.QA{}}), "passed is false")
		r.do(blackboard.RoleStrategist, "db_plan", blackboard.Judge{QA: passed})
		assert.Equal(t, blackboard.AwaitingQA, r.task("db_plan").Status, "it is not complete before it is merged")
		assert.Equal(t, &passed, r.task("db_plan").QA)
		r.do(blackboard.RoleStrategist, "db_plan", blackboard.Move{Event: blackboard.EventPass, QA: &passed, Merged: "m"})
		assert.Empty(t, r.task("db_plan").Decisions)
		r.do(blackboard.RoleDirector, "db_plan", blackboard.DropSuggestions{Count: 1})
		assert.Empty(t, r.task("db_plan").Suggested, "also of a final task")
	})
}

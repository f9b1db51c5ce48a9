package blackboard_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

func TestRestore(t *testing.T) {
	valid := func(t *testing.T) *run {
		r := newRun(t, sevenTasks()...)
		r.complete("db_plan")
		r.evaluate()
		r.deliver("db_build")
		r.dispatch("api_plan")
		r.do(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: blackboard.Insight{Summary: "s"}})
		r.do(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: blackboard.Decision{Area: "a", Summary: "s"}})
		return r
	}
	t.Run("B119 a snapshot is the same board again", func(t *testing.T) {
		r := valid(t)
		again, err := blackboard.Restore([]byte(r.picture()), preference)
		require.NoError(t, err)
		assert.Equal(t, r.Board(), again.Board())
		data, err := again.Snapshot()
		require.NoError(t, err)
		assert.Equal(t, r.picture(), string(data))
		_, ok := again.Next(routing.Limits{Global: 1})
		assert.False(t, ok, "api_plan is ACTIVE")
	})
	t.Run("B110 B119 a board that could not have come about", func(t *testing.T) {
		for _, tt := range []struct{ old, by, want string }{
			{`"runId":"run-1"`, `"runId":""`, "runId is empty"},
			{`"strategy":"PROGRESSING"`, `"strategy":"LOST"`, `strategy is "LOST"`},
			{`"version":`, `"version":-`, "below 0"},
			{`"status":"AWAITING_QA"`, `"status":"DREAMING"`, `status is "DREAMING", which is unknown`},
			{`"status":"BLOCKED","blocked"`, `"status":"PLANNED","blocked"`, "blocked is for BLOCKED tasks, and this one is PLANNED"},
			{`"type":"dependency"`, `"type":"lunch"`, `type is "lunch"`},
			{`"id":"db_build"`, `"id":"db_plan"`, "the id is taken"},
			{`"id":"api_plan"`, `"id":"x"`, `needs "api_plan", which does not exist`},
			{`"dependsOn":[]`, `"dependsOn":["db_test"]`, `"db_plan" is done, but needs "db_test", which is waiting`},
			{`"dependsOn":["db_build"]`, `"dependsOn":["db_test"]`, `"db_test" needs itself`},
			{`"dependsOn":["db_build"]`, `"parent":"x","dependsOn":["db_build"]`, `parent "x": no such task`},
			{`"dependsOn":["db_build"]`, `"parent":"views_build","dependsOn":["db_build"]`, `parent "views_build" is not before it`},
			{`"branch":"task/x/db_build","commit":"c-db_build"`, `"branch":"","commit":"c"`, "frozen: branch or commit is empty"},
			{`"path":"artifacts/db_build.md"`, `"path":"../x"`, `frozen: path is "../x"`},
			{`"dependsOn":["db_plan"]`, `"dependsOn":["db_plan","db_test"]`, `it is AWAITING_QA, but needs "db_test", which is BLOCKED`},
			{`"frozen":{"path":"artifacts/db_build.md","branch":"task/x/db_build","commit":"c-db_build"},`, ``, "frozen is missing"},
			{`"retryCount":0`, `"retryCount":-1`, "a count is below 0"},
			{`"criteria":["The`, `"criteria":["","The`, "criteria[0] is empty"},
			{`"id":"i1"`, `"id":""`, `insights[0]: id "" is empty or taken`},
			{`"id":"d1"`, `"id":""`, `designLog[0]: id "" is empty or taken`},
			{`"tasks":`, `"memories":{"x":[]},"tasks":`, `memories["x"]: no such task`},
			{`"tasks":`, `"guardian":{"watches":{"x":{}}},"tasks":`, `guardian: watches["x"]: no such task`},
			{`"tasks":`, `"guardian":{"watches":{"db_test":{"alignments":[101],"tokens":-1}}},"tasks":`, "guardian: watches[\"db_test\"]: alignments[0] is 101, want 0 to 100\nguardian: watches[\"db_test\"]: a count is below 0"},
			{`"tasks":`, `"files":{"/x":{"branch":"","commit":"","task":""}},"tasks":`, `files: path is "/x"`},
			{`"tasks":`, `"files":{"x":{"branch":"","commit":"","task":"y"}},"tasks":`, `files: "x": task "y": no such task`},
			{`"id":"i1"`, `"id":"i1","sourceTask":"x"`, `insights[0]: sourceTask "x": no such task`},
			{`"id":"d1"`, `"id":"d1","appliesTo":["x"]`, `designLog[0]: appliesTo[0] "x": no such task`},
			{`"tasks":`, `"surprise":1,"tasks":`, `unknown field "surprise"`},
			{`{"runId"`, `{} {"runId"`, "data after the board"},
		} {
			text := valid(t).picture()
			require.Contains(t, text, tt.old)
			_, err := blackboard.Restore([]byte(strings.Replace(text, tt.old, tt.by, 1)), preference)
			require.ErrorContains(t, err, tt.want)
		}
	})
	t.Run("BX34 BX35 what is known stays known", func(t *testing.T) {
		r := valid(t)
		again, err := blackboard.Restore([]byte(r.picture()), preference)
		require.NoError(t, err)
		require.ErrorIs(t, again.Apply(blackboard.Change{By: blackboard.RoleWorker, Do: blackboard.AddInsight{Insight: blackboard.Insight{Summary: "s"}}}), blackboard.ErrDuplicate)
		require.ErrorContains(t, again.Apply(blackboard.Change{By: blackboard.RoleDirector, Do: blackboard.AddDecision{Decision: blackboard.Decision{ID: "d1", Area: "a", Summary: "t"}}}), "append-only")
	})
}

func TestChangeJSON(t *testing.T) {
	t.Run("B110 B119 a change survives", func(t *testing.T) {
		priority := 3
		for _, do := range []blackboard.Action{
			blackboard.AddTasks{Tasks: sevenTasks()},
			blackboard.Split{Into: nineTasks()},
			blackboard.Edit{Priority: &priority, DropNeeds: []string{"x"}},
			blackboard.Refine{Criteria: []string{"c"}},
			fail(), pass(),
			blackboard.Reblock{Blocked: blackboard.BlockedReason{Type: blackboard.ByExternal}},
			blackboard.AddInsight{Insight: blackboard.Insight{Summary: "s"}},
			blackboard.AddDecision{Decision: blackboard.Decision{Area: "a"}},
			blackboard.SetSpec{Area: "a", Value: json.RawMessage(`{"x":1}`)},
			blackboard.Remember{Messages: user("x")},
			blackboard.SetWatch{Watch: blackboard.Watch{Tokens: 1}, Reviewed: true},
			blackboard.Judge{QA: blackboard.QA{Passed: true, By: "human"}},
			blackboard.Suggest{Suggestions: []blackboard.Suggestion{{Definition: blackboard.Definition{ID: "b"}, Rationale: "r"}}},
			blackboard.DropSuggestions{Count: 1},
			blackboard.Spend{Usage: providers.Usage{Calls: 1}},
			blackboard.Steer{Event: blackboard.Progress},
		} {
			c := blackboard.Change{By: blackboard.RoleDirector, At: start, Task: "a", Do: do}
			data, err := json.Marshal(c)
			require.NoError(t, err)
			var again blackboard.Change
			require.NoError(t, json.Unmarshal(data, &again))
			assert.Equal(t, c, again)
		}
	})
	t.Run("B110 bad ones", func(t *testing.T) {
		var c blackboard.Change
		require.ErrorContains(t, json.Unmarshal([]byte(`{"kind":"dance","do":{}}`), &c), `kind of a change is "dance"`)
		require.ErrorContains(t, json.Unmarshal([]byte(`{"kind":"move","do":{"jump":1}}`), &c), `unknown field "jump"`)
		require.Error(t, json.Unmarshal([]byte(`{"kind":"move"}`), &c))
		require.ErrorContains(t, json.Unmarshal([]byte(`{"kind":"forgive","by":"director","task_id":"a","do":{}}`), &c), `unknown field "task_id"`)
		require.ErrorContains(t, json.Unmarshal([]byte(`null`), &c), `kind of a change is ""`)
		require.Error(t, json.Unmarshal([]byte(`7`), &c))
		_, err := json.Marshal(blackboard.Change{})
		require.ErrorContains(t, err, "without an action")
	})
}

var (
	someRoles  = []blackboard.Role{blackboard.RoleDirector, blackboard.RoleDirector, blackboard.RoleWorker, blackboard.RoleStrategist, blackboard.RoleGuardian}
	someEvents = func() (events []blackboard.Event) {
		for e := range contentsOf() {
			events = append(events, e)
		}
		slices.Sort(events)
		return events
	}()
)

// lively are the states in which much can happen.
var lively = []blackboard.State{blackboard.Planned, blackboard.Ready, blackboard.Active, blackboard.AwaitingQA, blackboard.FailedQA, blackboard.Blocked, blackboard.WaitingHuman}

// drawChange draws a change that is often fit: with what its event needs.
func drawChange(t *rapid.T, r *run, count *int) blackboard.Change {
	id := func() string {
		if live := r.In(lively...); len(live) > 0 && rapid.IntRange(0, 9).Draw(t, "wild") > 0 {
			return rapid.SampledFrom(live).Draw(t, "task")
		}
		return fmt.Sprint("t", rapid.IntRange(0, max(*count, 1)).Draw(t, "task"))
	}
	fresh := func() blackboard.Definition {
		*count++
		d := task(fmt.Sprint("t", *count-1))
		for range rapid.IntRange(0, 2).Draw(t, "needs") {
			if need := id(); !slices.Contains(d.DependsOn, need) {
				d.DependsOn = append(d.DependsOn, need)
			}
		}
		return d
	}
	c := blackboard.Change{By: rapid.SampledFrom(someRoles).Draw(t, "by"), Task: id(), At: r.now}
	what := rapid.SampledFrom([]int{0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}).Draw(t, "what")
	if *count == 0 {
		what = 0
	}
	switch what {
	case 0:
		c.Do = blackboard.AddTasks{Tasks: []blackboard.Definition{fresh(), fresh()}}
	case 1:
		c.Do = blackboard.Split{Into: []blackboard.Definition{fresh(), fresh()}}
	case 2:
		c.Do = blackboard.Edit{AddNeeds: []string{id(), id()}}
		if rapid.Bool().Draw(t, "drop") {
			c.Do = blackboard.Edit{DropNeeds: []string{id()}}
		}
	case 3:
		c.Do = rapid.SampledFrom([]blackboard.Action{
			blackboard.Remember{Messages: user("x")}, blackboard.Judge{QA: blackboard.QA{Passed: true}}, blackboard.Suggest{Suggestions: make([]blackboard.Suggestion, 2)}, blackboard.DropSuggestions{Count: 1},
		}).Draw(t, "note")
	default:
		c.Do = drawMove(t, r, &c, id)
	}
	return c
}

// drawMove draws an event that the table allows for the task, mostly, and what it needs.
func drawMove(t *rapid.T, r *run, c *blackboard.Change, id func() string) blackboard.Move {
	m := blackboard.Move{Event: rapid.SampledFrom(someEvents).Draw(t, "event")}
	if task, ok := r.Task(c.Task); ok && !task.Final() && rapid.IntRange(0, 9).Draw(t, "wild") > 0 {
		options := blackboard.TaskTable().Allowed(task.Status)
		if rapid.IntRange(0, 3).Draw(t, "end") > 0 {
			options = options[:len(options)-1] // abandon is the last one
		}
		option := rapid.SampledFrom(options).Draw(t, "option")
		m.Event, c.By = option.Event, option.Roles[0]
	}
	switch m.Event { //nolint:exhaustive // the others need nothing
	case blackboard.EventBlock, blackboard.EventPause, blackboard.EventWaitFix:
		m.Blocked = &blackboard.BlockedReason{Type: rapid.SampledFrom([]blackboard.BlockType{blackboard.ByDependency, blackboard.BySubtask, blackboard.ByExternal}).Draw(t, "type"), WaitingOn: []string{"key"}}
		if rapid.Bool().Draw(t, "more") {
			m.Needs = []string{id(), id()}
		}
	case blackboard.EventDeliver:
		m.Frozen = frozen(c.Task)
	case blackboard.EventPass:
		m = pass()
	case blackboard.EventFail:
		m = fail()
	case blackboard.EventConflict:
		m.QA = &blackboard.QA{Kind: blackboard.MergeConflict}
	case blackboard.EventUngraded:
		m.QA = &blackboard.QA{Kind: blackboard.NoReview}
	case blackboard.EventLose:
		m.QA = &blackboard.QA{Kind: blackboard.Crashed}
	case blackboard.EventAsk, blackboard.EventEscalate, blackboard.EventAbandon:
		m.Reason = "because"
	default:
	}
	if m.Event == blackboard.EventLose || m.Event == blackboard.EventPhoenix || m.Event == blackboard.EventWaitFix {
		m.Messages = system("again")
	}
	return m
}

func TestBoardLaws(t *testing.T) {
	t.Run("B27 B110 B119 BX13 BC46 any changes: refused ones change nothing, and a reopened board behaves the same", rapid.MakeCheck(func(t *rapid.T) {
		r, count := newRun(t), 0
		limits := routing.Limits{Global: 2, Profiles: map[string]int{"code_worker": 1}}
		var journal []blackboard.Change
		apply := func(c blackboard.Change) {
			before := r.picture()
			if err := r.Apply(c); err != nil {
				require.Equal(t, before, r.picture(), "%v", err)
				return
			}
			journal = append(journal, c)
		}
		for range rapid.IntRange(20, 100).Draw(t, "changes") {
			if rapid.SampledFrom([]bool{true, true, false}).Draw(t, "change") {
				apply(drawChange(t, r, &count))
			} else {
				for _, c := range r.Evaluate(r.now) {
					require.NoError(t, r.Apply(c))
					journal = append(journal, c)
				}
				require.Empty(t, r.In(blackboard.Planned))
			}
			again, err := blackboard.Restore([]byte(r.picture()), preference)
			require.NoError(t, err)
			sameAs(t, r.Editor, again, limits)
		}
		replayed := newRun(t)
		for _, c := range journal {
			data, err := json.Marshal(c)
			require.NoError(t, err)
			var read blackboard.Change
			require.NoError(t, json.Unmarshal(data, &read))
			require.NoError(t, replayed.Apply(read))
		}
		require.Equal(t, r.picture(), replayed.picture(), "the changes rebuild the board")
	}))
}

// sameAs asserts that two editors schedule alike, and that no task is ahead of what it
// depends on.
func sameAs(t *rapid.T, a, b *blackboard.Editor, limits routing.Limits) {
	t.Helper()
	require.Equal(t, a.ReadyQueue(), b.ReadyQueue())
	require.Equal(t, a.Evaluate(start), b.Evaluate(start))
	next, ok := a.Next(limits)
	again, okAgain := b.Next(limits)
	require.Equal(t, fmt.Sprint(next, ok), fmt.Sprint(again, okAgain))
	for _, task := range a.Board().Tasks {
		require.Equal(t, a.Waits(task.ID), b.Waits(task.ID))
		require.Equal(t, a.Descendants(task.ID), b.Descendants(task.ID))
		if !slices.Contains([]blackboard.State{blackboard.Ready, blackboard.Active, blackboard.AwaitingQA, blackboard.Complete}, task.Status) {
			continue
		}
		for _, id := range slices.Concat(task.DependsOn, task.WaitingFor) {
			need, _ := a.Task(id)
			require.Equal(t, blackboard.Complete, need.Status, "%s is %s before %s", task.ID, task.Status, id)
		}
	}
}

func FuzzApply(f *testing.F) {
	for _, do := range []blackboard.Action{
		blackboard.AddTasks{Tasks: nineTasks()},
		blackboard.Split{Into: nineTasks()},
		fail(), pass(),
		blackboard.Edit{DropNeeds: []string{"db_plan"}},
		blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Needs: []string{"db_plan"}},
		blackboard.Move{Event: blackboard.EventRetry, Wipe: true},
		blackboard.Reblock{},
		blackboard.Judge{QA: blackboard.QA{Passed: true}},
		blackboard.DropSuggestions{Count: 1},
		blackboard.Spend{},
	} {
		data, err := json.Marshal([]blackboard.Change{{By: blackboard.RoleDirector, Task: "db_build", At: start, Do: do}})
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var changes []blackboard.Change
		if json.Unmarshal(data, &changes) != nil {
			return
		}
		r := newRun(t, sevenTasks()...)
		r.evaluate()
		for _, c := range changes {
			before := r.picture()
			if r.Apply(c) != nil {
				assert.Equal(t, before, r.picture())
			}
			_, err := blackboard.Restore([]byte(r.picture()), preference)
			require.NoError(t, err)
		}
	})
}

func TestRestoreOrder(t *testing.T) {
	t.Run("B119 B46 what a task waits for has the same order in a restored board", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"), task("c"))
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Needs: []string{"b"}})
		r.do(blackboard.RoleDirector, "a", blackboard.Edit{AddNeeds: []string{"c"}})
		again, err := blackboard.Restore([]byte(r.picture()), preference)
		require.NoError(t, err)
		assert.Equal(t, []string{"c", "b"}, r.Waits("a").WaitingOn)
		assert.Equal(t, r.Waits("a"), again.Waits("a"))
		split := blackboard.Change{By: blackboard.RoleDirector, At: start, Task: "a", Do: blackboard.Split{Into: []blackboard.Definition{task("s")}}}
		r.apply(split)
		require.NoError(t, again.Apply(split))
		assert.Equal(t, []string{"c", "b"}, r.task("s").DependsOn)
		assert.Equal(t, r.Board().Tasks, again.Board().Tasks)
	})
	t.Run("B119 B46 what a fix is waited for counts once, and again if it was waited for before", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"), task("c"))
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Needs: []string{"b"}})
		r.complete("b")
		r.evaluate()
		r.deliver("a")
		r.do(blackboard.RoleStrategist, "a", fail())
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventWaitFix, Messages: system("x"), Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Needs: []string{"b", "c", "c"}})
		assert.Equal(t, []string{"b", "c"}, r.task("a").WaitingFor)
		r.do(blackboard.RoleDirector, "c", blackboard.Split{Into: []blackboard.Definition{task("s")}})
		again, err := blackboard.Restore([]byte(r.picture()), preference)
		require.NoError(t, err)
		assert.Equal(t, []string{"s"}, r.Waits("a").WaitingOn)
		assert.Equal(t, r.Waits("a"), again.Waits("a"))
		assert.Equal(t, []string{"a"}, r.Descendants("b"))
		r.do(blackboard.RoleDirector, "a", blackboard.Edit{DropNeeds: []string{"b"}})
		assert.Empty(t, r.Descendants("b"))
	})
}

func TestSnapshotIsPossible(t *testing.T) {
	t.Run("B110 B119 what has no JSON form is refused", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		half, nan := json.RawMessage(`{"path":`), math.NaN()
		call := func(c providers.ToolCall) blackboard.Remember {
			return blackboard.Remember{Messages: []providers.Message{{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{Name: "ok", Input: json.RawMessage(`{}`)}, c}}}}
		}
		r.refuses(blackboard.RoleWorker, "a", call(providers.ToolCall{Name: "write", Input: half}), `of the tool call "write" is no JSON`)
		r.refuses(blackboard.RoleWorker, "a", call(providers.ToolCall{Name: "write", Extra: half}), `of the tool call "write" is no JSON`)
		r.refuses(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRelease, Checkpoint: &blackboard.Checkpoint{Partial: half}}, "partial is no JSON")
		r.refuses(blackboard.RoleWorker, "a", blackboard.Suggest{Suggestions: []blackboard.Suggestion{{Definition: blackboard.Definition{Risk: &nan}}}}, "risk is NaN")
		r.refuses(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: []blackboard.Definition{task("x\xff"), task("x\xfe")}}, `id is "x\xff", want a name in UTF-8`)
		err := r.Apply(blackboard.Change{By: blackboard.RoleDirector, At: start.AddDate(9999, 0, 0), Do: blackboard.Spend{}})
		require.ErrorContains(t, err, "a change of the year 12025")
		require.Error(t, r.Apply(blackboard.Change{By: blackboard.RoleDirector, At: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), Do: blackboard.Spend{}}))
	})
}

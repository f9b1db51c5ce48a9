package board_test

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

	"github.com/convene-go/convene/blackboard/board"
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
		r.do(board.RoleWorker, "", board.AddInsight{Insight: board.Insight{Summary: "s"}})
		r.do(board.RoleDirector, "", board.AddDecision{Decision: board.Decision{Area: "a", Summary: "s"}})
		return r
	}
	t.Run("B119 a snapshot is the same board again", func(t *testing.T) {
		r := valid(t)
		again, err := board.Restore([]byte(r.picture()), preference)
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
			{`"run_id":"run-1"`, `"run_id":""`, "run_id is empty"},
			{`"strategy_status":"PROGRESSING"`, `"strategy_status":"LOST"`, `strategy_status is "LOST"`},
			{`"version":`, `"version":-`, "below 0"},
			{`"status":"AWAITING_QA"`, `"status":"DREAMING"`, `status is "DREAMING", which is unknown`},
			{`"status":"BLOCKED","blocked_reason"`, `"status":"PLANNED","blocked_reason"`, "blocked_reason is for BLOCKED tasks, and this one is PLANNED"},
			{`"type":"dependency"`, `"type":"lunch"`, `type is "lunch"`},
			{`"id":"db_build"`, `"id":"db_plan"`, "the id is taken"},
			{`"id":"api_plan"`, `"id":"x"`, `needs "api_plan", which does not exist`},
			{`"depends_on":[]`, `"depends_on":["db_test"]`, `"db_plan" is done, but needs "db_test", which is waiting`},
			{`"depends_on":["db_build"]`, `"depends_on":["db_test"]`, `"db_test" needs itself`},
			{`"depends_on":["db_build"]`, `"parent":"x","depends_on":["db_build"]`, `parent "x": no such task`},
			{`"depends_on":["db_build"]`, `"parent":"views_build","depends_on":["db_build"]`, `parent "views_build" is not before it`},
			{`"branch":"task/x/db_build","commit":"c-db_build"`, `"branch":"","commit":"c"`, "frozen: branch or commit is empty"},
			{`"path":"artifacts/db_build.md"`, `"path":"../x"`, `frozen: path is "../x"`},
			{`"depends_on":["db_plan"]`, `"depends_on":["db_plan","db_test"]`, `it is AWAITING_QA, but needs "db_test", which is BLOCKED`},
			{`"frozen":{"path":"artifacts/db_build.md","branch":"task/x/db_build","commit":"c-db_build"},`, ``, "frozen is missing"},
			{`"retry_count":0`, `"retry_count":-1`, "a count is below 0"},
			{`"acceptance_criteria":["The`, `"acceptance_criteria":["","The`, "acceptance_criteria[0] is empty"},
			{`"id":"i1"`, `"id":""`, `insights[0]: id "" is empty or taken`},
			{`"id":"d1"`, `"id":""`, `design_log[0]: id "" is empty or taken`},
			{`"tasks":`, `"task_memories":{"x":[]},"tasks":`, `task_memories["x"]: no such task`},
			{`"tasks":`, `"guardian":{"watches":{"x":{}}},"tasks":`, `guardian: watches["x"]: no such task`},
			{`"tasks":`, `"guardian":{"watches":{"db_test":{"alignments":[101],"tokens":-1}}},"tasks":`, "guardian: watches[\"db_test\"]: alignments[0] is 101, want 0 to 100\nguardian: watches[\"db_test\"]: a count is below 0"},
			{`"tasks":`, `"filesystem":{"/x":{"branch":"","commit":"","task":""}},"tasks":`, `filesystem: path is "/x"`},
			{`"tasks":`, `"filesystem":{"x":{"branch":"","commit":"","task":"y"}},"tasks":`, `filesystem: "x": task "y": no such task`},
			{`"id":"i1"`, `"id":"i1","source_task":"x"`, `insights[0]: source_task "x": no such task`},
			{`"id":"d1"`, `"id":"d1","applies_to":["x"]`, `design_log[0]: applies_to[0] "x": no such task`},
			{`"tasks":`, `"surprise":1,"tasks":`, `unknown field "surprise"`},
			{`{"run_id"`, `{} {"run_id"`, "data after the board"},
		} {
			text := valid(t).picture()
			require.Contains(t, text, tt.old)
			_, err := board.Restore([]byte(strings.Replace(text, tt.old, tt.by, 1)), preference)
			require.ErrorContains(t, err, tt.want)
		}
	})
	t.Run("BX34 BX35 what is known stays known", func(t *testing.T) {
		r := valid(t)
		again, err := board.Restore([]byte(r.picture()), preference)
		require.NoError(t, err)
		require.ErrorIs(t, again.Apply(board.Change{By: board.RoleWorker, Do: board.AddInsight{Insight: board.Insight{Summary: "s"}}}), board.ErrDuplicate)
		require.ErrorContains(t, again.Apply(board.Change{By: board.RoleDirector, Do: board.AddDecision{Decision: board.Decision{ID: "d1", Area: "a", Summary: "t"}}}), "append-only")
	})
}

func TestChangeJSON(t *testing.T) {
	t.Run("B110 B119 a change survives", func(t *testing.T) {
		priority := 3
		for _, do := range []board.Action{
			board.AddTasks{Tasks: sevenTasks()},
			board.Split{Into: nineTasks()},
			board.Edit{Priority: &priority, DropNeeds: []string{"x"}},
			board.Refine{Criteria: []string{"c"}},
			fail(), pass(),
			board.Reblock{Blocked: board.BlockedReason{Type: board.ByExternal}},
			board.AddInsight{Insight: board.Insight{Summary: "s"}},
			board.AddDecision{Decision: board.Decision{Area: "a"}},
			board.SetSpec{Area: "a", Value: json.RawMessage(`{"x":1}`)},
			board.Remember{Messages: user("x")},
			board.SetWatch{Watch: board.Watch{Tokens: 1}, Reviewed: true},
			board.Judge{QA: board.QA{Passed: true, By: "human"}},
			board.Suggest{Suggestions: []board.Suggestion{{Definition: board.Definition{ID: "b"}, Rationale: "r"}}},
			board.DropSuggestions{Count: 1},
			board.Spend{Usage: providers.Usage{Calls: 1}},
			board.Steer{Event: board.Progress},
		} {
			c := board.Change{By: board.RoleDirector, At: start, Task: "a", Do: do}
			data, err := json.Marshal(c)
			require.NoError(t, err)
			var again board.Change
			require.NoError(t, json.Unmarshal(data, &again))
			assert.Equal(t, c, again)
		}
	})
	t.Run("B110 bad ones", func(t *testing.T) {
		var c board.Change
		require.ErrorContains(t, json.Unmarshal([]byte(`{"kind":"dance","do":{}}`), &c), `kind of a change is "dance"`)
		require.ErrorContains(t, json.Unmarshal([]byte(`{"kind":"move","do":{"jump":1}}`), &c), `unknown field "jump"`)
		require.Error(t, json.Unmarshal([]byte(`{"kind":"move"}`), &c))
		require.ErrorContains(t, json.Unmarshal([]byte(`{"kind":"forgive","by":"director","task_id":"a","do":{}}`), &c), `unknown field "task_id"`)
		require.ErrorContains(t, json.Unmarshal([]byte(`null`), &c), `kind of a change is ""`)
		require.Error(t, json.Unmarshal([]byte(`7`), &c))
		_, err := json.Marshal(board.Change{})
		require.ErrorContains(t, err, "without an action")
	})
}

var (
	someRoles  = []board.Role{board.RoleDirector, board.RoleDirector, board.RoleWorker, board.RoleStrategist, board.RoleGuardian}
	someEvents = func() (events []board.Event) {
		for e := range contentsOf() {
			events = append(events, e)
		}
		slices.Sort(events)
		return events
	}()
)

// lively are the states in which much can happen.
var lively = []board.State{board.Planned, board.Ready, board.Active, board.AwaitingQA, board.FailedQA, board.Blocked, board.WaitingHuman}

// drawChange draws a change that is often fit: with what its event needs.
func drawChange(t *rapid.T, r *run, count *int) board.Change {
	id := func() string {
		if live := r.In(lively...); len(live) > 0 && rapid.IntRange(0, 9).Draw(t, "wild") > 0 {
			return rapid.SampledFrom(live).Draw(t, "task")
		}
		return fmt.Sprint("t", rapid.IntRange(0, max(*count, 1)).Draw(t, "task"))
	}
	fresh := func() board.Definition {
		*count++
		d := task(fmt.Sprint("t", *count-1))
		for range rapid.IntRange(0, 2).Draw(t, "needs") {
			if need := id(); !slices.Contains(d.DependsOn, need) {
				d.DependsOn = append(d.DependsOn, need)
			}
		}
		return d
	}
	c := board.Change{By: rapid.SampledFrom(someRoles).Draw(t, "by"), Task: id(), At: r.now}
	what := rapid.SampledFrom([]int{0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}).Draw(t, "what")
	if *count == 0 {
		what = 0
	}
	switch what {
	case 0:
		c.Do = board.AddTasks{Tasks: []board.Definition{fresh(), fresh()}}
	case 1:
		c.Do = board.Split{Into: []board.Definition{fresh(), fresh()}}
	case 2:
		c.Do = board.Edit{AddNeeds: []string{id(), id()}}
		if rapid.Bool().Draw(t, "drop") {
			c.Do = board.Edit{DropNeeds: []string{id()}}
		}
	case 3:
		c.Do = rapid.SampledFrom([]board.Action{
			board.Remember{Messages: user("x")}, board.Judge{QA: board.QA{Passed: true}}, board.Suggest{Suggestions: make([]board.Suggestion, 2)}, board.DropSuggestions{Count: 1},
		}).Draw(t, "note")
	default:
		c.Do = drawMove(t, r, &c, id)
	}
	return c
}

// drawMove draws an event that the table allows for the task, mostly, and what it needs.
func drawMove(t *rapid.T, r *run, c *board.Change, id func() string) board.Move {
	m := board.Move{Event: rapid.SampledFrom(someEvents).Draw(t, "event")}
	if task, ok := r.Task(c.Task); ok && !task.Final() && rapid.IntRange(0, 9).Draw(t, "wild") > 0 {
		options := board.TaskTable.Allowed(task.Status)
		if rapid.IntRange(0, 3).Draw(t, "end") > 0 {
			options = options[:len(options)-1] // abandon is the last one
		}
		option := rapid.SampledFrom(options).Draw(t, "option")
		m.Event, c.By = option.Event, option.Roles[0]
	}
	switch m.Event { //nolint:exhaustive // the others need nothing
	case board.EventBlock, board.EventPause, board.EventWaitFix:
		m.Blocked = &board.BlockedReason{Type: rapid.SampledFrom([]board.BlockType{board.ByDependency, board.BySubtask, board.ByExternal}).Draw(t, "type"), WaitingOn: []string{"key"}}
		if rapid.Bool().Draw(t, "more") {
			m.Needs = []string{id(), id()}
		}
	case board.EventDeliver:
		m.Frozen = frozen(c.Task)
	case board.EventPass:
		m = pass()
	case board.EventFail:
		m = fail()
	case board.EventConflict:
		m.QA = &board.QA{Kind: board.MergeConflict}
	case board.EventUngraded:
		m.QA = &board.QA{Kind: board.NoReview}
	case board.EventLose:
		m.QA = &board.QA{Kind: board.Crashed}
	case board.EventAsk, board.EventEscalate, board.EventAbandon:
		m.Reason = "because"
	default:
	}
	if m.Event == board.EventLose || m.Event == board.EventPhoenix || m.Event == board.EventWaitFix {
		m.Messages = system("again")
	}
	return m
}

func TestBoardLaws(t *testing.T) {
	t.Run("B27 B110 B119 BX13 BC46 any changes: refused ones change nothing, and a reopened board behaves the same", rapid.MakeCheck(func(t *rapid.T) {
		r, count := newRun(t), 0
		limits := routing.Limits{Global: 2, Profiles: map[string]int{"code_worker": 1}}
		var journal []board.Change
		apply := func(c board.Change) {
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
				require.Empty(t, r.In(board.Planned))
			}
			again, err := board.Restore([]byte(r.picture()), preference)
			require.NoError(t, err)
			sameAs(t, r.Editor, again, limits)
		}
		replayed := newRun(t)
		for _, c := range journal {
			data, err := json.Marshal(c)
			require.NoError(t, err)
			var read board.Change
			require.NoError(t, json.Unmarshal(data, &read))
			require.NoError(t, replayed.Apply(read))
		}
		require.Equal(t, r.picture(), replayed.picture(), "the changes rebuild the board")
	}))
}

// sameAs asserts that two editors schedule alike, and that no task is ahead of what it
// depends on.
func sameAs(t *rapid.T, a, b *board.Editor, limits routing.Limits) {
	t.Helper()
	require.Equal(t, a.ReadyQueue(), b.ReadyQueue())
	require.Equal(t, a.Evaluate(start), b.Evaluate(start))
	next, ok := a.Next(limits)
	again, okAgain := b.Next(limits)
	require.Equal(t, fmt.Sprint(next, ok), fmt.Sprint(again, okAgain))
	for _, task := range a.Board().Tasks {
		require.Equal(t, a.Waits(task.ID), b.Waits(task.ID))
		require.Equal(t, a.Descendants(task.ID), b.Descendants(task.ID))
		if !slices.Contains([]board.State{board.Ready, board.Active, board.AwaitingQA, board.Complete}, task.Status) {
			continue
		}
		for _, id := range slices.Concat(task.DependsOn, task.WaitingFor) {
			need, _ := a.Task(id)
			require.Equal(t, board.Complete, need.Status, "%s is %s before %s", task.ID, task.Status, id)
		}
	}
}

func FuzzApply(f *testing.F) {
	for _, do := range []board.Action{
		board.AddTasks{Tasks: nineTasks()},
		board.Split{Into: nineTasks()},
		fail(), pass(),
		board.Edit{DropNeeds: []string{"db_plan"}},
		board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.BySubtask}, Needs: []string{"db_plan"}},
		board.Move{Event: board.EventRetry, Wipe: true},
		board.Reblock{},
		board.Judge{QA: board.QA{Passed: true}},
		board.DropSuggestions{Count: 1},
		board.Spend{},
	} {
		data, err := json.Marshal([]board.Change{{By: board.RoleDirector, Task: "db_build", At: start, Do: do}})
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var changes []board.Change
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
			_, err := board.Restore([]byte(r.picture()), preference)
			require.NoError(t, err)
		}
	})
}

func TestRestoreOrder(t *testing.T) {
	t.Run("B119 B46 what a task waits for has the same order in a restored board", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"), task("c"))
		r.evaluate()
		r.dispatch("a")
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.BySubtask}, Needs: []string{"b"}})
		r.do(board.RoleDirector, "a", board.Edit{AddNeeds: []string{"c"}})
		again, err := board.Restore([]byte(r.picture()), preference)
		require.NoError(t, err)
		assert.Equal(t, []string{"c", "b"}, r.Waits("a").WaitingOn)
		assert.Equal(t, r.Waits("a"), again.Waits("a"))
		split := board.Change{By: board.RoleDirector, At: start, Task: "a", Do: board.Split{Into: []board.Definition{task("s")}}}
		r.apply(split)
		require.NoError(t, again.Apply(split))
		assert.Equal(t, []string{"c", "b"}, r.task("s").DependsOn)
		assert.Equal(t, r.Board().Tasks, again.Board().Tasks)
	})
	t.Run("B119 B46 what a fix is waited for counts once, and again if it was waited for before", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"), task("c"))
		r.evaluate()
		r.dispatch("a")
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.BySubtask}, Needs: []string{"b"}})
		r.complete("b")
		r.evaluate()
		r.deliver("a")
		r.do(board.RoleStrategist, "a", fail())
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventWaitFix, Messages: system("x"), Blocked: &board.BlockedReason{Type: board.BySubtask}, Needs: []string{"b", "c", "c"}})
		assert.Equal(t, []string{"b", "c"}, r.task("a").WaitingFor)
		r.do(board.RoleDirector, "c", board.Split{Into: []board.Definition{task("s")}})
		again, err := board.Restore([]byte(r.picture()), preference)
		require.NoError(t, err)
		assert.Equal(t, []string{"s"}, r.Waits("a").WaitingOn)
		assert.Equal(t, r.Waits("a"), again.Waits("a"))
		assert.Equal(t, []string{"a"}, r.Descendants("b"))
		r.do(board.RoleDirector, "a", board.Edit{DropNeeds: []string{"b"}})
		assert.Empty(t, r.Descendants("b"))
	})
}

func TestSnapshotIsPossible(t *testing.T) {
	t.Run("B110 B119 what has no JSON form is refused", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		half, nan := json.RawMessage(`{"path":`), math.NaN()
		call := func(c providers.ToolCall) board.Remember {
			return board.Remember{Messages: []providers.Message{{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{Name: "ok", Input: json.RawMessage(`{}`)}, c}}}}
		}
		r.refuses(board.RoleWorker, "a", call(providers.ToolCall{Name: "write", Input: half}), `of the tool call "write" is no JSON`)
		r.refuses(board.RoleWorker, "a", call(providers.ToolCall{Name: "write", Extra: half}), `of the tool call "write" is no JSON`)
		r.refuses(board.RoleDirector, "a", board.Move{Event: board.EventRelease, Checkpoint: &board.Checkpoint{Partial: half}}, "partial is no JSON")
		r.refuses(board.RoleWorker, "a", board.Suggest{Suggestions: []board.Suggestion{{Definition: board.Definition{Risk: &nan}}}}, "risk is NaN")
		r.refuses(board.RoleDirector, "", board.AddTasks{Tasks: []board.Definition{task("x\xff"), task("x\xfe")}}, `id is "x\xff", want a name in UTF-8`)
		err := r.Apply(board.Change{By: board.RoleDirector, At: start.AddDate(9999, 0, 0), Do: board.Spend{}})
		require.ErrorContains(t, err, "a change of the year 12025")
		require.Error(t, r.Apply(board.Change{By: board.RoleDirector, At: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), Do: board.Spend{}}))
	})
}

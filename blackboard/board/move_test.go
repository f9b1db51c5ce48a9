package board_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

func TestTaskBegins(t *testing.T) {
	t.Run("B13 B14 the fields, and those that are empty at first", func(t *testing.T) {
		r := newRun(t, task("api_build"))
		data, err := json.Marshal(r.task("api_build"))
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(data, &fields))
		assert.Equal(t, map[string]any{
			"id": "api_build", "title": "The api build", "component": "api", "phase": "build", "status": "PLANNED",
			"depends_on": []any{}, "priority": 10.0, "assigned_worker_profile": "code_worker", "retry_count": 0.0,
			"acceptance_criteria": []any{"The artifact fulfils the task description"},
			"created_at":          "2026-11-01T09:00:01Z", "updated_at": "2026-11-01T09:00:01Z",
		}, fields, "result_path, qa_feedback, blocked_reason and started_at are absent")
	})
	t.Run("BA15 B34 B70 BC5 all passes: PLANNED, BLOCKED, READY, ACTIVE, AWAITING_QA, COMPLETE", func(t *testing.T) {
		r := newRun(t, sevenTasks()...)
		r.is("views_build PLANNED")
		r.evaluate()
		r.is("views_build BLOCKED")
		r.complete("db_plan", "api_plan", "db_build", "api_build", "views_plan")
		r.is("views_build BLOCKED")
		r.evaluate()
		r.is("views_build READY")
		r.dispatch("views_build")
		r.is("views_build ACTIVE")
		r.do(board.RoleWorker, "views_build", board.Move{Event: board.EventDeliver, Frozen: frozen("views_build")})
		r.is("views_build AWAITING_QA")
		r.do(board.RoleStrategist, "views_build", pass())
		r.is("views_build COMPLETE")
		done := r.task("views_build")
		assert.Zero(t, done.RetryCount)
		assert.Equal(t, 1, done.Attempt)
		assert.Equal(t, r.now, done.CompletedAt)
	})
	t.Run("BA6 B30 blocked_reason is there while BLOCKED", func(t *testing.T) {
		r := newRun(t, task("a"), task("b", "a"))
		assert.Nil(t, r.task("b").Blocked)
		r.now = r.now.Add(time.Millisecond)
		r.evaluate()
		assert.Equal(t, &board.BlockedReason{Type: board.ByDependency, WaitingOn: []string{"a"}, Since: r.now.Truncate(time.Second)}, r.task("b").Blocked, "models read it")
		r.complete("a")
		r.evaluate()
		r.is("b READY")
		assert.Nil(t, r.task("b").Blocked)
	})
	t.Run("BA7 B15 BC41 started_at is that of the last dispatch", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		assert.Equal(t, r.now, r.task("a").StartedAt)
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventRelease})
		r.now = r.now.Add(time.Hour)
		r.dispatch("a")
		assert.Equal(t, r.now, r.task("a").StartedAt)
		assert.Equal(t, 2, r.task("a").Attempt)
	})
	t.Run("B20 updated_at changes with every change of the task", func(t *testing.T) {
		r := newRun(t, task("a"), task("z"))
		r.evaluate()
		title := "New"
		for _, c := range []struct {
			by board.Role
			do board.Action
		}{
			{board.RoleDirector, board.Edit{Title: &title}},
			{board.RoleStrategist, board.Refine{Criteria: []string{"c"}}},
			{board.RoleDirector, board.Move{Event: board.EventDispatch}},
			{board.RoleWorker, board.Remember{Messages: user("x")}},
			{board.RoleWorker, board.Spend{Usage: providers.Usage{Calls: 1}}},
		} {
			r.do(c.by, "a", c.do)
			assert.Equal(t, r.now, r.task("a").UpdatedAt, "%T", c.do)
		}
		assert.Equal(t, start.Add(2*time.Second), r.task("z").UpdatedAt, "another task has not changed")
	})
}

func TestMoveRefused(t *testing.T) {
	deliver := board.Move{Event: board.EventDeliver, Frozen: frozen("a")}
	t.Run("BA2 B24 B25 B27 by a role that does not own it", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.refuses(board.RoleStrategist, "a", deliver, `not allowed for "strategist"`)
		r.refuses(board.RoleGuardian, "a", deliver, `not allowed for "guardian"`)
		r.do(board.RoleWorker, "a", deliver)
		r.refuses(board.RoleWorker, "a", pass(), `not allowed for "worker"`)
		r.refuses(board.RoleDirector, "a", pass(), `not allowed for "director"`)
		require.ErrorIs(t, r.try(board.RoleDirector, "a", pass()), fsm.ErrTransition)
	})
	t.Run("BA3 B26 by the Guardian", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		for event := range contentsOf() {
			require.Error(t, r.try(board.RoleGuardian, "a", board.Move{Event: event, Reason: "x"}), event)
		}
		r.is("a READY")
	})
	t.Run("BA4 BA86 B22 of a task that is final", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"))
		r.complete("a")
		r.do(board.RoleDirector, "b", board.Move{Event: board.EventAbandon, Reason: "not needed"})
		for _, id := range []string{"a", "b"} {
			require.ErrorIs(t, r.try(board.RoleDirector, id, board.Move{Event: board.EventAbandon, Reason: "x"}), board.ErrTerminal)
			require.ErrorIs(t, r.try(board.RoleDirector, id, board.Move{Event: board.EventReady}), board.ErrTerminal)
			require.ErrorIs(t, r.try(board.RoleDirector, id, board.Edit{}), board.ErrTerminal)
			require.ErrorIs(t, r.try(board.RoleDirector, id, board.Split{}), board.ErrTerminal)
			_, err := r.Abandon(id, "x", nil, r.now)
			require.ErrorIs(t, err, board.ErrTerminal)
			_, err = r.AbandonBranch(id, "x", r.now)
			require.ErrorIs(t, err, board.ErrTerminal)
		}
		r.is("a COMPLETE, b ABANDONED")
	})
	t.Run("B33 ready before its dependencies", func(t *testing.T) {
		r := newRun(t, task("a"), task("b", "a"))
		r.refuses(board.RoleDirector, "b", board.Move{Event: board.EventReady}, `it needs ["a"]`)
		r.evaluate()
		r.refuses(board.RoleDirector, "b", board.Move{Event: board.EventUnblock}, `it needs ["a"]`)
	})
	t.Run("B53 B73 B30 without what the event needs", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		for _, bad := range []struct {
			by   board.Role
			move board.Move
			want string
		}{
			{board.RoleWorker, board.Move{Event: board.EventDeliver}, "frozen is missing"},
			{board.RoleWorker, board.Move{Event: board.EventDeliver, Frozen: &board.Frozen{Path: "a"}}, "branch or commit is empty"},
			{board.RoleWorker, board.Move{Event: board.EventDeliver, Frozen: &board.Frozen{Path: "/a", Branch: "b", Commit: "c"}}, `path is "/a"`},
			{board.RoleWorker, board.Move{Event: board.EventDeliver, Frozen: &board.Frozen{Path: "../a", Branch: "b", Commit: "c"}}, `path is "../a"`},
			{board.RoleWorker, board.Move{Event: board.EventDeliver, Frozen: &board.Frozen{Path: ".", Branch: "b", Commit: "c"}}, `path is "."`},
			{board.RoleWorker, board.Move{Event: board.EventDeliver, Frozen: frozen("a"), Wipe: true, Merged: "m"}, "merged does not go with \"deliver\"\nwipe does not go with"},
			{board.RoleDirector, board.Move{Event: board.EventPause}, "blocked is missing"},
			{board.RoleDirector, board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: "lunch"}}, `type is "lunch"`},
			{board.RoleDirector, board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.ByDependency}}, `type "dependency" does not go with "pause"`},
			{board.RoleDirector, board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.ByAbandoned}}, `type "dependency_abandoned" does not go`},
			{board.RoleDirector, board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.BySubtask}}, "all that it waits for is complete"},
			{board.RoleDirector, board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.ByExternal}}, "waiting_on is empty"},
			{board.RoleDirector, board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.BySubtask}, Needs: []string{"x"}}, `needs "x", which does not exist`},
			{board.RoleDirector, board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.BySubtask}, Needs: []string{"a"}}, "needs itself"},
			{board.RoleDirector, board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.ByReplanning}, Needs: []string{"a"}}, "needs does not go with the type"},
			{board.RoleDirector, board.Move{Event: board.EventLose, QA: &board.QA{Kind: board.Crashed}}, "messages is missing"},
			{board.RoleDirector, board.Move{Event: board.EventLose, QA: &board.QA{Kind: board.Crashed}, Messages: user("x")}, "want one system message"},
			{board.RoleDirector, board.Move{Event: board.EventLose, QA: &board.QA{Kind: board.Crashed}, Messages: append(system("x"), system("y")...)}, "want one system message"},
			{board.RoleDirector, board.Move{Event: board.EventLose, QA: &board.QA{Kind: board.Crashed}, Messages: system(" ")}, "want one system message"},
			{board.RoleDirector, board.Move{Event: board.EventLose, QA: &board.QA{Kind: board.FailedReview}, Messages: system("x")}, `kind is "qa"`},
			{board.RoleDirector, board.Move{Event: board.EventLose, QA: &board.QA{Passed: true}, Messages: system("x")}, "passed is true"},
			{board.RoleDirector, board.Move{Event: board.EventResolve, Messages: system("x")}, "is a system message"},
			{board.RoleDirector, board.Move{Event: board.EventAsk, Reason: " "}, "reason is missing"},
			{board.RoleDirector, board.Move{Event: board.EventAbandon}, "reason is missing"},
			{board.RoleDirector, board.Move{Event: board.EventAsk, Reason: "r", Escalation: &board.Escalation{Type: "BORED"}}, `escalation: type is "BORED"`},
			{board.RoleDirector, board.Move{Event: "vanish"}, `event "vanish" does not exist`},
		} {
			r.refuses(bad.by, "a", bad.move, bad.want)
		}
		r.do(board.RoleWorker, "a", deliver)
		for _, bad := range []struct {
			move board.Move
			want string
		}{
			{board.Move{Event: board.EventPass, QA: &board.QA{Passed: true}}, "merged is missing"},
			{board.Move{Event: board.EventPass, QA: &board.QA{}, Merged: "m"}, "passed is false"},
			{board.Move{Event: board.EventPass, QA: &board.QA{Passed: true}, Merged: "m", Files: map[string]string{"a//b": ""}}, `path is "a//b"`},
			{board.Move{Event: board.EventFail}, "qa is missing"},
			{board.Move{Event: board.EventFail, QA: &board.QA{Kind: board.MergeConflict}}, `kind is "merge_conflict"`},
			{board.Move{Event: board.EventConflict, QA: &board.QA{Kind: board.FailedReview}}, `kind is "qa"`},
			{board.Move{Event: board.EventUngraded, QA: &board.QA{Kind: board.FailedReview}}, `kind is "qa"`},
		} {
			r.refuses(board.RoleStrategist, "a", bad.move, bad.want)
		}
		require.ErrorIs(t, r.try(board.RoleDirector, "x", deliver), board.ErrNoTask)
		require.Error(t, r.Apply(board.Change{By: board.RoleDirector}))
	})
}

// contentsOf are the events of the table.
func contentsOf() map[board.Event]bool {
	events := map[board.Event]bool{}
	for _, s := range board.TaskTable.States() {
		for _, o := range board.TaskTable.Allowed(s) {
			events[o.Event] = true
		}
	}
	return events
}

func TestQA(t *testing.T) {
	reviewed := func(t *testing.T) *run {
		r := newRun(t, task("a"), task("b"))
		r.evaluate()
		r.do(board.RoleDirector, "b", board.Move{Event: board.EventDispatch})
		r.do(board.RoleWorker, "b", board.Remember{Messages: user("of b")})
		r.do(board.RoleDirector, "", board.AddDecision{Decision: board.Decision{Area: "api", Summary: "REST"}})
		r.do(board.RoleWorker, "", board.AddInsight{Insight: board.Insight{Summary: "axios"}})
		r.dispatch("a")
		r.do(board.RoleWorker, "a", board.Remember{Messages: make12()})
		r.do(board.RoleGuardian, "a", board.SetWatch{Watch: board.Watch{Alignments: []float64{60}}})
		r.do(board.RoleWorker, "a", board.Move{Event: board.EventDeliver, Frozen: frozen("a"), Summary: "done"})
		return r
	}
	t.Run("B75 B30 FAIL: FAILED_QA, feedback, one retry", func(t *testing.T) {
		r := reviewed(t)
		r.do(board.RoleStrategist, "a", fail())
		r.is("a FAILED_QA")
		assert.Equal(t, 1, r.task("a").RetryCount)
		assert.Equal(t, "404 is not handled", r.task("a").QA.Feedback)
	})
	t.Run("BA25 B78 B11 B126 the wipe", func(t *testing.T) {
		r := reviewed(t)
		spec, log, insights := r.Board().Spec, r.Board().DesignLog, r.Board().Insights
		r.do(board.RoleStrategist, "a", fail())
		assert.Len(t, r.Board().Memories["a"], 12)
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventPhoenix, Messages: system("try again: task/x/a")})
		r.is("a READY")
		assert.Equal(t, system("try again: task/x/a"), r.Board().Memories["a"])
		assert.Equal(t, user("of b"), r.Board().Memories["b"])
		assert.Equal(t, spec, r.Board().Spec)
		assert.Equal(t, log, r.Board().DesignLog)
		assert.Equal(t, insights, r.Board().Insights)
		assert.NotContains(t, r.Board().Guardian.Watches, "a")
		again := r.task("a")
		assert.Empty(t, again.ResultPath+again.Summary)
		assert.Nil(t, again.Checkpoint)
		assert.True(t, again.StartedAt.IsZero())
		assert.Equal(t, 1, again.RetryCount)
		assert.Equal(t, frozen("a"), again.Frozen, "what was reviewed last")
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventDispatch, Branch: "a2"})
		assert.Equal(t, 2, r.task("a").Attempt)
	})
	t.Run("BA26 BC21 a conflict costs no retry", func(t *testing.T) {
		r := reviewed(t)
		r.do(board.RoleStrategist, "a", board.Move{Event: board.EventConflict, QA: &board.QA{Kind: board.MergeConflict, Files: []string{"main.go"}}})
		r.is("a FAILED_QA")
		assert.Equal(t, 0, r.task("a").RetryCount)
		assert.Equal(t, 1, r.task("a").ConflictCount)
		assert.Equal(t, []string{"main.go"}, r.task("a").QA.Files)
		assert.Equal(t, board.MergeConflict, r.task("a").QA.Kind)
	})
	t.Run("BA29 BX19 no review costs no retry and goes to a person", func(t *testing.T) {
		r := reviewed(t)
		r.do(board.RoleStrategist, "a", board.Move{Event: board.EventUngraded, QA: &board.QA{Kind: board.NoReview}})
		assert.Equal(t, 0, r.task("a").RetryCount)
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventEscalate, Reason: "no review"})
		r.is("a WAITING_HUMAN")
		assert.Equal(t, "no review", r.task("a").Reason)
	})
	t.Run("BA28 BC3 an attempt that is lost costs a retry and wipes", func(t *testing.T) {
		for _, kind := range []board.FailureKind{board.Crashed, board.StalledWorker, board.TimedOut, board.EmptyResult} {
			r := newRun(t, task("a"))
			r.evaluate()
			r.dispatch("a")
			r.do(board.RoleWorker, "a", board.Remember{Messages: make12()})
			r.do(board.RoleDirector, "a", board.Move{Event: board.EventLose, QA: &board.QA{Kind: kind}, Messages: system("again")})
			r.is("a READY")
			assert.Equal(t, 1, r.task("a").RetryCount)
			assert.Equal(t, system("again"), r.Board().Memories["a"])
			assert.Equal(t, kind, r.task("a").QA.Kind)
			r.dispatch("a")
			r.do(board.RoleDirector, "a", board.Move{Event: board.EventAsk, Reason: "no attempt is left", QA: &board.QA{Kind: kind}})
			r.is("a WAITING_HUMAN")
			assert.Equal(t, 2, r.task("a").RetryCount)
		}
	})
	t.Run("BX1 B66 a release keeps memory and retries", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.do(board.RoleWorker, "a", board.Remember{Messages: user("wip")})
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventRelease, Checkpoint: &board.Checkpoint{Commit: "wip"}})
		r.is("a READY")
		assert.Equal(t, 0, r.task("a").RetryCount)
		assert.Equal(t, user("wip"), r.Board().Memories["a"])
		assert.Equal(t, "wip", r.task("a").Checkpoint.Commit)
	})
	t.Run("B8 B73 a merge is entered in the index of files", func(t *testing.T) {
		r := reviewed(t)
		m := pass()
		m.Files = map[string]string{"artifacts/a.md": "h1", "go.mod": ""}
		assert.Empty(t, r.Board().Files)
		r.do(board.RoleStrategist, "a", m)
		assert.Equal(t, map[string]board.File{
			"artifacts/a.md": {Branch: "task/x/a", Commit: "merge", Task: "a", Hash: "h1"},
			"go.mod":         {Branch: "task/x/a", Commit: "merge", Task: "a"},
		}, r.Board().Files)
		assert.Equal(t, "c-a", r.task("a").Frozen.Commit)
		assert.Equal(t, "merge", r.task("a").Merged)
	})
	t.Run("BA22 BC10 B114 a path is stored relative to the root", func(t *testing.T) {
		r := newRun(t, task("views_build"))
		r.evaluate()
		r.dispatch("views_build")
		f := frozen("views_build")
		f.Path = "artifacts/frontend/todo_board.jsx"
		r.do(board.RoleWorker, "views_build", board.Move{Event: board.EventDeliver, Frozen: f})
		assert.Equal(t, "artifacts/frontend/todo_board.jsx", r.task("views_build").ResultPath)
	})
}

func make12() []providers.Message {
	var messages []providers.Message
	for range 6 {
		messages = append(messages, providers.Message{Role: providers.Assistant, Text: "x"}, providers.Message{Role: providers.User, Text: "y"})
	}
	return messages
}

func TestHuman(t *testing.T) {
	waiting := func(t *testing.T) *run {
		r := newRun(t, task("a"))
		r.evaluate()
		r.deliver("a")
		r.do(board.RoleStrategist, "a", board.Move{Event: board.EventConflict, QA: &board.QA{Kind: board.MergeConflict}})
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventPhoenix, Messages: system("x")})
		r.deliver("a")
		r.do(board.RoleStrategist, "a", fail())
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventEscalate, Reason: "4 failures"})
		return r
	}
	t.Run("BX26 retry: with guidance, from nothing, and the count is 0", func(t *testing.T) {
		r := waiting(t)
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventRetry, Who: "ann", Messages: system("use REST"), Wipe: true})
		r.is("a READY")
		assert.Zero(t, r.task("a").RetryCount)
		assert.Zero(t, r.task("a").ConflictCount)
		assert.Equal(t, system("use REST"), r.Board().Memories["a"])
		assert.Equal(t, 2, r.task("a").Attempt, "the next one is 3 (BC60)")
		assert.Empty(t, r.task("a").Reason)
	})
	t.Run("BX26 BC60 retry of a question keeps the memory", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.do(board.RoleWorker, "a", board.Remember{Messages: user("which one?")})
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventAsk, Reason: "which one?", Escalation: &board.Escalation{Type: board.NeedsClarification, Reason: "r"}})
		assert.Zero(t, r.task("a").RetryCount, "to ask costs nothing (B66)")
		r.refuses(board.RoleDirector, "a", board.Move{Event: board.EventRetry, Messages: system("x")}, "system message")
		r.refuses(board.RoleDirector, "a", board.Move{Event: board.EventRetry, Messages: user("x"), Wipe: true}, "want one system message")
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventRetry, Messages: user("the first")})
		assert.Len(t, r.Board().Memories["a"], 2)
	})
	t.Run("BX26 accept: the last artifact as it is, without a further attempt", func(t *testing.T) {
		r := waiting(t)
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventAccept, Who: "ann"})
		r.is("a READY")
		r.dispatch("a")
		assert.Equal(t, 2, r.task("a").Attempt)
		r.refuses(board.RoleWorker, "a", board.Move{Event: board.EventDeliver, Frozen: &board.Frozen{Path: "p", Branch: "b", Commit: "c"}}, "not what was accepted")
		r.do(board.RoleWorker, "a", board.Move{Event: board.EventDeliver, Who: "ann", Frozen: frozen("a")})
		m := pass()
		m.Who = "ann"
		r.do(board.RoleStrategist, "a", m)
		r.is("a COMPLETE")
		assert.False(t, r.task("a").Accepted)
	})
	t.Run("BC46 what a change holds is not changed", func(t *testing.T) {
		r := waiting(t)
		messages := append(make([]providers.Message, 0, 4), system("x")...)
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventRetry, Messages: messages, Wipe: true})
		r.do(board.RoleDirector, "a", board.Remember{Messages: user("y")})
		assert.Zero(t, messages[:2][1])
	})
	t.Run("BX26 accept needs an artifact", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventAsk, Reason: "?"})
		r.refuses(board.RoleDirector, "a", board.Move{Event: board.EventAccept}, "nothing to accept")
	})
}

func TestPause(t *testing.T) {
	paused := func(t *testing.T) *run {
		r := newRun(t, task("a"), task("z", "a"))
		r.evaluate()
		r.dispatch("a")
		sub := task("sub")
		sub.Parent, sub.FromParent = "a", true
		r.do(board.RoleDirector, "", board.AddTasks{Tasks: []board.Definition{sub}})
		r.do(board.RoleDirector, "a", board.Move{
			Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.BySubtask, Description: "research first"},
			Needs: []string{"sub"}, Checkpoint: &board.Checkpoint{Resume: "continue with routes", Commit: "wip"},
			Escalation: &board.Escalation{Type: board.NeedsResearch, Reason: "r"},
		})
		return r
	}
	proves(t, []string{"BA87 B46 B64 B65 B66 wait for a subtask and resume", "BA88 B58 the same for research"}, func(t *testing.T) {
		r := paused(t)
		r.is("a BLOCKED, sub PLANNED")
		assert.Equal(t, []string{"sub"}, r.task("a").Blocked.WaitingOn)
		assert.Equal(t, "research first", r.task("a").Blocked.Description)
		_, ok := r.Next(routing.Limits{Global: 1})
		assert.False(t, ok)
		r.evaluate()
		next, ok := r.Next(routing.Limits{Global: 1})
		assert.True(t, ok, "its place is free")
		assert.Equal(t, "sub", next)
		r.complete("sub")
		r.is("a BLOCKED")
		r.evaluate()
		r.is("a READY, z BLOCKED")
		r.dispatch("a")
		v, err := r.View("a")
		require.NoError(t, err)
		assert.Equal(t, "continue with routes", v.Task.Checkpoint.Resume)
		r.do(board.RoleWorker, "a", board.Move{Event: board.EventDeliver, Frozen: frozen("a")})
		assert.Nil(t, r.task("a").Checkpoint)
		assert.Equal(t, []board.Result{{Task: "sub", Title: "The sub build", Status: board.Complete, Path: "artifacts/sub.md", Summary: "made sub"}}, v.Subtasks)
		assert.Zero(t, v.Task.RetryCount)
	})
	t.Run("B78 BA25 a restarted task no longer waits for its subtasks", func(t *testing.T) {
		r := paused(t)
		r.complete("sub")
		r.evaluate()
		r.dispatch("a")
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventLose, QA: &board.QA{Kind: board.Crashed}, Messages: system("again")})
		assert.Empty(t, r.task("a").WaitingFor)
		assert.Nil(t, r.task("a").Checkpoint)
		assert.Empty(t, r.Descendants("sub"))
	})
	t.Run("BA94 BX17 B37 a subtask that is abandoned", func(t *testing.T) {
		r := paused(t)
		r.evaluate()
		changes, err := r.Abandon("sub", "re-scoped", nil, r.now)
		require.NoError(t, err)
		r.apply(changes...)
		r.evaluate()
		assert.Equal(t, board.ByAbandoned, r.task("a").Blocked.Type)
		assert.Equal(t, []string{"sub"}, r.task("a").Blocked.WaitingOn)
		r.do(board.RoleDirector, "a", board.Edit{DropNeeds: []string{"sub"}})
		r.evaluate()
		r.is("a READY")
		assert.Empty(t, r.task("a").WaitingFor)
	})
	t.Run("BA91 B62 BC37 something outside", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventPause, Blocked: &board.BlockedReason{Type: board.ByExternal, WaitingOn: []string{"API key"}}})
		r.is("a BLOCKED")
		assert.Equal(t, []string{"API key"}, r.task("a").Blocked.WaitingOn)
		r.evaluate()
		r.is("a BLOCKED")
		r.refuses(board.RoleDirector, "a", board.Move{Event: board.EventAsk, Reason: "r", QA: &board.QA{Kind: board.Crashed}}, "no attempt has failed, the task is BLOCKED")
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventUnblock})
		r.is("a READY")
	})
	t.Run("BA89 B61 a clarification", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventResolve, Messages: user("yes, JSON")})
		r.is("a READY")
		assert.Equal(t, user("yes, JSON"), r.Board().Memories["a"])
		assert.Zero(t, r.task("a").RetryCount)
	})
	t.Run("BC23 code is fixed before the tests run again", func(t *testing.T) {
		r := newRun(t, task("db_test"))
		r.evaluate()
		r.deliver("db_test")
		r.do(board.RoleStrategist, "db_test", fail())
		r.do(board.RoleDirector, "", board.AddTasks{Tasks: []board.Definition{task("fix-db-1")}})
		wait := board.Move{Event: board.EventWaitFix, Blocked: &board.BlockedReason{Type: board.ByExternal, WaitingOn: []string{"x"}}, Messages: system("again")}
		r.refuses(board.RoleDirector, "db_test", wait, `does not go with "wait_fix"`)
		wait.Blocked = &board.BlockedReason{Type: board.BySubtask}
		r.refuses(board.RoleDirector, "db_test", wait, "is complete")
		wait.Needs = []string{"fix-db-1"}
		r.do(board.RoleDirector, "db_test", wait)
		r.is("db_test BLOCKED")
		assert.Equal(t, 1, r.task("db_test").RetryCount)
		r.complete("fix-db-1")
		r.evaluate()
		r.is("db_test READY")
		assert.Equal(t, system("again"), r.Board().Memories["db_test"])
	})
	t.Run("BC63 a conflict may add a dependency", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"))
		r.evaluate()
		r.deliver("a")
		r.do(board.RoleStrategist, "a", board.Move{Event: board.EventConflict, QA: &board.QA{Kind: board.MergeBroken}})
		r.do(board.RoleDirector, "a", board.Edit{AddNeeds: []string{"b"}})
		r.refuses(board.RoleDirector, "a", board.Move{Event: board.EventPhoenix, Messages: system("x")}, `it needs ["b"]`)
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventWaitFix, Blocked: &board.BlockedReason{Type: board.ByDependency}, Messages: system("x")})
		r.complete("b")
		r.evaluate()
		r.is("a READY")
	})
	t.Run("B28 a READY task can be blocked", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"))
		r.evaluate()
		r.do(board.RoleDirector, "a", board.Move{Event: board.EventBlock, Blocked: &board.BlockedReason{Type: board.ByDependency}, Needs: []string{"b"}})
		r.is("a BLOCKED")
		assert.Equal(t, []string{"b"}, r.task("a").DependsOn)
		assert.Equal(t, []string{"b"}, r.ReadyQueue())
		r.do(board.RoleDirector, "b", board.Move{Event: board.EventBlock, Blocked: &board.BlockedReason{Type: board.ByExternal, WaitingOn: []string{"key"}}})
		assert.Empty(t, r.ReadyQueue())
		r.evaluate()
		r.is("a BLOCKED, b BLOCKED")
	})
}

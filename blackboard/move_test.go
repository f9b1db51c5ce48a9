package blackboard_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
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
			"dependsOn": []any{}, "priority": 10.0, "profile": "code_worker", "retryCount": 0.0,
			"criteria":  []any{"The artifact fulfils the task description"},
			"createdAt": "2026-11-01T09:00:01Z", "updatedAt": "2026-11-01T09:00:01Z",
		}, fields, "resultPath, qa, blocked and startedAt are absent")
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
		r.do(blackboard.RoleWorker, "views_build", blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen("views_build")})
		r.is("views_build AWAITING_QA")
		r.do(blackboard.RoleStrategist, "views_build", pass())
		r.is("views_build COMPLETE")
		done := r.task("views_build")
		assert.Zero(t, done.RetryCount)
		assert.Equal(t, 1, done.Attempt)
		assert.Equal(t, r.now, done.CompletedAt)
	})
	t.Run("BA6 B30 blocked is there while BLOCKED", func(t *testing.T) {
		r := newRun(t, task("a"), task("b", "a"))
		assert.Nil(t, r.task("b").Blocked)
		r.now = r.now.Add(time.Millisecond)
		r.evaluate()
		assert.Equal(t, &blackboard.BlockedReason{Type: blackboard.ByDependency, WaitingOn: []string{"a"}, Since: r.now.Truncate(time.Second)}, r.task("b").Blocked, "models read it")
		r.complete("a")
		r.evaluate()
		r.is("b READY")
		assert.Nil(t, r.task("b").Blocked)
	})
	t.Run("BA7 B15 BC41 startedAt is that of the last dispatch", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		assert.Equal(t, r.now, r.task("a").StartedAt)
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRelease})
		r.now = r.now.Add(time.Hour)
		r.dispatch("a")
		assert.Equal(t, r.now, r.task("a").StartedAt)
		assert.Equal(t, 2, r.task("a").Attempt)
	})
	t.Run("B20 updatedAt changes with every change of the task", func(t *testing.T) {
		r := newRun(t, task("a"), task("z"))
		r.evaluate()
		title := "New"
		for _, c := range []struct {
			by blackboard.Role
			do blackboard.Action
		}{
			{blackboard.RoleDirector, blackboard.Edit{Title: &title}},
			{blackboard.RoleStrategist, blackboard.Refine{Criteria: []string{"c"}}},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventDispatch}},
			{blackboard.RoleWorker, blackboard.Remember{Messages: user("x")}},
			{blackboard.RoleWorker, blackboard.Spend{Usage: providers.Usage{Calls: 1}}},
		} {
			r.do(c.by, "a", c.do)
			assert.Equal(t, r.now, r.task("a").UpdatedAt, "%T", c.do)
		}
		assert.Equal(t, start.Add(2*time.Second), r.task("z").UpdatedAt, "another task has not changed")
	})
}

func TestMoveRefused(t *testing.T) {
	deliver := blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen("a")}
	t.Run("BA2 B24 B25 B27 by a role that does not own it", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.refuses(blackboard.RoleStrategist, "a", deliver, `not allowed for "strategist"`)
		r.refuses(blackboard.RoleGuardian, "a", deliver, `not allowed for "guardian"`)
		r.do(blackboard.RoleWorker, "a", deliver)
		r.refuses(blackboard.RoleWorker, "a", pass(), `not allowed for "worker"`)
		r.refuses(blackboard.RoleDirector, "a", pass(), `not allowed for "director"`)
		require.ErrorIs(t, r.try(blackboard.RoleDirector, "a", pass()), fsm.ErrTransition)
	})
	t.Run("BA3 B26 by the Guardian", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		for event := range contentsOf() {
			require.Error(t, r.try(blackboard.RoleGuardian, "a", blackboard.Move{Event: event, Reason: "x"}), event)
		}
		r.is("a READY")
	})
	t.Run("BA4 BA86 B22 of a task that is final", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"))
		r.complete("a")
		r.do(blackboard.RoleDirector, "b", blackboard.Move{Event: blackboard.EventAbandon, Reason: "not needed"})
		for _, id := range []string{"a", "b"} {
			require.ErrorIs(t, r.try(blackboard.RoleDirector, id, blackboard.Move{Event: blackboard.EventAbandon, Reason: "x"}), blackboard.ErrTerminal)
			require.ErrorIs(t, r.try(blackboard.RoleDirector, id, blackboard.Move{Event: blackboard.EventReady}), blackboard.ErrTerminal)
			require.ErrorIs(t, r.try(blackboard.RoleDirector, id, blackboard.Edit{}), blackboard.ErrTerminal)
			require.ErrorIs(t, r.try(blackboard.RoleDirector, id, blackboard.Split{}), blackboard.ErrTerminal)
			_, err := r.Abandon(id, "x", nil, r.now)
			require.ErrorIs(t, err, blackboard.ErrTerminal)
			_, err = r.AbandonBranch(id, "x", r.now)
			require.ErrorIs(t, err, blackboard.ErrTerminal)
		}
		r.is("a COMPLETE, b ABANDONED")
	})
	t.Run("B33 ready before its dependencies", func(t *testing.T) {
		r := newRun(t, task("a"), task("b", "a"))
		r.refuses(blackboard.RoleDirector, "b", blackboard.Move{Event: blackboard.EventReady}, `it needs ["a"]`)
		r.evaluate()
		r.refuses(blackboard.RoleDirector, "b", blackboard.Move{Event: blackboard.EventUnblock}, `it needs ["a"]`)
	})
	t.Run("B53 B73 B30 without what the event needs", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		for _, bad := range []struct {
			by   blackboard.Role
			move blackboard.Move
			want string
		}{
			{blackboard.RoleWorker, blackboard.Move{Event: blackboard.EventDeliver}, "frozen is missing"},
			{blackboard.RoleWorker, blackboard.Move{Event: blackboard.EventDeliver, Frozen: &blackboard.Frozen{Path: "a"}}, "branch or commit is empty"},
			{blackboard.RoleWorker, blackboard.Move{Event: blackboard.EventDeliver, Frozen: &blackboard.Frozen{Path: "/a", Branch: "b", Commit: "c"}}, `path is "/a"`},
			{blackboard.RoleWorker, blackboard.Move{Event: blackboard.EventDeliver, Frozen: &blackboard.Frozen{Path: "../a", Branch: "b", Commit: "c"}}, `path is "../a"`},
			{blackboard.RoleWorker, blackboard.Move{Event: blackboard.EventDeliver, Frozen: &blackboard.Frozen{Path: ".", Branch: "b", Commit: "c"}}, `path is "."`},
			{blackboard.RoleWorker, blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen("a"), Wipe: true, Merged: "m"}, "merged does not go with \"deliver\"\nwipe does not go with"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventPause}, "blocked is missing"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: "lunch"}}, `type is "lunch"`},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.ByDependency}}, `type "dependency" does not go with "pause"`},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.ByAbandoned}}, `type "dependency_abandoned" does not go`},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}}, "all that it waits for is complete"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.ByExternal}}, "waitingOn is empty"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Needs: []string{"x"}}, `needs "x", which does not exist`},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Needs: []string{"a"}}, "needs itself"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.ByReplanning}, Needs: []string{"a"}}, "needs does not go with the type"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventLose, QA: &blackboard.QA{Kind: blackboard.Crashed}}, "messages is missing"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventLose, QA: &blackboard.QA{Kind: blackboard.Crashed}, Messages: user("x")}, "want one system message"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventLose, QA: &blackboard.QA{Kind: blackboard.Crashed}, Messages: append(system("x"), system("y")...)}, "want one system message"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventLose, QA: &blackboard.QA{Kind: blackboard.Crashed}, Messages: system(" ")}, "want one system message"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventLose, QA: &blackboard.QA{Kind: blackboard.FailedReview}, Messages: system("x")}, `kind is "qa"`},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventLose, QA: &blackboard.QA{Passed: true}, Messages: system("x")}, "passed is true"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventResolve, Messages: system("x")}, "is a system message"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventAsk, Reason: " "}, "reason is missing"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventAbandon}, "reason is missing"},
			{blackboard.RoleDirector, blackboard.Move{Event: blackboard.EventAsk, Reason: "r", Escalation: &blackboard.Escalation{Type: "BORED"}}, `escalation: type is "BORED"`},
			{blackboard.RoleDirector, blackboard.Move{Event: "vanish"}, `event "vanish" does not exist`},
		} {
			r.refuses(bad.by, "a", bad.move, bad.want)
		}
		r.do(blackboard.RoleWorker, "a", deliver)
		for _, bad := range []struct {
			move blackboard.Move
			want string
		}{
			{blackboard.Move{Event: blackboard.EventPass, QA: &blackboard.QA{Passed: true}}, "merged is missing"},
			{blackboard.Move{Event: blackboard.EventPass, QA: &blackboard.QA{}, Merged: "m"}, "passed is false"},
			{blackboard.Move{Event: blackboard.EventPass, QA: &blackboard.QA{Passed: true}, Merged: "m", Files: map[string]string{"a//b": ""}}, `path is "a//b"`},
			{blackboard.Move{Event: blackboard.EventFail}, "qa is missing"},
			{blackboard.Move{Event: blackboard.EventFail, QA: &blackboard.QA{Kind: blackboard.MergeConflict}}, `kind is "merge_conflict"`},
			{blackboard.Move{Event: blackboard.EventConflict, QA: &blackboard.QA{Kind: blackboard.FailedReview}}, `kind is "qa"`},
			{blackboard.Move{Event: blackboard.EventUngraded, QA: &blackboard.QA{Kind: blackboard.FailedReview}}, `kind is "qa"`},
		} {
			r.refuses(blackboard.RoleStrategist, "a", bad.move, bad.want)
		}
		require.ErrorIs(t, r.try(blackboard.RoleDirector, "x", deliver), blackboard.ErrNoTask)
		require.Error(t, r.Apply(blackboard.Change{By: blackboard.RoleDirector}))
	})
}

// What the team's rules want of the next attempt stands on the board until it is made, or a
// person wants another one.
func TestNextAttempt(t *testing.T) {
	later := start.Add(time.Hour)
	ended := func(t *testing.T, m blackboard.Move) *run {
		r := newRun(t, task("a"))
		r.evaluate()
		r.deliver("a")
		r.do(blackboard.RoleStrategist, "a", fail())
		m.Messages, m.Agent, m.NotBefore = system("again"), "ann", later
		r.do(blackboard.RoleDirector, "a", m)
		return r
	}
	t.Run("B75 it is asked for, and kept beyond the attempt", func(t *testing.T) {
		r := ended(t, blackboard.Move{Event: blackboard.EventPhoenix})
		assert.Equal(t, "ann", r.task("a").Agent)
		assert.Equal(t, later, r.task("a").NotBefore)
		r.dispatch("a")
		assert.Equal(t, "ann", r.task("a").Agent)
		assert.Zero(t, r.task("a").NotBefore)
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventLose, QA: &blackboard.QA{Kind: blackboard.Crashed}, Messages: system("again")})
		assert.Equal(t, "ann", r.task("a").Agent, "none is named: the last one stays")
	})
	t.Run("B77 a person wants another attempt", func(t *testing.T) {
		r := ended(t, blackboard.Move{Event: blackboard.EventPhoenix})
		r.dispatch("a")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventAsk, Reason: "why"})
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRetry})
		assert.Empty(t, r.task("a").Agent)
	})
	t.Run("B53 with another event", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.refuses(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventDispatch, Agent: "ann"}, "agent does not go with")
		r.refuses(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventDispatch, NotBefore: later}, "notBefore does not go with")
	})
}

// contentsOf are the events of the table.
func contentsOf() map[blackboard.Event]bool {
	events := map[blackboard.Event]bool{}
	for _, s := range blackboard.TaskTable().States() {
		for _, o := range blackboard.TaskTable().Allowed(s) {
			events[o.Event] = true
		}
	}
	return events
}

func TestQA(t *testing.T) {
	reviewed := func(t *testing.T) *run {
		r := newRun(t, task("a"), task("b"))
		r.evaluate()
		r.do(blackboard.RoleDirector, "b", blackboard.Move{Event: blackboard.EventDispatch})
		r.do(blackboard.RoleWorker, "b", blackboard.Remember{Messages: user("of b")})
		r.do(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: blackboard.Decision{Area: "api", Summary: "REST"}})
		r.do(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: blackboard.Insight{Summary: "axios"}})
		r.dispatch("a")
		r.do(blackboard.RoleWorker, "a", blackboard.Remember{Messages: make12()})
		r.do(blackboard.RoleGuardian, "a", blackboard.SetWatch{Watch: blackboard.Watch{Alignments: []float64{60}}})
		r.do(blackboard.RoleWorker, "a", blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen("a"), Summary: "done"})
		return r
	}
	t.Run("B75 B30 FAIL: FAILED_QA, feedback, one retry", func(t *testing.T) {
		r := reviewed(t)
		r.do(blackboard.RoleStrategist, "a", fail())
		r.is("a FAILED_QA")
		assert.Equal(t, 1, r.task("a").RetryCount)
		assert.Equal(t, "404 is not handled", r.task("a").QA.Feedback)
	})
	t.Run("BA25 B78 B11 B126 the wipe", func(t *testing.T) {
		r := reviewed(t)
		spec, log, insights := r.Board().Spec, r.Board().DesignLog, r.Board().Insights
		r.do(blackboard.RoleStrategist, "a", fail())
		assert.Len(t, r.Board().Memories["a"], 12)
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventPhoenix, Messages: system("try again: task/x/a")})
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
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventDispatch, Branch: "a2"})
		assert.Equal(t, 2, r.task("a").Attempt)
	})
	t.Run("BA26 BC21 a conflict costs no retry", func(t *testing.T) {
		r := reviewed(t)
		r.do(blackboard.RoleStrategist, "a", blackboard.Move{Event: blackboard.EventConflict, QA: &blackboard.QA{Kind: blackboard.MergeConflict, Files: []string{"main.go"}}})
		r.is("a FAILED_QA")
		assert.Equal(t, 0, r.task("a").RetryCount)
		assert.Equal(t, 1, r.task("a").ConflictCount)
		assert.Equal(t, []string{"main.go"}, r.task("a").QA.Files)
		assert.Equal(t, blackboard.MergeConflict, r.task("a").QA.Kind)
	})
	t.Run("BA29 BX19 no review costs no retry and goes to a person", func(t *testing.T) {
		r := reviewed(t)
		r.do(blackboard.RoleStrategist, "a", blackboard.Move{Event: blackboard.EventUngraded, QA: &blackboard.QA{Kind: blackboard.NoReview}})
		assert.Equal(t, 0, r.task("a").RetryCount)
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventEscalate, Reason: "no review"})
		r.is("a WAITING_HUMAN")
		assert.Equal(t, "no review", r.task("a").Reason)
	})
	t.Run("BA28 BC3 an attempt that is lost costs a retry and wipes", func(t *testing.T) {
		for _, kind := range []blackboard.FailureKind{blackboard.Crashed, blackboard.StalledWorker, blackboard.TimedOut, blackboard.EmptyResult} {
			r := newRun(t, task("a"))
			r.evaluate()
			r.dispatch("a")
			r.do(blackboard.RoleWorker, "a", blackboard.Remember{Messages: make12()})
			r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventLose, QA: &blackboard.QA{Kind: kind}, Messages: system("again")})
			r.is("a READY")
			assert.Equal(t, 1, r.task("a").RetryCount)
			assert.Equal(t, system("again"), r.Board().Memories["a"])
			assert.Equal(t, kind, r.task("a").QA.Kind)
			r.dispatch("a")
			r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventAsk, Reason: "no attempt is left", QA: &blackboard.QA{Kind: kind}})
			r.is("a WAITING_HUMAN")
			assert.Equal(t, 2, r.task("a").RetryCount)
		}
	})
	t.Run("BX1 B66 a release keeps memory and retries", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleWorker, "a", blackboard.Remember{Messages: user("wip")})
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRelease, Checkpoint: &blackboard.Checkpoint{Commit: "wip"}})
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
		r.do(blackboard.RoleStrategist, "a", m)
		assert.Equal(t, map[string]blackboard.File{
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
		r.do(blackboard.RoleWorker, "views_build", blackboard.Move{Event: blackboard.EventDeliver, Frozen: f})
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
		r.do(blackboard.RoleStrategist, "a", blackboard.Move{Event: blackboard.EventConflict, QA: &blackboard.QA{Kind: blackboard.MergeConflict}})
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventPhoenix, Messages: system("x")})
		r.deliver("a")
		r.do(blackboard.RoleStrategist, "a", fail())
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventEscalate, Reason: "4 failures"})
		return r
	}
	t.Run("BX26 retry: with guidance, from nothing, and the count is 0", func(t *testing.T) {
		r := waiting(t)
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRetry, Who: "ann", Messages: system("use REST"), Wipe: true})
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
		r.do(blackboard.RoleWorker, "a", blackboard.Remember{Messages: user("which one?")})
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventAsk, Reason: "which one?", Escalation: &blackboard.Escalation{Type: blackboard.NeedsClarification, Reason: "r"}})
		assert.Zero(t, r.task("a").RetryCount, "to ask costs nothing (B66)")
		r.refuses(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRetry, Messages: system("x")}, "system message")
		r.refuses(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRetry, Messages: user("x"), Wipe: true}, "want one system message")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRetry, Messages: user("the first")})
		assert.Len(t, r.Board().Memories["a"], 2)
	})
	t.Run("BX26 accept: the last artifact as it is, without a further attempt", func(t *testing.T) {
		r := waiting(t)
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventAccept, Who: "ann"})
		r.is("a READY")
		r.dispatch("a")
		assert.Equal(t, 2, r.task("a").Attempt)
		r.refuses(blackboard.RoleWorker, "a", blackboard.Move{Event: blackboard.EventDeliver, Frozen: &blackboard.Frozen{Path: "p", Branch: "b", Commit: "c"}}, "not what was accepted")
		r.do(blackboard.RoleWorker, "a", blackboard.Move{Event: blackboard.EventDeliver, Who: "ann", Frozen: frozen("a")})
		m := pass()
		m.Who = "ann"
		r.do(blackboard.RoleStrategist, "a", m)
		r.is("a COMPLETE")
		assert.False(t, r.task("a").Accepted)
	})
	t.Run("BC46 what a change holds is not changed", func(t *testing.T) {
		r := waiting(t)
		messages := append(make([]providers.Message, 0, 4), system("x")...)
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRetry, Messages: messages, Wipe: true})
		r.do(blackboard.RoleDirector, "a", blackboard.Remember{Messages: user("y")})
		assert.Zero(t, messages[:2][1])
	})
	t.Run("BX26 accept needs an artifact", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventAsk, Reason: "?"})
		r.refuses(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventAccept}, "nothing to accept")
	})
}

func TestPause(t *testing.T) {
	paused := func(t *testing.T) *run {
		r := newRun(t, task("a"), task("z", "a"))
		r.evaluate()
		r.dispatch("a")
		sub := task("sub")
		sub.Parent, sub.FromParent = "a", true
		r.do(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: []blackboard.Definition{sub}})
		r.do(blackboard.RoleDirector, "a", blackboard.Move{
			Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask, Description: "research first"},
			Needs: []string{"sub"}, Checkpoint: &blackboard.Checkpoint{Resume: "continue with routes", Commit: "wip"},
			Escalation: &blackboard.Escalation{Type: blackboard.NeedsResearch, Reason: "r"},
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
		r.do(blackboard.RoleWorker, "a", blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen("a")})
		assert.Nil(t, r.task("a").Checkpoint)
		assert.Equal(t, []blackboard.Result{{Task: "sub", Title: "The sub build", Status: blackboard.Complete, Path: "artifacts/sub.md", Summary: "made sub"}}, v.Subtasks)
		assert.Zero(t, v.Task.RetryCount)
	})
	t.Run("B78 BA25 a restarted task no longer waits for its subtasks", func(t *testing.T) {
		r := paused(t)
		r.complete("sub")
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventLose, QA: &blackboard.QA{Kind: blackboard.Crashed}, Messages: system("again")})
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
		assert.Equal(t, blackboard.ByAbandoned, r.task("a").Blocked.Type)
		assert.Equal(t, []string{"sub"}, r.task("a").Blocked.WaitingOn)
		r.do(blackboard.RoleDirector, "a", blackboard.Edit{DropNeeds: []string{"sub"}})
		r.evaluate()
		r.is("a READY")
		assert.Empty(t, r.task("a").WaitingFor)
	})
	t.Run("BA91 B62 BC37 something outside", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.ByExternal, WaitingOn: []string{"API key"}}})
		r.is("a BLOCKED")
		assert.Equal(t, []string{"API key"}, r.task("a").Blocked.WaitingOn)
		r.evaluate()
		r.is("a BLOCKED")
		r.refuses(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventAsk, Reason: "r", QA: &blackboard.QA{Kind: blackboard.Crashed}}, "no attempt has failed, the task is BLOCKED")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventUnblock})
		r.is("a READY")
	})
	t.Run("BA89 B61 a clarification", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventResolve, Messages: user("yes, JSON")})
		r.is("a READY")
		assert.Equal(t, user("yes, JSON"), r.Board().Memories["a"])
		assert.Zero(t, r.task("a").RetryCount)
	})
	t.Run("BC23 code is fixed before the tests run again", func(t *testing.T) {
		r := newRun(t, task("db_test"))
		r.evaluate()
		r.deliver("db_test")
		r.do(blackboard.RoleStrategist, "db_test", fail())
		r.do(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: []blackboard.Definition{task("fix-db-1")}})
		wait := blackboard.Move{Event: blackboard.EventWaitFix, Blocked: &blackboard.BlockedReason{Type: blackboard.ByExternal, WaitingOn: []string{"x"}}, Messages: system("again")}
		r.refuses(blackboard.RoleDirector, "db_test", wait, `does not go with "wait_fix"`)
		wait.Blocked = &blackboard.BlockedReason{Type: blackboard.BySubtask}
		r.refuses(blackboard.RoleDirector, "db_test", wait, "is complete")
		wait.Needs = []string{"fix-db-1"}
		r.do(blackboard.RoleDirector, "db_test", wait)
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
		r.do(blackboard.RoleStrategist, "a", blackboard.Move{Event: blackboard.EventConflict, QA: &blackboard.QA{Kind: blackboard.MergeBroken}})
		r.do(blackboard.RoleDirector, "a", blackboard.Edit{AddNeeds: []string{"b"}})
		r.refuses(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventPhoenix, Messages: system("x")}, `it needs ["b"]`)
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventWaitFix, Blocked: &blackboard.BlockedReason{Type: blackboard.ByDependency}, Messages: system("x")})
		r.complete("b")
		r.evaluate()
		r.is("a READY")
	})
	t.Run("B28 a READY task can be blocked", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"))
		r.evaluate()
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventBlock, Blocked: &blackboard.BlockedReason{Type: blackboard.ByDependency}, Needs: []string{"b"}})
		r.is("a BLOCKED")
		assert.Equal(t, []string{"b"}, r.task("a").DependsOn)
		assert.Equal(t, []string{"b"}, r.ReadyQueue())
		r.do(blackboard.RoleDirector, "b", blackboard.Move{Event: blackboard.EventBlock, Blocked: &blackboard.BlockedReason{Type: blackboard.ByExternal, WaitingOn: []string{"key"}}})
		assert.Empty(t, r.ReadyQueue())
		r.evaluate()
		r.is("a BLOCKED, b BLOCKED")
	})
}

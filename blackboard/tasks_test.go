package blackboard_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/routing"
)

func TestAddTasks(t *testing.T) {
	t.Run("BA21 B33 B34 B112 the first evaluation", func(t *testing.T) {
		r := newRun(t, sevenTasks()...)
		assert.Equal(t, 8, func() (edges int) {
			for _, task := range r.Board().Tasks {
				edges += len(task.DependsOn)
			}
			return edges
		}())
		r.evaluate()
		r.is("db_plan READY, db_build BLOCKED, db_test BLOCKED, api_plan BLOCKED, api_build BLOCKED, views_plan BLOCKED, views_build BLOCKED")
		assert.Empty(t, r.Evaluate(r.now), "nothing is left to do")
		assert.Equal(t, []string{"db_plan"}, r.ReadyQueue())
		assert.Equal(t, []string{"api_plan", "db_build"}, r.task("api_build").Blocked.WaitingOn)
	})
	t.Run("B41 ready queue, blocked list and active set", func(t *testing.T) {
		r := newRun(t, sevenTasks()...)
		r.complete("db_plan")
		r.evaluate()
		r.dispatch("api_plan")
		assert.Equal(t, []string{"db_build"}, r.ReadyQueue())
		assert.Equal(t, []string{"api_plan"}, r.In(blackboard.Active))
		assert.Equal(t, []string{"db_test", "api_build", "views_plan", "views_build"}, r.In(blackboard.Blocked))
	})
	t.Run("BC54 BC1 BC56 B121 BX12 BX13 bad definitions, all faults at once", func(t *testing.T) {
		r := newRun(t, task("old"))
		nan := math.NaN()
		bad := []blackboard.Definition{
			{},
			{ID: "a ", Component: "c", Phase: "p", Profile: "w", Criteria: []string{" "}, Risk: &nan, FromParent: true},
			{ID: "b", Component: "c", Phase: "p", Profile: "w", Criteria: []string{"x"}, Parent: "nobody"},
		}
		r.refuses(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: bad}, "tasks[0] \"\": id is \"\", want a name in UTF-8 without space around it\n"+
			"tasks[0] \"\": component is \"\", want a name in UTF-8 without space around it\ntasks[0] \"\": phase is \"\", want a name in UTF-8 without space around it\n"+
			"tasks[0] \"\": profile is \"\", want a name in UTF-8 without space around it\ntasks[0] \"\": criteria is empty, want at least one\n"+
			"tasks[1] \"a \": id is \"a \", want a name in UTF-8 without space around it\ntasks[1] \"a \": criteria[0] is empty\n"+
			"tasks[1] \"a \": risk is NaN, want 0 to 1\ntasks[1] \"a \": fromParent is set, but parent is empty\ntasks[2] \"b\": parent \"nobody\": no such task")
		r.refuses(blackboard.RoleDirector, "", blackboard.AddTasks{}, "tasks is empty")
		r.refuses(blackboard.RoleWorker, "", blackboard.AddTasks{Tasks: []blackboard.Definition{task("a")}}, `not allowed for "worker"`)
		for _, want := range []struct {
			tasks []blackboard.Definition
			err   string
		}{
			{[]blackboard.Definition{task("a", "x")}, `"a" needs "x", which does not exist`},
			{[]blackboard.Definition{task("a", "a")}, `"a" needs itself`},
			{[]blackboard.Definition{task("old")}, `"old" is taken`},
			{[]blackboard.Definition{task("c", "a"), task("a", "b"), task("b", "c")}, "dependency cycle: a, b, c"},
		} {
			r.refuses(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: want.tasks}, want.err)
		}
	})
	t.Run("BA95 B44 B67 an approved suggestion is a PLANNED task", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.do(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: []blackboard.Definition{task("b", "a")}})
		r.is("a READY, b PLANNED")
		r.evaluate()
		r.is("b BLOCKED")
	})
	t.Run("BA96 BX13 a suggestion that closes a circle", func(t *testing.T) {
		r := newRun(t, task("a"), task("b", "a"))
		err := r.try(blackboard.RoleDirector, "a", blackboard.Edit{AddNeeds: []string{"b"}})
		require.ErrorIs(t, err, routing.ErrCycle)
		r.refuses(blackboard.RoleDirector, "a", blackboard.Edit{AddNeeds: []string{"b"}}, "dependency cycle: a, b")
	})
}

func TestEdit(t *testing.T) {
	t.Run("BX26 BX14 criteria, priority and texts", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"))
		r.evaluate()
		assert.Equal(t, []string{"a", "b"}, r.ReadyQueue())
		priority, title := 20, "Title"
		r.do(blackboard.RoleDirector, "b", blackboard.Edit{Priority: &priority, Title: &title, Description: &title, Criteria: []string{"x", "y"}})
		assert.Equal(t, []string{"b", "a"}, r.ReadyQueue())
		assert.Equal(t, 20, r.task("b").Priority)
		assert.Equal(t, []string{"x", "y"}, r.task("b").Criteria)
		assert.Equal(t, "TitleTitle", r.task("b").Title+r.task("b").Description)
		r.refuses(blackboard.RoleDirector, "b", blackboard.Edit{Criteria: []string{""}}, "criteria[0] is empty")
		r.refuses(blackboard.RoleDirector, "b", blackboard.Edit{Criteria: []string{}}, "want at least one")
		r.refuses(blackboard.RoleStrategist, "b", blackboard.Edit{}, "not allowed")
	})
	t.Run("B102 dependencies", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"), task("c", "a"))
		r.evaluate()
		r.refuses(blackboard.RoleDirector, "a", blackboard.Edit{AddNeeds: []string{"b"}}, "the task is READY")
		r.refuses(blackboard.RoleDirector, "c", blackboard.Edit{AddNeeds: []string{"x"}}, "does not exist")
		r.refuses(blackboard.RoleDirector, "c", blackboard.Edit{DropNeeds: []string{"b"}}, `it does not depend on "b"`)
		r.refuses(blackboard.RoleDirector, "c", blackboard.Edit{DropNeeds: []string{"a", "a"}}, "dropNeeds[1]")
		r.refuses(blackboard.RoleDirector, "c", blackboard.Edit{DropNeeds: []string{"a"}, AddNeeds: []string{"a"}}, "dropNeeds[0]")
		r.do(blackboard.RoleDirector, "c", blackboard.Edit{DropNeeds: []string{"a"}, AddNeeds: []string{"b"}})
		assert.Equal(t, []string{"b"}, r.task("c").DependsOn)
		before := r.task("c")
		r.do(blackboard.RoleDirector, "c", blackboard.Edit{DropNeeds: []string{"b"}})
		assert.Equal(t, []string{"b"}, before.DependsOn, "of a task as it was")
		r.do(blackboard.RoleDirector, "c", blackboard.Edit{AddNeeds: []string{"b"}})
		r.complete("b")
		r.evaluate()
		r.is("c READY")
	})
}

func TestRefine(t *testing.T) {
	placeholder := task("test-api", "api_build")
	placeholder.Placeholder = true
	t.Run("BA38 B72 the general criteria are replaced", func(t *testing.T) {
		r := newRun(t, task("api_build"), placeholder)
		r.evaluate()
		r.do(blackboard.RoleStrategist, "test-api", blackboard.Refine{Criteria: []string{"GET /todos returns 200"}})
		assert.Equal(t, []string{"GET /todos returns 200"}, r.task("test-api").Criteria)
		assert.False(t, r.task("test-api").Placeholder)
		r.is("test-api BLOCKED")
	})
	t.Run("BC25 a second BUILD task adds its own", func(t *testing.T) {
		r := newRun(t, task("api_build"), placeholder)
		r.do(blackboard.RoleStrategist, "test-api", blackboard.Refine{Criteria: []string{"x", "y", "x"}})
		r.do(blackboard.RoleStrategist, "test-api", blackboard.Refine{Criteria: []string{"y", "z"}})
		assert.Equal(t, []string{"x", "y", "z"}, r.task("test-api").Criteria)
	})
	t.Run("BC25 what has been started is not touched", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.dispatch("a")
		r.refuses(blackboard.RoleStrategist, "a", blackboard.Refine{Criteria: []string{"x"}}, "it has been started, and is ACTIVE")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventRelease})
		r.refuses(blackboard.RoleStrategist, "a", blackboard.Refine{Criteria: []string{"x"}}, "it has been started, and is READY")
	})
	t.Run("BC56 no criteria, and another role", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.refuses(blackboard.RoleStrategist, "a", blackboard.Refine{}, "want at least one")
		r.refuses(blackboard.RoleDirector, "a", blackboard.Refine{Criteria: []string{"x"}}, "not allowed")
	})
}

func TestSplit(t *testing.T) {
	t.Run("BA93 B63 BC7 api_build into s1 and s2", func(t *testing.T) {
		r := newRun(t, nineTasks()...)
		r.evaluate()
		s1, s2 := task("s1"), task("s2", "s1")
		s1.Priority, s2.Priority = 1, 99
		r.do(blackboard.RoleDirector, "api_build", blackboard.Split{Into: []blackboard.Definition{s1, s2}})
		assert.Equal(t, []string{"api_plan", "db_build"}, r.task("s1").DependsOn)
		assert.Equal(t, []string{"s1"}, r.task("s2").DependsOn)
		assert.Equal(t, []string{"s2", "views_plan"}, r.task("views_build").DependsOn)
		assert.Equal(t, []string{"s2"}, r.task("test-api").DependsOn)
		r.is("api_build ABANDONED, s1 PLANNED, s2 PLANNED")
		assert.Equal(t, "split", r.task("api_build").Reason)
		assert.Nil(t, r.task("api_build").Blocked)
		assert.Equal(t, r.now, r.task("test-api").UpdatedAt, "what waits for it was changed, too (B20)")
		assert.Equal(t, 10, r.task("s1").Priority)
		assert.Equal(t, 10, r.task("s2").Priority)
		assert.Zero(t, r.task("s1").RetryCount)
		r.complete("db_plan", "api_plan", "db_build", "s1")
		r.evaluate()
		r.is("test-api BLOCKED, s2 READY")
		r.complete("s2")
		r.evaluate()
		r.is("test-api READY")
	})
	t.Run("B46 a task that paused for it waits for its parts", func(t *testing.T) {
		r := newRun(t, task("a"), task("sub"))
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventPause, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Needs: []string{"sub"}})
		r.do(blackboard.RoleDirector, "sub", blackboard.Split{Into: []blackboard.Definition{task("s1"), task("s2")}})
		assert.Equal(t, []string{"s1", "s2"}, r.task("a").WaitingFor)
		r.complete("s1", "s2")
		r.evaluate()
		r.is("a READY")
	})
	t.Run("BC7 BC22 the parts have the parent of the task", func(t *testing.T) {
		sub := task("sub")
		sub.Parent, sub.FromParent = "a", true
		r := newRun(t, task("a"))
		r.do(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: []blackboard.Definition{sub}})
		r.do(blackboard.RoleDirector, "sub", blackboard.Split{Into: []blackboard.Definition{task("s1")}})
		assert.Equal(t, "a", r.task("s1").Parent)
		assert.True(t, r.task("s1").FromParent)
	})
	t.Run("BX13 a bad split changes nothing", func(t *testing.T) {
		r := newRun(t, nineTasks()...)
		r.evaluate()
		r.refuses(blackboard.RoleDirector, "api_build", blackboard.Split{Into: []blackboard.Definition{task("s1", "views_build")}}, "dependency cycle: s1, views_build")
		r.refuses(blackboard.RoleDirector, "api_build", blackboard.Split{}, "tasks is empty")
		r.refuses(blackboard.RoleDirector, "api_build", blackboard.Split{Into: []blackboard.Definition{{ID: "s1"}}}, "component is")
		r.refuses(blackboard.RoleWorker, "api_build", blackboard.Split{Into: []blackboard.Definition{task("s1")}}, "not allowed")
	})
}

func TestAbandon(t *testing.T) {
	abandon := func(t *testing.T, drop func(string) bool) *run {
		r := newRun(t, nineTasks()...)
		r.evaluate()
		changes, err := r.Abandon("api_plan", "re-scoped", drop, r.now)
		require.NoError(t, err)
		r.apply(changes...)
		return r
	}
	t.Run("BA83 B102 dependents are blocked", func(t *testing.T) {
		r := abandon(t, nil)
		r.is("api_plan ABANDONED, api_build BLOCKED, views_plan BLOCKED, views_build BLOCKED")
		assert.Equal(t, "re-scoped", r.task("api_plan").Reason)
		assert.Equal(t, blackboard.ByAbandoned, r.task("api_build").Blocked.Type)
		assert.Equal(t, blackboard.ByAbandoned, r.task("views_plan").Blocked.Type)
		assert.Equal(t, blackboard.ByDependency, r.task("views_build").Blocked.Type)
		r.complete("db_plan", "db_build")
		r.evaluate()
		r.is("api_build BLOCKED")
	})
	t.Run("BA84 api_build drops the dependency", func(t *testing.T) {
		r := abandon(t, func(id string) bool { return id == "api_build" })
		assert.Equal(t, []string{"db_build"}, r.task("api_build").DependsOn)
		assert.Equal(t, blackboard.ByDependency, r.task("api_build").Blocked.Type)
		assert.Equal(t, blackboard.ByAbandoned, r.task("views_plan").Blocked.Type)
		r.complete("db_plan", "db_build")
		r.evaluate()
		r.is("api_build READY, views_plan BLOCKED")
	})
	t.Run("B102 PLANNED dependents are blocked, others unchanged", func(t *testing.T) {
		r := newRun(t, task("a"), task("b", "a"), task("c"))
		changes, err := r.Abandon("a", "x", nil, r.now)
		require.NoError(t, err)
		r.apply(changes...)
		r.evaluate()
		r.is("a ABANDONED, b BLOCKED, c READY")
		assert.Equal(t, blackboard.ByAbandoned, r.task("b").Blocked.Type)
		changes, err = r.Abandon("b", "y", nil, r.now)
		require.NoError(t, err)
		r.apply(changes...)
		assert.Nil(t, r.task("b").Blocked)
		r.dispatch("c")
		r.do(blackboard.RoleWorker, "c", blackboard.Remember{Messages: user("x")})
		r.do(blackboard.RoleDirector, "c", blackboard.Move{Event: blackboard.EventAbandon, Reason: "z"})
		assert.NotContains(t, r.Board().Memories, "c")
	})
	t.Run("BC32 a final or WAITING_HUMAN dependent is unchanged", func(t *testing.T) {
		r := newRun(t, task("a"), task("b", "a"), task("c", "a"))
		r.evaluate()
		r.do(blackboard.RoleDirector, "b", blackboard.Move{Event: blackboard.EventAsk, Reason: "?"})
		r.do(blackboard.RoleDirector, "c", blackboard.Move{Event: blackboard.EventAbandon, Reason: "z"})
		changes, err := r.Abandon("a", "x", nil, r.now)
		require.NoError(t, err)
		assert.Len(t, changes, 1)
		r.apply(changes...)
		r.is("b WAITING_HUMAN, c ABANDONED")
		assert.Equal(t, blackboard.ByAbandoned, r.Waits("b").Type)
		_, err = r.Abandon("x", "x", nil, r.now)
		require.ErrorIs(t, err, blackboard.ErrNoTask)
	})
	for _, tt := range []struct {
		name, root string
		tasks      []blackboard.Definition
		want       int
	}{
		{"BA79 B103 db_build", "db_build", nineTasks(), 6},
		{"BA79 db_build of seven", "db_build", sevenTasks(), 4},
		{"BA80 api_plan", "api_plan", nineTasks(), 6},
		{"BA80 api_plan of seven", "api_plan", sevenTasks(), 4},
		{"BA81 api_build", "api_build", nineTasks(), 4},
		{"BA81 api_build of seven", "api_build", sevenTasks(), 2},
		{"BA82 db_plan", "db_plan", nineTasks(), 9},
		{"BA82 db_plan of seven", "db_plan", sevenTasks(), 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(t, tt.tasks...)
			r.evaluate()
			changes, err := r.AbandonBranch(tt.root, "wrong approach", r.now)
			require.NoError(t, err)
			r.apply(changes...)
			gone := r.In(blackboard.Abandoned)
			assert.Len(t, gone, tt.want)
			assert.ElementsMatch(t, append(r.Descendants(tt.root), gone...), gone, "none that waits for it is left")
			for _, id := range gone {
				assert.Equal(t, "wrong approach", r.task(id).Reason)
			}
		})
	}
	t.Run("BC37 Reblock", func(t *testing.T) {
		r := newRun(t, task("a"), task("b", "a"))
		r.refuses(blackboard.RoleDirector, "b", blackboard.Reblock{Blocked: blackboard.BlockedReason{Type: blackboard.ByDependency}}, "it is PLANNED, want BLOCKED")
		r.evaluate()
		r.refuses(blackboard.RoleDirector, "b", blackboard.Reblock{Blocked: blackboard.BlockedReason{Type: "x"}}, "type is")
		r.refuses(blackboard.RoleStrategist, "b", blackboard.Reblock{Blocked: blackboard.BlockedReason{Type: blackboard.ByReplanning}}, "not allowed")
		r.do(blackboard.RoleDirector, "b", blackboard.Reblock{Blocked: blackboard.BlockedReason{Type: blackboard.ByReplanning}})
		r.complete("a")
		r.evaluate()
		r.is("b BLOCKED")
		r.do(blackboard.RoleDirector, "b", blackboard.Move{Event: blackboard.EventUnblock})
		r.is("b READY")
	})
}

func TestForgive(t *testing.T) {
	t.Run("BX29 a retry is given back, once for each failure", func(t *testing.T) {
		r := newRun(t, task("a"), task("b"))
		r.evaluate()
		r.dispatch("a")
		r.do(blackboard.RoleDirector, "a", blackboard.Move{Event: blackboard.EventLose, QA: &blackboard.QA{Kind: blackboard.Crashed}, Messages: system("again")})
		assert.Equal(t, 1, r.task("a").RetryCount)
		r.refuses(blackboard.RoleWorker, "a", blackboard.Forgive{}, "not allowed")
		r.do(blackboard.RoleDirector, "a", blackboard.Forgive{})
		assert.Zero(t, r.task("a").RetryCount)
		r.refuses(blackboard.RoleDirector, "a", blackboard.Forgive{}, "no attempt has failed")
		r.refuses(blackboard.RoleDirector, "b", blackboard.Forgive{}, "no attempt has failed")
	})
}

package blackboard_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/routing"
)

// live carries the tasks through to the end: in each unit of time up to three are worked
// on and reviewed. The reviews of a task fail as often as failing says; behind the third
// retry a person is asked. It returns how many units it took, and each state that watched
// was in.
func (r *run) live(failing map[string]int, watched string) (units int, seen []blackboard.State) {
	r.t.Helper()
	look := func() {
		if s := r.task(watched).Status; len(seen) == 0 || seen[len(seen)-1] != s {
			seen = append(seen, s)
		}
	}
	look()
	for {
		r.evaluate()
		look()
		var started []string
		for id, ok := r.Next(routing.Limits{Global: 3}); ok; id, ok = r.Next(routing.Limits{Global: 3}) {
			r.dispatch(id)
			started = append(started, id)
		}
		if len(started) == 0 {
			return units, seen
		}
		units++
		look()
		for _, id := range started {
			r.do(blackboard.RoleWorker, id, blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen(id)})
			look()
			if failing[id] == 0 {
				r.do(blackboard.RoleStrategist, id, pass())
				look()
				continue
			}
			failing[id]--
			r.do(blackboard.RoleStrategist, id, fail())
			look()
			if r.task(id).RetryCount > 3 {
				r.do(blackboard.RoleDirector, id, blackboard.Move{Event: blackboard.EventEscalate, Reason: "no retry is left"})
			} else {
				r.do(blackboard.RoleDirector, id, blackboard.Move{Event: blackboard.EventPhoenix, Messages: system("try again")})
			}
			look()
		}
	}
}

func TestTodoBoardLifecycle(t *testing.T) {
	const (
		once  = "ACTIVE AWAITING_QA COMPLETE"
		again = "ACTIVE AWAITING_QA FAILED_QA READY "
		begin = "PLANNED BLOCKED READY "
	)
	for _, tt := range []struct {
		name          string
		tasks         []blackboard.Definition
		failures      int
		units         int
		states        string
		retries, made int
	}{
		{"BA15 all pass", sevenTasks(), 0, 4, begin + once, 0, 1},
		{"BA16 it fails once", sevenTasks(), 1, 5, begin + again + once, 1, 2},
		{"BA16 it fails once, nine tasks", nineTasks(), 1, 6, begin + again + once, 1, 2},
		{"BA17 BA20 it fails 3 times", sevenTasks(), 3, 7, begin + again + again + again + once, 3, 4},
		{"BA17 it fails 3 times, nine tasks", nineTasks(), 3, 8, begin + again + again + again + once, 3, 4},
		{"BA18 B77 it fails 4 times", sevenTasks(), 4, 7, begin + again + again + again + "ACTIVE AWAITING_QA FAILED_QA WAITING_HUMAN", 4, 4},
	} {
		t.Run(tt.name+" B113 B37", func(t *testing.T) {
			r := newRun(t, tt.tasks...)
			units, seen := r.live(map[string]int{"views_build": tt.failures}, "views_build")
			assert.Equal(t, tt.units, units)
			assert.Equal(t, tt.states, strings.Trim(fmt.Sprint(seen), "[]"))
			assert.Equal(t, tt.retries, r.task("views_build").RetryCount)
			assert.Equal(t, tt.made, r.task("views_build").Attempt)
		})
	}
	t.Run("BA19 db_build fails 4 times: what waits for it stays BLOCKED, the rest is done", func(t *testing.T) {
		r := newRun(t, sevenTasks()...)
		r.live(map[string]int{"db_build": 4}, "db_build")
		r.is("db_build WAITING_HUMAN, db_test BLOCKED, api_build BLOCKED, views_build BLOCKED, db_plan COMPLETE, api_plan COMPLETE, views_plan COMPLETE")
		for _, id := range []string{"db_test", "api_build", "views_build"} {
			assert.Equal(t, blackboard.ByDependency, r.task(id).Blocked.Type, id)
		}
		assert.Equal(t, []int{4, 4}, []int{r.task("db_build").RetryCount, r.task("db_build").Attempt})
	})
}

func TestEndOfABoard(t *testing.T) {
	t.Run("BA85 B99 the late result of a task that was abandoned is dropped", func(t *testing.T) {
		r := newRun(t, task("a"), task("b", "a"))
		r.evaluate()
		r.dispatch("a")
		changes, err := r.Abandon("a", "not wanted any more", nil, r.now)
		require.NoError(t, err)
		r.apply(changes...)
		before := r.picture()
		require.ErrorIs(t, r.try(blackboard.RoleWorker, "a", blackboard.Move{Event: blackboard.EventDeliver, Frozen: frozen("a")}), blackboard.ErrTerminal)
		assert.Equal(t, before, r.picture())
		assert.Equal(t, "not wanted any more", r.task("a").Reason)
	})
	t.Run("BA104 a task that waits only for an abandoned one stays BLOCKED", func(t *testing.T) {
		r := newRun(t, task("a"), task("b", "a"), task("c", "b"))
		r.evaluate()
		changes, err := r.Abandon("a", "not wanted", nil, r.now)
		require.NoError(t, err)
		r.apply(changes...)
		assert.Empty(t, r.Evaluate(r.now))
		_, ok := r.Next(routing.Limits{Global: 9})
		assert.False(t, ok)
		assert.Equal(t, []string{"b", "c"}, r.In(blackboard.Blocked))
		assert.Equal(t, blackboard.ByAbandoned, r.task("b").Blocked.Type)
		assert.Equal(t, blackboard.ByDependency, r.task("c").Blocked.Type)
	})
	t.Run("BA105 when all is COMPLETE or ABANDONED nothing is left to do", func(t *testing.T) {
		r := newRun(t, sevenTasks()...)
		r.live(nil, "db_plan")
		r.do(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: []blackboard.Definition{task("docs_build")}})
		changes, err := r.AbandonBranch("docs_build", "it is not read", r.now)
		require.NoError(t, err)
		r.apply(changes...)
		assert.Len(t, r.In(blackboard.Complete, blackboard.Abandoned), 8)
		assert.Empty(t, r.Evaluate(r.now))
		assert.Empty(t, r.ReadyQueue())
	})
	t.Run("BA103 a plan that is called wrong is noted, and the strategy is as it was", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		r.deliver("a")
		m := fail()
		m.QA.PlanWrong = true
		r.do(blackboard.RoleStrategist, "a", m)
		assert.True(t, r.task("a").QA.PlanWrong)
		assert.Equal(t, blackboard.Progressing, r.Board().Strategy)
	})
}

func TestEscalationToANewPlan(t *testing.T) {
	escalation := &blackboard.Escalation{Type: blackboard.NeedsReplanning, Reason: "the schema does not fit"}
	for _, tt := range []struct {
		name, want string
		move       blackboard.Move
	}{
		{"BA92 B59 B66 the task is BLOCKED on the new ones", "a BLOCKED", blackboard.Move{
			Event: blackboard.EventPause, Needs: []string{"db_plan"}, Blocked: &blackboard.BlockedReason{Type: blackboard.BySubtask}, Escalation: escalation,
		}},
		{"BA92 B59 the task is ABANDONED", "a ABANDONED", blackboard.Move{Event: blackboard.EventAbandon, Reason: "planned anew"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(t, task("a"))
			r.evaluate()
			r.dispatch("a")
			planned := task("db_plan")
			planned.Parent = "a"
			r.do(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: []blackboard.Definition{planned}})
			r.do(blackboard.RoleDirector, "a", tt.move)
			r.evaluate()
			r.is(tt.want + ", db_plan READY")
			assert.Zero(t, r.task("a").RetryCount)
			if tt.move.Event == blackboard.EventPause {
				assert.Equal(t, []string{"db_plan"}, r.task("a").Blocked.WaitingOn)
				r.complete("db_plan")
				r.evaluate()
				r.is("a READY")
			}
		})
	}
}

func TestSharedState(t *testing.T) {
	t.Run("B2 BA97 what one role writes the workers of other tasks read", func(t *testing.T) {
		r := newRun(t, task("api_build"), task("db_build"))
		r.evaluate()
		r.dispatch("api_build")
		r.dispatch("db_build")
		r.do(blackboard.RoleWorker, "", blackboard.AddInsight{Insight: blackboard.Insight{Summary: "SQLite has no booleans", SourceTask: "db_build"}})
		r.do(blackboard.RoleDirector, "", blackboard.AddDecision{Decision: blackboard.Decision{Area: "general", Summary: "IDs are integers"}})
		r.do(blackboard.RoleDirector, "", blackboard.SetSpec{Area: "limits", Value: json.RawMessage(`{"rate":10}`)})
		r.do(blackboard.RoleWorker, "db_build", blackboard.Remember{Messages: user("my own words")})
		v, err := r.View("api_build")
		require.NoError(t, err)
		require.Len(t, v.Insights, 1, "at once, without approval")
		assert.Equal(t, "SQLite has no booleans", v.Insights[0].Summary)
		require.Len(t, v.Decisions, 1)
		assert.Equal(t, "IDs are integers", v.Decisions[0].Summary)
		assert.JSONEq(t, `{"rate":10}`, string(v.Spec["limits"]))
		assert.Empty(t, v.Memory, "what a worker says to itself stays with its task")
	})
	t.Run("B36 B39 the director alone dispatches", func(t *testing.T) {
		r := newRun(t, task("a"))
		r.evaluate()
		for _, role := range []blackboard.Role{blackboard.RoleWorker, blackboard.RoleStrategist, blackboard.RoleGuardian} {
			require.Error(t, r.try(role, "a", blackboard.Move{Event: blackboard.EventDispatch}), role)
		}
		r.is("a READY")
		r.dispatch("a")
		r.is("a ACTIVE")
	})
	t.Run("B17 B18 B19 BC1 phases and profiles are what the host calls them", func(t *testing.T) {
		named := func(id, phase, profile string, needs ...string) blackboard.Definition {
			d := task(id, needs...)
			d.Component, d.Phase, d.Profile = "outline", phase, profile
			return d
		}
		b, err := blackboard.New("run-1", "A report", nil)
		require.NoError(t, err)
		e, err := blackboard.Open(b, routing.Preference{Phases: []string{"plan", "execute", "qa"}})
		require.NoError(t, err)
		r := &run{Editor: e, t: t, now: start}
		r.do(blackboard.RoleDirector, "", blackboard.AddTasks{Tasks: []blackboard.Definition{
			named("1", "document", "writer_worker"), named("2", "qa", "editor_worker"), named("3", "execute", "research_worker"),
			named("4", "plan", "planner_worker"), named("5", "qa", "editor_worker"), named("6", "execute", "writer_worker", "4"),
		}})
		r.evaluate()
		assert.Equal(t, []string{"4", "3", "2", "5", "1"}, r.ReadyQueue(), "in the host's order, others last, the rest as added")
		limits := routing.Limits{Global: 9, Profiles: map[string]int{"editor_worker": 1}}
		var order []string
		for id, ok := r.Next(limits); ok; id, ok = r.Next(limits) {
			r.dispatch(id)
			order = append(order, id)
		}
		assert.Equal(t, []string{"4", "3", "2", "1"}, order, "one editor at a time, and others are not delayed")
	})
}
